#include "cairn/predict/account/memory.h"

#include <algorithm>
#include <numeric>

#include <boost/container/small_vector.hpp>

#include "cairn/core/assert.h"

namespace cairn::predict {
namespace {

using program::MemoryProfile;

double sum(const program::CategoryBytes& bytes) { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

std::string name_of(const program::Program& program, std::int32_t stage, std::size_t position) {
  const program::PassOrder::Entry& entry = program.row(stage)[position];
  if (entry.operation >= 0)
    return pipeline::describe(program.schedule->operations[static_cast<std::size_t>(entry.operation)]);
  return std::string(name_at_end(entry.kind));
}

// Replays one pass event by event and keeps the categories of its highest moment.
class Replay {
 public:
  explicit Replay(program::CategoryBytes held) : held_(held), at_peak_(held) {}

  void run(const program::Pass& pass) {
    for (const program::BlockRun& run : pass.runs)
      for (std::int64_t repeat = 0; repeat < run.count; ++repeat)
        for (const program::MemoryEvent& event : run.block->memory) {
          held_[static_cast<std::size_t>(event.category)] += event.bytes;
          if (sum(held_) > sum(at_peak_)) {
            at_peak_ = held_;
            block_ = run.block->name;
          }
        }
  }
  const program::CategoryBytes& held() const { return held_; }
  const program::CategoryBytes& at_peak() const { return at_peak_; }
  const std::string& block() const { return block_; }

 private:
  program::CategoryBytes held_;
  program::CategoryBytes at_peak_;
  std::string block_;
};

// Gives every change of memory a time: that of the compute stream when the change is reached in issue order.
class OverTime {
 public:
  OverTime(const program::Stage& stage, const std::vector<Span>& computed)
      : held_(stage.resident), computed_(computed), bytes_(sum(held_)), most_(bytes_) {}

  void run(const program::Pass& pass) {
    for (const program::BlockRun& run : pass.runs)
      for (std::int64_t repeat = 0; repeat < run.count; ++repeat) run_block(*run.block);
    if (pass.recorded != 0.0) change(now_, program::Category::workspace, -pass.recorded);
  }

  std::vector<MemorySample> finish() && {
    CAIRN_ASSERT(next_ == computed_.size());
    end_instant();
    return std::move(samples_);
  }

 private:
  void run_block(const program::Block& block) {
    steps_.clear();
    for (const program::Step& step : block.steps) {
      if (step.stream == program::Stream::compute) {
        steps_.push_back(computed_[next_++]);
        now_ = steps_.back().end;
      } else {
        steps_.push_back({.start = now_, .end = now_});
      }
    }
    steps_.push_back({.start = now_, .end = now_});  // behind the last step
    for (const program::MemoryEvent& event : block.memory) {
      const Span& step = steps_[static_cast<std::size_t>(event.step)];
      change(event.after ? step.end : step.start, event.category, event.bytes);
    }
  }

  // In issue order: no change stands before one that was issued earlier.
  void change(core::Picoseconds time, program::Category category, double bytes) {
    if (time > instant_) {
      end_instant();
      instant_ = time;
      most_ = 0.0;
    }
    held_[static_cast<std::size_t>(category)] += bytes;
    bytes_ = sum(held_);
    most_ = std::max(most_, bytes_);
  }

  void end_instant() {
    for (const double bytes : {most_, bytes_})
      if (samples_.empty() || samples_.back().bytes != bytes) samples_.push_back({.time = instant_, .bytes = bytes});
  }

  program::CategoryBytes held_;
  const std::vector<Span>& computed_;
  std::size_t next_ = 0;
  core::Picoseconds now_ = 0;  // where the compute stream stands
  std::vector<Span> steps_;    // of the block under way
  core::Picoseconds instant_ = 0;
  double bytes_ = 0.0;  // held now
  double most_ = 0.0;   // in this instant
  std::vector<MemorySample> samples_;
};

OffDevice kept_elsewhere(const program::Stage& stage, const std::vector<const program::Pass*>& passes) {
  OffDevice result{.host = stage.host_bytes, .storage = stage.storage_bytes};
  double away = 0.0;
  for (const program::Pass* pass : passes) {
    away += pass->off_device;
    result.activations = std::max(result.activations, away);
  }
  (stage.activations_on_drives ? result.storage : result.host) += result.activations;
  return result;
}

}  // namespace

OffDevice off_device(const program::Program& program, std::int32_t stage) {
  return kept_elsewhere(program.stage(static_cast<std::size_t>(stage)), passes_of(program, stage));
}

StageMemory stage_memory(const program::Program& program, std::int32_t stage) {
  const auto passes = passes_of(program, stage);
  double held = 0.0;
  double peak = 0.0;
  std::size_t where = 0;
  for (std::size_t position = 0; position < passes.size(); ++position) {
    const MemoryProfile& pass = passes[position]->profile;
    if (held + pass.peak > peak) {
      peak = held + pass.peak;
      where = position;
    }
    held += pass.delta;
  }
  program::CategoryBytes running = program.stage(static_cast<std::size_t>(stage)).resident;
  for (std::size_t position = 0; position < where; ++position) {
    for (const program::BlockRun& run : passes[position]->runs)
      for (const program::MemoryEvent& event : run.block->memory)
        running[static_cast<std::size_t>(event.category)] += event.bytes * static_cast<double>(run.count);
    running[static_cast<std::size_t>(program::Category::workspace)] -= passes[position]->recorded;
  }
  Replay replay(running);
  replay.run(*passes[where]);
  std::string phase = name_of(program, stage, where);
  if (!replay.block().empty()) phase += ": " + replay.block();
  const OffDevice elsewhere = kept_elsewhere(program.stage(static_cast<std::size_t>(stage)), passes);
  return {.allocated_peak = sum(replay.at_peak()),
          .host = elsewhere.host,
          .storage = elsewhere.storage,
          .off_device_activations = elsewhere.activations,
          .at_peak = replay.at_peak(),
          .phase = std::move(phase)};
}

std::vector<MemorySample> memory_over_time(const program::Program& program, const StageTimeline& timeline) {
  OverTime over_time(program.stage(static_cast<std::size_t>(timeline.stage)),
                     timeline.steps[static_cast<std::size_t>(program::Stream::compute)]);
  for (const program::Pass* pass : passes_of(program, timeline.stage)) over_time.run(*pass);
  return std::move(over_time).finish();
}

double peak_memory(const program::Program& program) {
  const program::PassOrder& order = *program.pass_order;
  const auto slots = static_cast<std::size_t>(program.layout().size());
  // By kind of stage and slot, and nothing.
  boost::container::small_vector<MemoryProfile, 64> profiles(program.kinds.size() * (slots + 1));
  MemoryProfile* profile = profiles.data();
  for (const program::Stage& kind : program.kinds) {
    for (const program::Pass* pass : kind.passes) *profile++ = pass->profile;
    *profile++ = {};
  }
  double most = 0.0;
  for (std::size_t stage = 0; stage < program.stages(); ++stage) {
    const MemoryProfile* const passes = profiles.data() + program.kind_of_stage[stage] * (slots + 1);
    most = std::max(most, sum(program.stage(stage).resident) + program::profile_of_row(order, stage, passes).peak);
  }
  return most;
}

}  // namespace cairn::predict
