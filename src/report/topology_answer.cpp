#include <utility>

#include "cairn/report/topology.h"

namespace cairn::report {

std::string_view name(sim::Sharing sharing) { return sharing == sim::Sharing::max_min ? "max-min" : "rtt-weighted"; }

TopologyAnswer describe(topology::Network network, const topology::PriceList& prices) {
  TopologyAnswer answer;
  const topology::Composite& whole = *network.topology;
  answer.limits = whole.limits();
  if (topology::is_surveyed(whole, answer.limits.diameter)) answer.routed = topology::survey(whole);
  answer.bill = topology::bill(whole, prices);
  answer.prices = prices.name;
  answer.assumptions = network.assumptions;
  answer.assumptions.insert(answer.assumptions.end(), answer.bill.remarks.begin(), answer.bill.remarks.end());
  answer.network = std::move(network);
  return answer;
}

TopologyFlows summary(const topology::Topology& network, const traffic::FlowFile& flows, const traffic::FlowRun& run,
                      sim::Sharing sharing) {
  constexpr std::size_t k_shown = 12;
  TopologyFlows result{.count = run.end.size(),
                       .sharing = sharing,
                       .makespan_s = core::to_seconds(run.makespan),
                       .first_finish_s = core::to_seconds(run.first),
                       .mean_finish_s = run.mean_s};
  for (std::size_t i = 0; i < run.end.size(); ++i) {
    result.finish_s.push_back(core::to_seconds(run.end[i]));
    if (i >= k_shown) continue;
    const traffic::FlowRow& row = flows.rows[i];
    result.first.push_back({.from = network.node_name(row.from),
                            .to = network.node_name(row.to),
                            .bytes = row.bytes,
                            .finish_s = result.finish_s.back()});
  }
  return result;
}

}  // namespace cairn::report
