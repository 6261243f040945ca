#include "cairn/predict/evaluate/reach.h"

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/predict/evaluate/timeline.h"
#include "price/work_text.h"

namespace cairn::predict {
namespace {

constexpr auto k_limit = static_cast<double>(core::k_reach);

double price_of(const program::Step& step, const BlockPrices& prices) {
  return step.work < 0 ? 0.0 : static_cast<double>(prices[static_cast<std::size_t>(step.work)].duration);
}

core::Seconds seconds(double picoseconds) {
  return core::Seconds::from_base(picoseconds / core::k_picoseconds_per_second);
}

// What takes longest of all work seen.
struct Longest {
  const program::Work* work = nullptr;
  std::int64_t times = 0;
  double each = 0.0;

  void see(const program::Block& block, std::int64_t count, const BlockPrices& prices) {
    for (const program::Step& step : block.steps) {
      const double price = price_of(step, prices);
      if (price * static_cast<double>(count) <= each * static_cast<double>(times)) continue;
      *this = {.work = &block.works[static_cast<std::size_t>(step.work)], .times = count, .each = price};
    }
  }

  [[noreturn]] void raise(double total) const {
    const std::string beyond = fmt::format("the step's work takes {} in a row, longer than simulated time reaches, {}",
                                           core::format(seconds(total)), core::reach_text());
    if (work == nullptr)  // launches alone
      throw core::OutOfRange(beyond).at("training.framework", "look at the profile's host_per_kernel");
    raise_unpriceable(
        *work, core::OutOfRange(fmt::format("{} each, {} times: {}", core::format(seconds(each)), times, beyond)));
  }
};

std::int64_t pieces_of_stage(const program::Program& program, std::int32_t stage) {
  std::int64_t sum = 0;
  for (const auto& [block, count] : block_counts(program, stage)) sum += count * std::ssize(block->steps);
  return sum;
}

}  // namespace

std::int64_t pieces_of_work(const program::Program& program) {
  std::int64_t sum = 0;
  for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage)
    sum += pieces_of_stage(program, stage);
  return sum;
}

double in_a_row(const program::Block& block, const BlockPrices& prices, core::Picoseconds host_per_kernel) {
  double sum = 0.0;
  for (const program::Step& step : block.steps)
    sum += price_of(step, prices) + static_cast<double>(issue_time(step, prices, host_per_kernel));
  return sum;
}

void require_reachable(const program::Program& program, PriceTable& prices) {
  double total = 0.0;
  for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage)
    for (const auto& [block, count] : block_counts(program, stage))
      total += static_cast<double>(count) * in_a_row(*block, prices.of(*block), prices.host_per_kernel());
  if (total < k_limit) return;
  Longest longest;
  for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage)
    for (const auto& [block, count] : block_counts(program, stage)) longest.see(*block, count, prices.of(*block));
  longest.raise(total);
}

void require_reachable(double total, const program::Block& block, std::int64_t count, PriceTable& prices) {
  if (total < k_limit) return;
  Longest longest;
  longest.see(block, count, prices.of(block));
  longest.raise(total);
}

void require_recordable(const program::Program& program, bool all_timelines) {
  const auto require = [](std::int64_t pieces, std::int64_t most, const char* what, const char* hint) {
    if (pieces > most)
      core::raise_too_many(pieces, most, {.key_path = "training.global_batch", .what = what, .hint = hint});
  };
  std::int64_t all = 0;
  for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage) {
    const std::int64_t pieces = pieces_of_stage(program, stage);
    require(pieces, k_most_recorded, "pieces of work of one stage",
            "use a larger micro_batch, more ranks of dp, or fewer sequences: the time grows in proportion to them");
    all += pieces;
  }
  if (all_timelines)
    require(all, k_most_drawn, "pieces of work in the timeline",
            "draw a step of fewer sequences, which looks the same, or leave --trace out");
}

}  // namespace cairn::predict
