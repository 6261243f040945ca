#include "cairn/topology/survey.h"

#include <algorithm>
#include <vector>

#include "cairn/core/assert.h"

namespace cairn::topology {

bool is_surveyed(const Topology& topology, std::int64_t diameter) {
  const std::int64_t endpoints = topology.endpoints();
  return topology.links() <= k_survey_limit &&
         endpoints <= k_survey_limit / endpoints / std::max<std::int64_t>(1, diameter);
}

Survey survey(const Topology& topology) {
  CAIRN_ASSERT(topology.endpoints() >= 2);
  Survey survey;
  std::vector<std::uint32_t> pairs(static_cast<std::size_t>(topology.links()), 0);
  std::vector<LinkId> route;
  double links = 0.0;
  for (NodeId to = 0; to < topology.endpoints(); ++to) {
    for (NodeId from = 0; from < topology.endpoints(); ++from) {
      if (from == to) continue;
      route.clear();
      topology.route(from, to, route);
      survey.longest = std::max(survey.longest, static_cast<std::int64_t>(route.size()));
      links += static_cast<double>(route.size());
      for (const LinkId id : route) ++pairs[static_cast<std::size_t>(id)];
    }
  }
  const auto p = static_cast<double>(topology.endpoints());
  survey.mean_links = links / (p * (p - 1.0));
  for (LinkId id = 0; id < topology.links(); ++id) {
    const std::uint32_t count = pairs[static_cast<std::size_t>(id)];
    if (count > 0) survey.alltoall_load = std::max(survey.alltoall_load, count / topology.link(id).bandwidth);
  }
  return survey;
}

}  // namespace cairn::topology
