// Writes a block step by step: what each step waits for, what it works on, and the memory held around it.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "cairn/plan/unit_traffic.h"
#include "cairn/program/program.h"
#include "vocabulary.h"

namespace cairn::plan {

using Dependencies = boost::container::small_vector<Dependency, 4>;

class StepWriter {
 public:
  explicit StepWriter(std::string name) { block_.name = std::move(name); }

  // A dependency that is named twice is listed once.
  std::int32_t add(Step step, std::optional<Work> work, const Dependencies& dependencies) {
    if (step.stream == Stream::compute) charge_running(dependencies);
    const std::int32_t index = append(step, std::move(work), dependencies);
    if (step.stream == Stream::compute) latest_ = index;
    if (holds_multiprocessors(block_.steps.back())) running_.push_back(index);
    return index;
  }
  // As add(). A work that is among the latest of the block is not stored once more: a stage of a ring does what the
  // stage before it did, a few messages, tiles and sums, so the latest works hold it. Looking at so many and no more
  // keeps blocks of many different works linear. A work that is missed is stored and priced again, to the same effect.
  std::int32_t repeat(Step step, Work work, const Dependencies& dependencies) {
    constexpr std::size_t k_latest = 16;
    const auto latest = block_.works.end() - static_cast<std::ptrdiff_t>(std::min(k_latest, block_.works.size()));
    const auto known = std::find(latest, block_.works.end(), work);
    if (known == block_.works.end()) return add(step, std::move(work), dependencies);
    step.work = static_cast<std::int32_t>(known - block_.works.begin());
    return add(step, {}, dependencies);
  }
  // The latest step of the compute stream, or its frontier on entry.
  Dependency computed() const { return latest_; }
  // The stream of a step written before.
  Stream stream(Dependency step) const { return block_.steps[static_cast<std::size_t>(step)].stream; }
  std::int32_t transfer(Stream stream, Collective collective, const Group& group, double bytes,
                        const Dependencies& dependencies) {
    return add(Step{.kind = StepKind::transfer, .stream = stream, .axis = group.axis, .launches = 1},
               Transfer{.collective = collective, .group = group, .bytes = bytes}, dependencies);
  }
  void wait(Stream stream, const Dependencies& dependencies) {
    add(Step{.kind = StepKind::wait, .stream = stream}, {}, dependencies);
  }
  std::int32_t go(const Leg& leg, const Dependencies& dependencies) {
    return add(step_of(leg), leg.work, dependencies);
  }
  // Kernels one after the other on the compute stream, the first of them after `come`.
  void compute(const std::vector<ir::Shard>& kernels, Dependencies come) {
    for (const ir::Shard& kernel : kernels) {
      add(Step{.kind = StepKind::compute, .stream = Stream::compute, .launches = 1}, kernel, come);
      come.clear();
    }
  }
  // The same of a graph's operators, which have one dimension, over so many elements.
  void compute_over(double elements, const ir::Graph& graph) {
    const loopnest::Interval all{0, static_cast<std::int64_t>(std::ceil(elements))};
    for (const ir::Operator& op : graph.operators())
      add(Step{.kind = StepKind::compute, .stream = Stream::compute, .launches = 1},
          ir::Shard{.op = &op, .graph = &graph, .box = {all}}, {});
  }
  // The legs one after the other; the last of their steps.
  std::int32_t travel(const std::vector<Leg>& journey, Dependency after) {
    for (const Leg& each : journey) after = go(each, {after});
    return after;
  }
  // Bytes held from the start of the next step on, and from the end of the latest one; negative: until then.
  void hold(Category category, double bytes) { note(block_.steps.size(), false, category, bytes); }
  void hold_after(Category category, double bytes) {
    note(std::max(block_.steps.size(), std::size_t{1}) - 1, true, category, bytes);
  }
  void hold(const CategoryBytes& bytes, double sign) {
    for (std::size_t category = 0; category < k_categories; ++category)
      hold(static_cast<Category>(category), sign * bytes[category]);
  }

  // Activations that go to the host or the drives; negative: that come back.
  void leave(double bytes) { block_.off_device += bytes; }
  // Workspace that the block needs no more and that comes free at the end of the pass.
  void record(double bytes) { block_.recorded += bytes; }

  // Collectives that still run go on beside the kernels of the next block, but for those on streams it waits for first.
  void leave_running(const Dependencies& awaited) { charge_running(awaited); }

  Block finish() {
    block_.profile = profile_of(block_.memory);
    return std::move(block_);
  }

 private:
  void note(std::size_t step, bool after, Category category, double bytes) {
    if (bytes == 0.0) return;
    block_.memory.push_back(
        {.step = static_cast<std::int32_t>(step), .after = after, .category = category, .bytes = bytes});
  }

  std::int32_t append(Step step, std::optional<Work> work, const Dependencies& dependencies) {
    if (work) {
      step.work = static_cast<std::int32_t>(block_.works.size());
      block_.works.push_back(*std::move(work));
    }
    const std::size_t first = block_.dependencies.size();
    for (const Dependency dependency : dependencies)
      if (std::find(block_.dependencies.begin() + static_cast<std::ptrdiff_t>(first), block_.dependencies.end(),
                    dependency) == block_.dependencies.end())
        block_.dependencies.push_back(dependency);
    step.first_dependency = static_cast<std::uint32_t>(first);
    step.dependencies = static_cast<std::uint16_t>(block_.dependencies.size() - first);
    block_.steps.push_back(step);
    return static_cast<std::int32_t>(block_.steps.size()) - 1;
  }

  // Collectives run by kernels of their own. Messages hold few multiprocessors, and pieces of a product are sent by its
  // own kernel.
  bool holds_multiprocessors(const Step& step) const {
    if (step.stream == Stream::compute || step.kind != StepKind::transfer || step.work < 0) return false;
    const auto& transfer = std::get<Transfer>(block_.works[static_cast<std::size_t>(step.work)]);
    return transfer.collective != Collective::send && transfer.parts == 1;
  }

  // The compute stream goes on, but waits for `awaited`: all else that runs takes from it. A stream that is waited for
  // has ended everything before, too.
  void charge_running(const Dependencies& awaited) {
    for (const std::int32_t index : std::exchange(running_, {})) {
      const Step& each = block_.steps[static_cast<std::size_t>(index)];
      const bool waits = std::any_of(awaited.begin(), awaited.end(), [&](Dependency dependency) {
        return dependency < 0 ? dependency == entry_of(each.stream)
                              : dependency >= index && stream(dependency) == each.stream;
      });
      if (waits) continue;
      const Step charge{.kind = StepKind::beside, .stream = Stream::compute, .axis = each.axis};
      append(charge, Interference{std::get<Transfer>(block_.works[static_cast<std::size_t>(each.work)])}, {});
    }
  }

  Block block_;
  std::vector<std::int32_t> running_;  // collectives since the latest step of the compute stream
  Dependency latest_ = entry_of(Stream::compute);
};

}  // namespace cairn::plan
