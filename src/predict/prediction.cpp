#include "cairn/predict/prediction.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "cairn/predict/account/allocator_replay.h"
#include "cairn/predict/evaluate/reach.h"
#include "price/work_text.h"

namespace cairn::predict {
namespace {

struct StageTotals {
  double contraction_flops = 0.0;
  std::array<Volume, program::k_axes> volumes{};
  Copies copies;
  double sent = 0.0;
};

void count(Copies& copies, const program::Copy& copy, double times) {
  double* total = nullptr;
  switch (copy.lane) {
    case program::Lane::to_device:
      total = &copies.to_device;
      break;
    case program::Lane::to_host:
      total = &copies.to_host;
      break;
    case program::Lane::from_storage:
      total = &copies.from_storage;
      break;
    case program::Lane::to_storage:
      total = &copies.to_storage;
      break;
  }
  *total += times * copy.bytes;
}

// Useful share of a shard: what an average rank executes, over what the fullest rank executes (uneven expert loads).
double mean_share(const ir::Operator& op) {
  double share = 1.0;
  for (const loopnest::Dim& dim : op.domain.dims()) share *= dim.extent.load.mean / dim.extent.load.max;
  return share;
}

StageTotals totals(const PredictionInput& input, std::int32_t stage) {
  StageTotals result;
  for (const auto& [block, times] : block_counts(input.program, stage)) {
    const auto count = static_cast<double>(times);
    for (const program::Step& step : block->steps) {
      if (step.work < 0) continue;
      const program::Work& work = block->works[static_cast<std::size_t>(step.work)];
      program::visit(
          work,
          [&](const ir::Shard& shard) {
            if (shard.op->kind == ir::Kind::contraction)
              result.contraction_flops += count * mean_share(*shard.op) * ir::flops(shard);
          },
          [&](const program::Transfer& transfer) {
            const CostPricer::Sent sent = input.pricer.sent(transfer);
            Volume& volume = result.volumes[static_cast<std::size_t>(program::reported_as(step.axis))];
            volume.scale_up += count * sent.scale_up;
            volume.scale_out += count * sent.scale_out;
            volume.sent += count * (sent.scale_up + sent.scale_out);
            result.sent += count * (sent.scale_up + sent.scale_out);
          },
          [&](const program::Copy& copy) { predict::count(result.copies, copy, count); },
          [](const program::OnProcessor&) {}, [](program::HostWork) {}, [](const program::Interference&) {});
    }
  }
  for (Volume& volume : result.volumes) volume.received = volume.sent;
  return result;
}

std::vector<PriceLine> price_lines(const PredictionInput& input, std::int32_t stage, ShardFloors& floors) {
  std::map<std::pair<std::string, std::string>, PriceLine> lines;
  for (const auto& [block, count] : block_counts(input.program, stage)) {
    const BlockPrices& prices = input.prices.of(*block);
    for (const program::Step& step : block->steps) {
      if (step.work < 0) continue;
      const program::Work& work = block->works[static_cast<std::size_t>(step.work)];
      if (std::holds_alternative<program::HostWork>(work) || std::holds_alternative<program::Interference>(work))
        continue;
      std::string name = program::name(work, step.axis);
      if (step.term == program::Term::recompute) name += " (again)";
      std::string shown = work_detail(work);
      PriceLine& line = lines[{name, shown}];
      line.name = std::move(name);
      line.detail = std::move(shown);
      line.time_s = core::to_seconds(prices[static_cast<std::size_t>(step.work)].duration);
      line.floor_s = program::visit(
          work, [&](const ir::Shard& shard) { return floors.of(shard).seconds(); },
          [&](const program::Transfer& transfer) { return input.pricer.transfer_floor_s(transfer); },
          [&](const auto&) { return line.time_s; });  // copies and the host run at stated rates
      line.total_s += static_cast<double>(count) * line.time_s;
    }
  }
  std::vector<PriceLine> result;
  for (auto& [key, line] : lines) result.push_back(std::move(line));
  std::stable_sort(result.begin(), result.end(),
                   [](const PriceLine& a, const PriceLine& b) { return a.total_s > b.total_s; });
  return result;
}

// Played for the fullest stage; the others are taken to waste as much. Where the tensors alone are more than the device
// has, no allocator serves them, and nothing is played.
void reserve(MemoryReport& report, const program::Program& program, const MemoryLimits& limits) {
  const hardware::Allocator& allocator = limits.allocator;
  const double library = limits.library_bytes;
  double waste = 0.0;
  const double capacity = limits.capacity_bytes - limits.process_bytes;
  if (allocator.caching && report.allocated_peak <= capacity) {
    const auto rules = allocator.rules(capacity);
    const AllocatorPeaks peaks = allocator_peaks(program, report.peak_stage, rules, library);
    waste = std::max(0.0, peaks.reserved - report.allocated_peak);
  }
  const double factor = allocator.factor(program.exchanges_activations());
  for (std::size_t index = 0; index < report.stages.size(); ++index) {
    StageMemory& stage = report.stages[index];
    const program::CategoryBytes& resident = program.stage(index).resident;
    const double held = std::accumulate(resident.begin(), resident.end(), 0.0) + library;
    const double passing = std::max(0.0, stage.allocated_peak - held);
    stage.reserved_peak = stage.allocated_peak + std::max(waste, (factor - 1.0) * passing);
    stage.device_peak = stage.reserved_peak + limits.process_bytes;
    report.reserved_peak = std::max(report.reserved_peak, stage.reserved_peak);
  }
  report.device_peak = report.reserved_peak + limits.process_bytes;
}

}  // namespace

MemoryReport memory_report(const program::Program& program, const MemoryLimits& limits,
                           std::span<const StageTimeline> timelines) {
  MemoryReport report;
  const auto ranks = static_cast<double>(limits.gpus_per_node);
  for (std::size_t index = 0; index < program.stages(); ++index) {
    StageMemory stage = stage_memory(program, static_cast<std::int32_t>(index));
    stage.at_peak[static_cast<std::size_t>(program::Category::workspace)] += limits.library_bytes;
    stage.allocated_peak += limits.library_bytes;
    if (!timelines.empty()) stage.over_time = memory_over_time(program, timelines[index]);
    for (MemorySample& sample : stage.over_time) sample.bytes += limits.library_bytes;
    report.host = std::max(report.host, stage.host * ranks);
    report.storage = std::max(report.storage, stage.storage * ranks);
    report.off_device_activations = std::max(report.off_device_activations, stage.off_device_activations * ranks);
    if (stage.allocated_peak > report.allocated_peak) {
      report.allocated_peak = stage.allocated_peak;
      report.peak_stage = static_cast<std::int32_t>(index);
    }
    report.stages.push_back(std::move(stage));
  }
  reserve(report, program, limits);
  report.capacity = limits.capacity_bytes;
  if (limits.host) report.host_capacity = limits.host->memory.base();
  if (limits.host && limits.host->nvme && limits.host->nvme->capacity)
    report.storage_capacity = limits.host->nvme->capacity->base();
  return report;
}

bool fits(const MemoryReport& report) {
  return report.headroom() >= 0.0 && (report.host == 0.0 || report.host <= report.host_capacity) &&
         (report.storage_capacity == 0.0 || report.storage <= report.storage_capacity);
}

bool tight(const MemoryReport& report) { return report.headroom() < k_tight_share * report.capacity; }

core::Picoseconds step_time(const program::Program& program, Analytic& analytic, CostPricer& pricer) {
  return std::max(analytic.makespan(program).time, busiest_links(program, pricer));
}

Prediction predict(const PredictionInput& input) {
  require_reachable(input.program, input.prices);
  require_recordable(input.program, input.event.all_timelines);
  Prediction result;
  result.plan_bounds = plan_bounds(input.program, input.pricer, input.limits);
  const core::Picoseconds links = result.plan_bounds.links;
  Makespan work;
  if (input.engine != Engine::event) {
    result.analytic = work = input.analytic.makespan(input.program);
    result.time = result.analytic.time = std::max(work.time, links);
  }
  if (input.engine != Engine::analytic) {
    EventOptions options = input.event;
    options.passes = options.disturbed();
    result.event = simulate(input.program, input.prices, options);
    work = result.event->makespan;
    result.time = result.event->makespan.time = std::max(work.time, links);
  }
  Account times = account(input.program, input.prices, input.analytic, work, result.time - work.time,
                          result.event ? &*result.event : nullptr, input.detail);
  result.breakdown = times.breakdown;
  result.causes = std::move(times.causes);
  if (input.passes) result.passes = std::move(times.passes);
  result.memory = memory_report(input.program, input.memory,
                                result.event ? result.event->timelines : std::span<const StageTimeline>());
  result.fits = fits(result.memory);

  const double passes = static_cast<double>(input.micro_batches) * static_cast<double>(input.data);
  result.model_flops = 3.0 * passes * input.model.forward_flops(input.sizes, false);
  result.model_flops_causal = 3.0 * passes * input.model.forward_flops(input.sizes, true);
  const auto stages = static_cast<std::int32_t>(input.program.stages());
  const double ranks_per_stage = static_cast<double>(input.program.mesh.ranks()) / stages;
  double most_sent = -1.0;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    const StageTotals total = totals(input, stage);
    result.hardware_flops += ranks_per_stage * total.contraction_flops;
    if (total.sent > most_sent) {
      most_sent = total.sent;
      result.volumes = total.volumes;
      result.copies = total.copies;
    }
  }
  const Batch batch{.contraction_flops = result.model_flops_causal, .sizes = input.sizes, .passes = passes};
  result.problem_bounds =
      problem_bounds(input.model, batch, static_cast<double>(input.program.mesh.ranks()), input.limits);
  result.plan_bounds = larger(result.plan_bounds, result.problem_bounds);
  if (input.detail != Detail::causes) return result;
  ShardFloors floors(input.pricer.shards(), input.limits.on_chip_bytes.value_or(0.0));
  result.prices = price_lines(input, work.last_stage, floors);
  result.class_floors = class_floors(input.program, input.pricer, input.prices, work.last_stage, floors);
  result.expert_exchange = expert_exchange(input.program, input.pricer);
  return result;
}

}  // namespace cairn::predict
