#include "cairn/predict/evaluate/timeline.h"

#include <algorithm>
#include <unordered_map>

#include "at.h"

namespace cairn::predict {

std::vector<const program::Pass*> passes_of(const program::Program& program, std::int32_t stage) {
  std::vector<const program::Pass*> passes;
  for (const program::PassOrder::Entry& entry : program.row(stage)) passes.push_back(&program.pass(stage, entry.slot));
  return passes;
}

std::string_view name_at_end(program::PassKind kind) {
  return kind == program::PassKind::finalize ? "gradient reduction" : "parameter update";
}

std::vector<std::pair<const program::Block*, std::int64_t>> block_counts(const program::Program& program,
                                                                         std::int32_t stage) {
  // A row has few kinds of passes, each many times.
  std::vector<std::int64_t> times(static_cast<std::size_t>(program.pass_order->layout.size()), 0);
  std::vector<std::uint16_t> slots;
  for (const program::PassOrder::Entry& entry : program.row(stage))
    if (times[entry.slot]++ == 0) slots.push_back(entry.slot);
  std::vector<std::pair<const program::Block*, std::int64_t>> counts;
  std::unordered_map<const program::Block*, std::size_t> known;
  for (const std::uint16_t slot : slots)
    for (const program::BlockRun& run : program.pass(stage, slot).runs) {
      const auto [at, fresh] = known.try_emplace(run.block, counts.size());
      if (fresh) counts.emplace_back(run.block, 0);
      counts[at->second].second += times[slot] * run.count;
    }
  return counts;
}

Producers producers(const program::Program& program) {
  Producers result(program.stages());
  const std::vector<program::PassOrder::Step>& sweep = program.pass_order->sweep;
  std::vector<PassId> made;
  made.reserve(sweep.size());
  for (const program::PassOrder::Step& step : sweep) {
    auto& row = result[step.device];
    made.push_back({step.device, static_cast<std::int32_t>(row.size())});
    PassId source;
    if (step.producer >= 0) {
      const program::PassOrder::Step& producer = sweep[at(step.producer)];
      const bool told = producer.awaited_on_own_device() && !program.pass(producer.device, producer.slot).runs.empty();
      if (told || producer.device != step.device) source = made[at(step.producer)];
    }
    row.push_back(source);
  }
  return result;
}

std::vector<PassTime> pass_times(const std::vector<Span>& arrivals, const std::vector<core::Picoseconds>& ends) {
  std::vector<PassTime> result;
  core::Picoseconds latest = 0;
  for (std::size_t pass = 0; pass < arrivals.size(); ++pass) {
    latest = std::max(latest, ends[pass]);
    result.push_back({.arrival = arrivals[pass], .end = latest});
  }
  return result;
}

}  // namespace cairn::predict
