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
  // Makes the list, without messages over one rank; nothing where the algorithm cannot do this over such a group.
  std::optional<MessageList> (*list)(Collective collective, const Group& group);
};

// All algorithms, the preferred first.
std::span<const Algorithm> algorithms();
// Throws core::ConfigurationError for an unknown name.
const Algorithm& algorithm(std::string_view name);

// The list that the algorithm of this name makes. This function and the next throw core::ConfigurationError where there
// is none, for example for an all-to-all of more than k_most_paired ranks.
MessageList list_of(std::string_view algorithm, Collective collective, const Group& group);
// The list for ranks that are all equally near (a flat group), by the first algorithm that can. Not for `none`.
MessageList flat_list(Collective collective, std::int64_t ranks);

}  // namespace cairn::collective
