// The algorithms by name. A new one is one file in src/collective and one line in src/collective/algorithms.def; the
// laws in tests/collective go over all of them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cairn/collective/message_list.h"

namespace cairn::collective {

struct Algorithm {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  // Nothing where the algorithm does not do this collective over such a group. Over one rank: a list without messages.
  std::optional<MessageList> (*list)(Collective collective, const Group& group);
};

// In the order in which they are preferred where nothing speaks for another.
std::span<const Algorithm> algorithms();
// Throws core::ConfigurationError for an unknown name.
const Algorithm& algorithm(std::string_view name);

// The list of the algorithm with this name. Both throw core::ConfigurationError where there is none: of more than
// k_most_paired ranks the chunks of an all-to-all have no numbers.
MessageList list_of(std::string_view algorithm, Collective collective, const Group& group);
// What ranks that are all equally near do: the first algorithm that can. The collective is not `none`.
MessageList flat_list(Collective collective, std::int64_t ranks);

}  // namespace cairn::collective
