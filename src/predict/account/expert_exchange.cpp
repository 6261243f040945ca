#include "cairn/predict/account/expert_exchange.h"

#include <set>

namespace cairn::predict {
namespace {

using program::Transfer;

double sent_by_one(const Transfer& transfer) { return transfer.bytes / static_cast<double>(transfer.group.size); }

// The plan's largest exchange, by what one rank sends; null without any.
const Transfer* largest_exchange(const program::Program& program) {
  const Transfer* largest = nullptr;
  std::set<const program::Block*> seen;
  const auto look_into = [&](const program::Block& block) {
    if (!seen.insert(&block).second) return;
    for (const program::Work& work : block.works) {
      const auto* transfer = std::get_if<Transfer>(&work);
      if (transfer == nullptr || transfer->collective != program::Collective::all_to_all) continue;
      if (transfer->group.axis != program::Axis::expert) continue;
      if (largest == nullptr || sent_by_one(*transfer) > sent_by_one(*largest)) largest = transfer;
    }
  };
  for (const program::Stage& stage : program.kinds)
    for (const program::Pass* pass : stage.passes)
      for (const program::BlockRun& run : pass->runs) look_into(*run.block);
  return largest;
}

double time_s(CostPricer& pricer, const program::Group& group, double bytes, double across) {
  const Transfer transfer{.collective = program::Collective::all_to_all,
                          .group = group,
                          .bytes = bytes * static_cast<double>(group.size),
                          .across = across};
  return pricer.compared(transfer).total_s;
}

}  // namespace

ExchangeTimes exchange_times(CostPricer& pricer, const program::Group& experts, double bytes, double across) {
  const std::int64_t inside = pricer.ranks_per_domain(experts);
  const program::Group outer{.axis = experts.axis, .size = experts.size / inside, .stride = experts.stride * inside};
  const program::Group inner{.axis = experts.axis, .size = inside, .stride = experts.stride};
  return {.one_level_s = time_s(pricer, experts, bytes, across),
          .two_levels_s = time_s(pricer, outer, bytes, across) + time_s(pricer, inner, bytes, across)};
}

// Bisection between an empty exchange and one so large that the second passage inside decides.
std::optional<double> equal_bytes(CostPricer& pricer, const program::Group& experts, double across) {
  constexpr double k_first = 1024.0;
  constexpr double k_last = 0x1p50;
  constexpr double k_precision = 1e-9;
  const auto two_win = [&](double bytes) {
    const ExchangeTimes times = exchange_times(pricer, experts, bytes, across);
    return times.two_levels_s < times.one_level_s;
  };
  if (!two_win(0.0)) return std::nullopt;
  double high = k_first;
  while (two_win(high)) {
    if (high >= k_last) return std::nullopt;
    high *= 2.0;
  }
  double low = 0.0;
  while (high - low > k_precision * high) {
    const double middle = 0.5 * (low + high);
    (two_win(middle) ? low : high) = middle;
  }
  return high;
}

std::optional<ExpertExchange> expert_exchange(const program::Program& program, CostPricer& pricer) {
  const program::Group experts = program.expert_mesh.group(program::Axis::expert);
  const Transfer* largest = largest_exchange(program);
  if (largest == nullptr) return std::nullopt;
  const std::int64_t inside = pricer.ranks_per_domain(experts);
  if (inside == 1 || inside >= experts.size || experts.size % inside != 0) return std::nullopt;
  const double bytes = sent_by_one(*largest);
  return ExpertExchange{.ranks = experts.size,
                        .ranks_per_domain = inside,
                        .bytes = bytes,
                        .across = largest->across,
                        .levels = largest->group.size < experts.size ? 2 : 1,
                        .times = exchange_times(pricer, experts, bytes, largest->across),
                        .equal_bytes = equal_bytes(pricer, experts, largest->across)};
}

}  // namespace cairn::predict
