// One exchange of rows between ranks and the experts of others, priced the two ways there are.
//
// The n = m r ranks of an expert group lie in m domains, r in each; a rank has S bytes for all of them together.
//   one level   an all-to-all over all n: n - 1 messages of S/n, of which n - r cross the network
//   two levels  first over the m ranks of its place in their domains: m - 1 messages of S/m cross the network; then
//               over the r ranks inside: r - 1 messages of S/r. All S bytes pass the links inside once more.
// Both move (m-1)/m S over the network. With cost/transfer.h, T_in the price inside a domain, and the network slower
// than the links inside:
//   one(S) - two(S) = peer_s (n - r - (m - 1)) - (T_in(S) - T_in(0))
// Fewer messages against a second passage: two levels are faster for small S, one level for large S, and at `equal`
// both cost the same. The share of the bytes that crosses (a limit on domains per token) lies on both sides and drops
// out.
//
// Source: He et al., "SMILE: Scaling Mixture-of-Experts with Efficient Bi-level Routing", arXiv 2212.05191, for routing
// in two levels; Hwang et al., "Tutel: Adaptive Mixture-of-Experts at Scale", MLSys 2023, appendix A: on 8-GPU nodes
// with HDR InfiniBand all-to-alls in two levels win at 1 MiB from small scales on, at 32 MiB and more only at large
// ones.
#pragma once

#include <cstdint>
#include <optional>

#include "cairn/predict/price/cost_pricer.h"
#include "cairn/program/program.h"

namespace cairn::predict {

// Of one exchange, one way [s].
struct ExchangeTimes {
  double one_level_s = 0.0;
  double two_levels_s = 0.0;
};

// `experts`: a group of n ranks, n divisible by the r that share a domain, 1 < r < n. bytes: S >= 0. across: of what is
// meant for other domains, the share that crosses, in (0, 1].
ExchangeTimes exchange_times(CostPricer& pricer, const program::Group& experts, double bytes, double across = 1.0);
// S at which both cost the same; none where one level is never the slower, or always.
std::optional<double> equal_bytes(CostPricer& pricer, const program::Group& experts, double across = 1.0);

struct ExpertExchange {
  std::int64_t ranks = 1;             // n
  std::int64_t ranks_per_domain = 1;  // r
  double bytes = 0.0;                 // S of the plan's largest exchange
  double across = 1.0;
  std::int64_t levels = 1;  // of the plan's exchanges
  ExchangeTimes times;
  std::optional<double> equal_bytes;
};

// None where the plan exchanges nothing, or its expert groups lie within a domain or have one rank in each.
std::optional<ExpertExchange> expert_exchange(const program::Program& program, CostPricer& pricer);

}  // namespace cairn::predict
