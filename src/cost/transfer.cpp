#include "cairn/cost/transfer.h"

#include <algorithm>
#include <cmath>

#include "cairn/collective/algorithms.h"
#include "cairn/collective/folds.h"
#include "cairn/core/assert.h"
#include "domain_transfer.h"

namespace cairn::cost {
namespace {

constexpr std::array<std::string_view, 8> k_algorithm_names{
    "none", "ring", "in-switch", "pairwise", "point-to-point", "hierarchical", "tree", "switch-tree"};
constexpr std::array<std::string_view, 4> k_basis_names{"measured", "interpolated", "extrapolated", "assumed"};

// Bytes that one rank sends to other domains, of m domains with r ranks each ("across per rank" in transfer.h): 1/r of
// what its domain sends, but all of it where every rank has data of its own (all-to-all, send).
double outward_bytes(Collective collective, double bytes, std::int64_t m, std::int64_t r) {
  const double sent = wire_bytes(collective, bytes, m);
  const bool own = collective == Collective::all_to_all || collective == Collective::send;
  return own ? sent : sent / static_cast<double>(r);
}

// What a rank sends to other domains by one algorithm, at which rate, behind which latency.
struct Crossing {
  Algorithm algorithm = Algorithm::none;
  double bytes = 0.0;
  double rate = 0.0;
  double latency_s = 0.0;
};

class Crossings {
 public:
  Crossings(Collective collective, double bytes, const GroupBinding& group, const TransferLinks& links,
            const TransferLaws& laws)
      : collective_(collective),
        bytes_(bytes),
        group_(group),
        links_(links),
        laws_(laws),
        m_(group.domains()),
        r_(std::min(group.size, group.ranks_per_domain)),
        rate_(laws.fabric.efficiency * links.inter.bandwidth) {}

  // The algorithms that there are for the collective; never empty.
  std::vector<Crossing> all() const {
    switch (collective_) {
      case Collective::all_reduce: {
        std::vector<Crossing> result{ring(), tree()};
        if (laws_.domain.switch_bandwidth > 0.0 && r_ > 1) result.push_back(switch_tree());
        return result;
      }
      case Collective::all_gather:
      case Collective::reduce_scatter:
        return {ring()};
      default:
        return {other()};
    }
  }

 private:
  double ranks() const { return static_cast<double>(r_); }
  double step_s() const { return links_.inter.latency + laws_.fabric.step_s; }

  Crossing ring() const {
    const std::int64_t steps = collective::flat_steps(collective_, m_);
    const std::int64_t launched = collective::flat_steps(collective_, group_.size) - steps;
    return {
        .algorithm = Algorithm::ring,
        .bytes = wire_bytes(collective_, bytes_, group_.size) / ranks(),
        .rate = rate_,
        .latency_s = static_cast<double>(steps) * step_s() + static_cast<double>(launched) * laws_.fabric.message_s};
  }

  // `most`: of one channel [B/s of 2 S].
  Crossing by_tree(Algorithm algorithm, double most) const {
    const double k = m_ == 2 ? 2.0 : 1.0;
    const double channels = std::min(1.0, links_.adapters);
    const std::int64_t steps = collective::list_of("double-tree", collective_, {.ranks = m_}).steps;
    return {.algorithm = algorithm,
            .bytes = 2.0 * bytes_ / (ranks() * k),
            .rate = most > 0.0 ? std::min(rate_, channels * most / k) : rate_,
            .latency_s = static_cast<double>(steps) * step_s()};
  }
  Crossing tree() const { return by_tree(Algorithm::tree, laws_.domain.tree_channel.over(m_)); }
  Crossing switch_tree() const {
    const auto n = static_cast<double>(group_.size);
    return by_tree(Algorithm::switch_tree, n / (n - 1.0) * laws_.domain.switch_tree_channel.over(m_));
  }

  Crossing other() const {
    const bool exchange = collective_ == Collective::all_to_all;
    const double bytes = group_.across * outward_bytes(collective_, bytes_, m_, r_);
    double latency_s = step_s();
    if (exchange)
      latency_s += laws_.fabric.peer_s * static_cast<double>(group_.size - group_.ranks_per_domain);
    else if (collective_ == Collective::broadcast)
      latency_s *= static_cast<double>(collective::list_of("binomial-tree", collective_, {.ranks = m_}).steps);
    else
      latency_s *= static_cast<double>(collective::flat_steps(collective_, m_));
    const Algorithm algorithm = collective_ == Collective::send ? Algorithm::point_to_point
                                : r_ > 1                        ? Algorithm::hierarchical
                                : exchange                      ? Algorithm::pairwise
                                                                : Algorithm::ring;
    return {.algorithm = algorithm, .bytes = bytes, .rate = rate_, .latency_s = latency_s};
  }

  Collective collective_;
  double bytes_;
  const GroupBinding& group_;
  const TransferLinks& links_;
  const TransferLaws& laws_;
  std::int64_t m_;  // domains
  std::int64_t r_;  // ranks in each
  double rate_;
};

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
  TransferTime best;
  for (const Crossing& crossing : Crossings(collective, bytes, group, links, laws).all()) {
    TransferTime time{.latency_s = inside_latency_s + crossing.latency_s,
                      .ramp_s = laws.fabric.ramp * std::sqrt(crossing.bytes),
                      .bandwidth_s = std::max(inside.total_s - inside_latency_s, crossing.bytes / crossing.rate),
                      .algorithm = crossing.algorithm};
    time.total_s = time.latency_s + time.ramp_s + time.bandwidth_s;
    if (best.algorithm == Algorithm::none || time.total_s < best.total_s) best = time;
  }
  best.basis = laws.fabric.fitted ? inside.basis : Basis::assumed;
  return best;
}

}  // namespace cairn::cost
