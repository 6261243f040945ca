#include "calls.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn::sequence {

Call hop(const Peers& peers, std::int64_t reach, const When& when, Message out, Message in) {
  Call call{.collective = collective::Collective::send,
            .peers = peers,
            .begins = when.begins,
            .ends = when.ends,
            .lane = when.lane,
            .reach = reach};
  call.sends.push_back(std::move(out));
  call.receives.push_back(std::move(in));
  return call;
}

void order_calls(RankList& list) {
  std::vector<std::pair<std::int32_t, std::size_t>> order;
  for (const Call& call : list.calls) order.emplace_back(call.begins, order.size());
  std::sort(order.begin(), order.end());
  std::vector<Call> calls;
  calls.reserve(order.size());
  for (const auto& [begins, place] : order) calls.push_back(std::move(list.calls[place]));
  list.calls = std::move(calls);
}

}  // namespace cairn::sequence
