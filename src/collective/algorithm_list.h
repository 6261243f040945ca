// The functions behind algorithms.def.
#pragma once

#include <optional>

#include "cairn/collective/algorithms.h"

namespace cairn::collective {

#define CAIRN_COLLECTIVE_ALGORITHM(function, name, summary, source) \
  std::optional<MessageList> function(Collective collective, const Group& group);
#include "algorithms.def"
#undef CAIRN_COLLECTIVE_ALGORITHM

}  // namespace cairn::collective
