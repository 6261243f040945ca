// Writes a block step by step, for blocks that come from no operators of the model.
#pragma once

#include <initializer_list>
#include <optional>

#include "cairn/plan/unit_traffic.h"
#include "cairn/program/program.h"
#include "vocabulary.h"

namespace cairn::plan {

class StepWriter {
 public:
  explicit StepWriter(const char* name) { block_.name = name; }

  std::int32_t add(Step step, std::optional<Work> work, std::initializer_list<Dependency> dependencies) {
    if (work) {
      step.work = static_cast<std::int32_t>(block_.works.size());
      block_.works.push_back(*std::move(work));
    }
    step.first_dependency = static_cast<std::uint32_t>(block_.dependencies.size());
    step.dependencies = static_cast<std::uint16_t>(dependencies.size());
    block_.dependencies.insert(block_.dependencies.end(), dependencies);
    block_.steps.push_back(step);
    const auto index = static_cast<std::int32_t>(block_.steps.size()) - 1;
    if (step.stream == Stream::compute) latest_ = index;
    return index;
  }
  // The latest step of the compute stream, or its frontier on entry.
  Dependency computed() const { return latest_; }
  std::int32_t transfer(Stream stream, Collective collective, const Group& group, double bytes,
                        std::initializer_list<Dependency> dependencies) {
    return add(Step{.kind = StepKind::transfer, .stream = stream, .axis = group.axis, .launches = 1},
               Transfer{.collective = collective, .group = group, .bytes = bytes}, dependencies);
  }
  void wait(Stream stream, std::initializer_list<Dependency> dependencies) {
    add(Step{.kind = StepKind::wait, .stream = stream}, {}, dependencies);
  }
  // The legs one after the other; the last of their steps.
  std::int32_t travel(const std::vector<Leg>& journey, Dependency after) {
    for (const Leg& each : journey) after = add(step_of(each), each.work, {after});
    return after;
  }
  void hold(Category category, double bytes) {
    if (bytes == 0.0) return;
    const auto step = static_cast<std::int32_t>(block_.steps.size());
    block_.memory.push_back({.step = step, .after = false, .category = category, .bytes = bytes});
  }
  void hold(const CategoryBytes& bytes, double sign) {
    for (std::size_t category = 0; category < k_categories; ++category)
      hold(static_cast<Category>(category), sign * bytes[category]);
  }

  // Activations that go to the host or the drives; negative: that come back.
  void leave(double bytes) { block_.off_device += bytes; }

  Block finish() {
    block_.profile = profile_of(block_.memory);
    return std::move(block_);
  }

 private:
  Block block_;
  Dependency latest_ = entry_of(Stream::compute);
};

}  // namespace cairn::plan
