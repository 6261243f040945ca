#include "cairn/topology/topology.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::topology {

double alltoall_fraction(const Limits& limits, std::int64_t endpoints) {
  CAIRN_ASSERT(endpoints > 1 && limits.alltoall_load > 0.0);
  return static_cast<double>(endpoints - 1) / limits.injection / limits.alltoall_load;
}

double allreduce_fraction(const Limits& limits, std::int64_t endpoints) {
  CAIRN_ASSERT(endpoints > 1);
  const auto p = static_cast<double>(endpoints);
  return p / (2.0 * (p - 1.0)) * std::min(1.0, limits.narrowest_cut / limits.injection);
}

std::string Topology::node_name(NodeId node) const {
  return node < endpoints() ? std::to_string(node) : "s" + std::to_string(node - endpoints());
}

}  // namespace cairn::topology
