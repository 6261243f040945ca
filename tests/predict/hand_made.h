// Programs of one stage put together step by step; the price of a step is written beside it.
#pragma once

#include <utility>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/pipeline/generators.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "support/prices.h"

namespace cairn::testing {

class HandMadeBlock {
 public:
  program::Dependency compute(core::Picoseconds price, const std::vector<program::Dependency>& after = {}) {
    return add({.kind = program::StepKind::compute, .stream = program::Stream::compute, .launches = 1}, price, after);
  }
  program::Dependency transfer(program::Stream stream, core::Picoseconds price,
                               const std::vector<program::Dependency>& after) {
    return add({.kind = program::StepKind::transfer, .stream = stream, .axis = program::Axis::tensor, .launches = 1},
               price, after);
  }
  const program::Block& block() const { return block_; }

  static HandMadeBlock random(core::Random& random, core::Picoseconds unit = 1) {
    HandMadeBlock result;
    const std::uint64_t steps = 1 + random.below(20);
    for (std::uint64_t i = 0; i < steps; ++i) {
      std::vector<program::Dependency> after;
      for (std::uint64_t d = random.below(3); d > 0; --d)
        after.push_back(i > 0 && random.below(2) == 0 ? static_cast<program::Dependency>(random.below(i))
                                                      : any_entry(random));
      const auto price = unit * static_cast<core::Picoseconds>(random.below(100));
      const program::Stream streams[] = {program::Stream::tensor, program::Stream::data, program::Stream::next};
      if (random.below(2) == 0)
        result.compute(price, after);
      else
        result.transfer(streams[random.below(3)], price, after);
    }
    return result;
  }

 private:
  static program::Dependency any_entry(core::Random& random) {
    return program::entry_of(
        static_cast<program::Stream>(random.below(static_cast<std::uint64_t>(program::Stream::arrival))));
  }
  program::Dependency add(program::Step step, core::Picoseconds price, const std::vector<program::Dependency>& after) {
    step.work = static_cast<std::int32_t>(block_.works.size());
    step.first_dependency = static_cast<std::uint32_t>(block_.dependencies.size());
    step.dependencies = static_cast<std::uint16_t>(after.size());
    block_.dependencies.insert(block_.dependencies.end(), after.begin(), after.end());
    block_.steps.push_back(step);
    block_.works.emplace_back(
        program::Transfer{.collective = program::Collective::none, .group = {}, .bytes = static_cast<double>(price)});
    return static_cast<program::Dependency>(block_.steps.size()) - 1;
  }

  program::Block block_;
};

// One micro-batch whose forward pass runs the blocks given; nothing happens backward and at the end of the step.
class HandMadeProgram {
 public:
  HandMadeProgram(const std::vector<program::BlockRun>& runs, core::Picoseconds host_per_kernel)
      : pricer_(priced_by_bytes(host_per_kernel)), table_(pricer_) {
    forward_.runs = runs;
    forward_.id = 0;
    nothing_.id = 1;
    program_.schedule = std::make_shared<const pipeline::Schedule>(pipeline::generate("1f1b", {}));
    program_.order = std::make_shared<const pipeline::SweepOrder>(pipeline::sweep_order(*program_.schedule));
    program_.pass_order =
        std::make_shared<const program::PassOrder>(program::PassOrder::of(*program_.schedule, *program_.order));
    program::Stage stage;
    stage.passes.assign(static_cast<std::size_t>(program_.layout().size()), &nothing_);
    for (const bool special : {false, true})
      stage.passes[static_cast<std::size_t>(program_.layout().slot({.special = special}))] = &forward_;
    program_.kinds = {stage};
    program_.kind_of_stage = {0};
  }
  HandMadeProgram(const HandMadeProgram&) = delete;
  HandMadeProgram& operator=(const HandMadeProgram&) = delete;

  core::Picoseconds analytic() { return predict::Analytic(table_).makespan(program_).time; }
  predict::StageTimeline timeline() { return predict::Analytic(table_).timeline(program_, 0); }
  predict::EventResult event(predict::Demands* demands = nullptr) {
    predict::EventOptions options;
    options.demands = demands;
    options.all_timelines = true;
    return predict::simulate(program_, table_, options);
  }

 private:
  static StatedPricer priced_by_bytes(core::Picoseconds host_per_kernel) {
    StatedPricer result;
    result.of_transfer = [](const program::Transfer& transfer) {
      return static_cast<core::Picoseconds>(transfer.bytes);
    };
    result.per_kernel = host_per_kernel;
    return result;
  }

  StatedPricer pricer_;
  predict::PriceTable table_;
  program::Pass forward_;
  program::Pass nothing_;
  program::Program program_;
};

// When a stream works: from, to.
using Times = std::vector<std::pair<core::Picoseconds, core::Picoseconds>>;

inline Times on(const predict::StageTimeline& timeline, program::Stream stream) {
  Times result;
  for (const predict::Span& span : timeline.steps[static_cast<std::size_t>(stream)])
    result.emplace_back(span.start, span.end);
  return result;
}

}  // namespace cairn::testing
