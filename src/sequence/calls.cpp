#include "calls.h"

#include <algorithm>
#include <utility>

namespace cairn::sequence {

Call hop(const Peers& peers, const When& when, Message out, Message in) {
  return {.collective = collective::Collective::send,
          .peers = peers,
          .begins = when.begins,
          .ends = when.ends,
          .lane = when.lane,
          .sends = {std::move(out)},
          .receives = {std::move(in)}};
}

void order_calls(RankList& list) {
  std::stable_sort(list.calls.begin(), list.calls.end(),
                   [](const Call& first, const Call& second) { return first.begins < second.begins; });
}

}  // namespace cairn::sequence
