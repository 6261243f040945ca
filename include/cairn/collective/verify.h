// Whether a list of messages does what its collective promises.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/collective/message_list.h"

namespace cairn::collective {

// Follows, for every node and chunk, the set of ranks whose contributions it holds. The first thing that is wrong:
//   a message names a node, chunk or step that there is not, or goes from a node to itself;
//   its source does not hold the chunk before the step;
//   it adds a contribution that the destination has already, or replaces what the destination holds by what does not
//   contain all of that and more;
//   two of a step meet on one chunk of one node, and not both add: a step has no order;
//   a switch got something that does not leave it in the next step;
//   a rank ends without what it was promised, or with too few contributions to it.
// Nothing where all is right. `all` need not be in order. Memory: nodes x chunks x ranks bits.
std::optional<std::string> find_fault(const MessageList& list, std::vector<Message> all);

}  // namespace cairn::collective
