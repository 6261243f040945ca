#include "cairn/cost/transfer.h"

#include <algorithm>
#include <cmath>

#include "cairn/collective/algorithms.h"
#include "cairn/collective/folds.h"
#include "cairn/core/assert.h"
#include "domain_transfer.h"

namespace cairn::cost {
namespace {

constexpr std::array<std::string_view, 6> k_algorithm_names{"none",     "ring",           "in-switch",
                                                            "pairwise", "point-to-point", "hierarchical"};
constexpr std::array<std::string_view, 4> k_basis_names{"measured", "interpolated", "extrapolated", "assumed"};

// Bytes that one rank sends to other domains, of m domains with r ranks each ("across per rank" in transfer.h): 1/r of
// what its domain sends, but all of it where every rank has data of its own (all-to-all, send).
double outward_bytes(Collective collective, double bytes, std::int64_t m, std::int64_t r) {
  const double sent = wire_bytes(collective, bytes, m);
  const bool own = collective == Collective::all_to_all || collective == Collective::send;
  return own ? sent : sent / static_cast<double>(r);
}

// Steps that one rank of every domain takes with its peers in the others, m in all.
std::int64_t across_steps(Collective collective, std::int64_t m) {
  if (collective == Collective::all_reduce) return collective::list_of("double-tree", collective, {.ranks = m}).steps;
  if (collective == Collective::broadcast) return collective::list_of("binomial-tree", collective, {.ranks = m}).steps;
  return collective::flat_steps(collective, m);
}

double outward_latency(Collective collective, const GroupBinding& group, const LinkLevel& link,
                       const FabricLaws& fabric) {
  const std::int64_t m = group.domains();
  if (collective == Collective::all_to_all) {
    return link.latency + fabric.step_s + fabric.peer_s * static_cast<double>(group.size - group.ranks_per_domain);
  }
  const bool rings = collective == Collective::all_gather || collective == Collective::reduce_scatter;
  const double launches_s = rings ? static_cast<double>(group.size - m) * fabric.message_s : 0.0;
  return static_cast<double>(across_steps(collective, m)) * (link.latency + fabric.step_s) + launches_s;
}

double fabric_efficiency(const FabricLaws& fabric, double domains) {
  if (fabric.congestion_domains <= 0.0) return fabric.efficiency;
  return fabric.efficiency / (1.0 + (domains - 1.0) / fabric.congestion_domains);
}

// Time that the links to the root complex need for traffic between PCIe switches of one domain.
double crossing_time_s(Collective collective, double bytes, const GroupBinding& group, const TransferLinks& links,
                       const DomainLaws& laws) {
  const std::int64_t ranks = group.ranks_per_domain, together = group.ranks_per_switch;
  if (together == 0 || together >= ranks || links.uplink <= 0.0) return 0.0;
  CAIRN_ASSERT(laws.assumed_efficiency > 0.0);
  const std::int64_t switches = (ranks + together - 1) / together;
  const double crossing = outward_bytes(collective, bytes, switches, together);
  return crossing / (laws.assumed_efficiency * links.uplink);
}

TransferTime inward_time(Collective collective, double bytes, const GroupBinding& group, const TransferLinks& links,
                         const TransferLaws& laws) {
  const DomainLinks inside{.link = links.intra,
                           .crossing_s = crossing_time_s(collective, bytes, group, links, laws.domain)};
  return domain_transfer_time(collective, bytes, group.ranks_per_domain, inside, laws.domain, laws.form);
}

}  // namespace

std::string_view measured_name(Collective collective) {
  return collective == Collective::send ? "send-recv" : collective::name(collective);
}
std::string_view name(Algorithm algorithm) { return k_algorithm_names[static_cast<std::size_t>(algorithm)]; }
std::string_view name(Basis basis) { return k_basis_names[static_cast<std::size_t>(basis)]; }

double wire_bytes(Collective collective, double bytes, std::int64_t ranks) {
  return collective::flat_share(collective, ranks).bytes(bytes);
}

double bytes_inside(Collective collective, double bytes, const GroupBinding& group) {
  if (collective != Collective::all_to_all || group.across < 1.0) return bytes;
  return bytes * static_cast<double>(group.ranks_per_domain) / static_cast<double>(group.size);
}

double in_switch_bus_bandwidth(std::int64_t ranks, double switch_bandwidth) {
  const double n = static_cast<double>(ranks);
  return 2.0 * (n - 1.0) / (n + 1.0) * switch_bandwidth;
}

TransferTime transfer_time(Collective collective, double bytes, const GroupBinding& group, const TransferLinks& links,
                           const TransferLaws& laws) {
  CAIRN_ASSERT(bytes >= 0.0 && group.size >= 1 && group.ranks_per_domain >= 1);
  if (group.size == 1) return {.basis = Basis::measured};
  const std::int64_t inner = std::min(group.size, group.ranks_per_domain);
  TransferTime inside{.basis = Basis::measured};
  double inside_latency_s = 0.0;
  if (inner > 1) {
    const GroupBinding within{group.size, inner, group.ranks_per_switch, group.across};
    inside = inward_time(collective, bytes_inside(collective, bytes, within), within, links, laws);
    if (group.domains() == 1) return inside;
    inside_latency_s = inward_time(collective, 0.0, within, links, laws).total_s;
  }

  CAIRN_ASSERT(links.inter.bandwidth > 0.0 && laws.fabric.efficiency > 0.0);
  const double m = static_cast<double>(group.domains());
  const double outward = group.across * outward_bytes(collective, bytes, group.domains(), inner);
  const double across_s = outward / (fabric_efficiency(laws.fabric, m) * links.inter.bandwidth);
  TransferTime time;
  time.latency_s = inside_latency_s + outward_latency(collective, group, links.inter, laws.fabric);
  time.ramp_s = laws.fabric.ramp * std::sqrt(outward);
  time.bandwidth_s = std::max(inside.total_s - inside_latency_s, across_s);
  time.total_s = time.latency_s + time.ramp_s + time.bandwidth_s;
  time.algorithm = collective == Collective::send         ? Algorithm::point_to_point
                   : inner > 1                            ? Algorithm::hierarchical
                   : collective == Collective::all_to_all ? Algorithm::pairwise
                                                          : Algorithm::ring;
  time.basis = laws.fabric.fitted ? inside.basis : Basis::assumed;
  return time;
}

}  // namespace cairn::cost
