#include "cairn/profile/predicted_step.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "cairn/collective/collective.h"
#include "cairn/core/assert.h"
#include "cairn/cost/operator_floor.h"
#include "cairn/predict/evaluate/timeline.h"

namespace cairn::profile {
namespace {

using core::Picoseconds;
using program::Stream;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
std::size_t at(Stream stream) { return static_cast<std::size_t>(stream); }

// Empty: nothing of the device runs there.
constexpr std::array<std::string_view, program::k_streams> k_stream_names{"compute",
                                                                          "",
                                                                          "tensor parallel",
                                                                          "context parallel",
                                                                          "data parallel",
                                                                          "expert parallel",
                                                                          "tensor parallel in experts",
                                                                          "copies from host",
                                                                          "copies to host",
                                                                          "",
                                                                          "",
                                                                          "",
                                                                          "",
                                                                          "to the next stage",
                                                                          "to the previous stage",
                                                                          ""};

KernelClass class_of(const program::Step& step, const ir::Shard& shard) {
  if (step.term == program::Term::optimizer) return KernelClass::optimizer;
  if (class_of_operator(shard.op->name) == KernelClass::attention) return KernelClass::attention;
  if (cost::class_of(*shard.op, *shard.graph) == cost::OperatorClass::contraction) return KernelClass::matmul;
  const KernelClass named = class_of_operator(shard.op->name);
  if (named != KernelClass::other) return named;
  switch (cost::class_of(*shard.op, *shard.graph)) {
    case cost::OperatorClass::normalization:
      return KernelClass::reduction;
    case cost::OperatorClass::lookup:
      return KernelClass::embedding;
    case cost::OperatorClass::contraction:
    case cost::OperatorClass::elementwise:
      break;
  }
  return KernelClass::elementwise;
}

KernelClass class_of(collective::Collective kind) {
  using collective::Collective;
  switch (kind) {
    case Collective::all_reduce:
      return KernelClass::all_reduce;
    case Collective::all_gather:
      return KernelClass::all_gather;
    case Collective::reduce_scatter:
      return KernelClass::reduce_scatter;
    case Collective::all_to_all:
    case Collective::send:
      return KernelClass::exchange;
    case Collective::broadcast:
    case Collective::reduce:
      return KernelClass::broadcast;
    case Collective::gather:
    case Collective::none:
      break;
  }
  return KernelClass::collective;
}

Kernel kernel_of(const program::Block& block, const program::Step& step) {
  const program::Work& work = block.works[at(step.work)];
  const KernelClass kind = program::visit(
      work, [&](const ir::Shard& shard) { return class_of(step, shard); },
      [](const program::Transfer& transfer) { return class_of(transfer.collective); },
      [](const program::Copy&) { return KernelClass::host_copy; },
      [](const program::OnProcessor&) { return KernelClass::other; },
      [](program::HostWork) { return KernelClass::other; },
      [](const program::Interference&) { return KernelClass::other; });
  std::string name = program::name(work, step.axis);
  if (step.term == program::Term::recompute) name += " (again)";
  return {.name = std::move(name), .kind = kind};
}

// Walks a stage's steps in issue order beside their times, which the timeline lists stream by stream.
class Walk {
 public:
  Walk(const predict::StageTimeline& timeline, Picoseconds span) : timeline_(timeline) { step_.span = span; }

  void block(const program::Block& block) {
    const std::vector<std::uint32_t>& kernels = kernels_of(block);
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const program::Step& each = block.steps[i];
      Picoseconds issued = Work::k_unknown;
      if (each.launches > 0) issued = take(Stream::host).end;
      const predict::Span span = take(each.stream);
      // What kernels lose to a collective beside them lengthens none of them by a known part: it shows as a gap.
      const bool works = each.work >= 0 && each.kind != program::StepKind::beside && span.end > span.start;
      if (!works || k_stream_names[at(each.stream)].empty()) continue;
      step_.work.push_back({.start = span.start,
                            .end = span.end,
                            .issued = issued,
                            .kernel = kernels[i],
                            .stream = stream(each.stream),
                            .count = std::max<std::int32_t>(1, each.launches)});
    }
  }

  Step finish() {
    std::stable_sort(step_.work.begin(), step_.work.end(),
                     [](const Work& a, const Work& b) { return a.start < b.start; });
    for (const Work& each : step_.work) step_.span = std::max(step_.span, each.end);
    return std::move(step_);
  }

 private:
  predict::Span take(Stream from) {
    const auto& spans = timeline_.steps[at(from)];
    CAIRN_ASSERT(next_[at(from)] < spans.size());
    return spans[next_[at(from)]++];
  }

  const std::vector<std::uint32_t>& kernels_of(const program::Block& block) {
    std::vector<std::uint32_t>& known = of_block_[&block];
    if (!known.empty()) return known;
    for (const program::Step& each : block.steps) {
      std::uint32_t place = 0;
      if (each.work >= 0) {
        Kernel kernel = kernel_of(block, each);
        const auto [found, is_new] =
            places_.try_emplace(std::pair(kernel.name, kernel.kind), static_cast<std::uint32_t>(step_.kernels.size()));
        if (is_new) step_.kernels.push_back(std::move(kernel));
        place = found->second;
      }
      known.push_back(place);
    }
    return known;
  }

  std::uint32_t stream(Stream asked) {
    std::int32_t& place = streams_[at(asked)];
    if (place < 0) {
      place = static_cast<std::int32_t>(step_.streams.size());
      step_.streams.emplace_back(k_stream_names[at(asked)]);
    }
    return static_cast<std::uint32_t>(place);
  }

  const predict::StageTimeline& timeline_;
  std::array<std::size_t, program::k_streams> next_{};
  std::array<std::int32_t, program::k_streams> streams_ = [] {
    std::array<std::int32_t, program::k_streams> none{};
    none.fill(-1);
    return none;
  }();
  std::map<std::pair<std::string, KernelClass>, std::uint32_t> places_;
  std::unordered_map<const program::Block*, std::vector<std::uint32_t>> of_block_;
  Step step_;
};

}  // namespace

Step predicted_step(const program::Program& program, const predict::Prediction& prediction, std::int32_t stage) {
  CAIRN_ASSERT(prediction.event && prediction.event->timelines.size() == program.stages());
  Walk walk(prediction.event->timelines[at(stage)], prediction.time);
  for (const program::Pass* pass : predict::passes_of(program, stage))
    for (const program::BlockRun& run : pass->runs)
      for (std::int64_t repeat = 0; repeat < run.count; ++repeat) walk.block(*run.block);
  return walk.finish();
}

}  // namespace cairn::profile
