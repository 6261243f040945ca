// cairn schedule, as a user would ask it.
