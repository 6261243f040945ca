// Every list of the registry over few ranks: what a new algorithm is tested by.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "cairn/collective/algorithms.h"

namespace cairn::collective::test {

struct Case {
  std::string_view algorithm;
  MessageList list;
};

inline std::ostream& operator<<(std::ostream& out, const Case& each) {
  const Group& group = each.list.group;
  return out << each.algorithm << " " << name(each.list.collective) << " of " << group.ranks << " ranks, "
             << group.domain << " in a domain, " << group.pieces << " pieces";
}

// Over 1 to 33 ranks (both sides of powers of two), every size of domain that divides them and several numbers of
// pieces. Those an algorithm makes no difference between are met as often.
inline std::vector<Case> all_cases() {
  constexpr std::int64_t k_most_ranks = 33;
  std::vector<Case> cases;
  for (const Algorithm& algorithm : algorithms())
    for (const Collective collective : k_collectives)
      for (std::int64_t ranks = 1; ranks <= k_most_ranks; ++ranks)
        for (std::int64_t domain = 1; domain <= ranks; ++domain) {
          if (ranks % domain != 0) continue;
          const Group group{.ranks = ranks, .domain = domain, .pieces = 1 + domain % 3};
          if (const auto list = algorithm.list(collective, group)) cases.push_back({algorithm.name, *list});
        }
  return cases;
}

}  // namespace cairn::collective::test
