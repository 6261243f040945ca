// A block put together step by step, with its prices.
#pragma once

#include <utility>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/plan/program.h"
#include "cairn/predict/price.h"
#include "../../src/predict/execute.h"

namespace cairn::testing {

class HandMade {
 public:
  using Times = std::pair<core::Picoseconds, core::Picoseconds>;

  plan::Dependency compute(core::Picoseconds price, std::vector<plan::Dependency> after = {}) {
    return add({.kind = plan::StepKind::compute, .stream = plan::Stream::compute, .launches = 1}, price, after);
  }
  plan::Dependency transfer(plan::Stream stream, plan::Axis axis, core::Picoseconds price, std::vector<plan::Dependency> after) {
    return add({.kind = plan::StepKind::transfer, .stream = stream, .axis = axis, .launches = 1}, price, after);
  }

  const plan::Block& block() const { return block_; }
  const predict::BlockPrices& prices() const { return prices_; }

  std::vector<Times> run(predict::Frontiers& frontier, core::Picoseconds host_per_kernel) const {
    std::vector<Times> spans;
    std::vector<core::Picoseconds> ends;
    predict::execute(block_, prices_, host_per_kernel, frontier, ends,
                     [&](std::size_t, core::Picoseconds start, core::Picoseconds end) { spans.emplace_back(start, end); });
    return spans;
  }

  static HandMade random(core::Random& random) {
    HandMade result;
    const std::uint64_t steps = 1 + random.below(20);
    for (std::uint64_t i = 0; i < steps; ++i) {
      std::vector<plan::Dependency> after;
      for (std::uint64_t d = random.below(3); d > 0; --d)
        after.push_back(i > 0 && random.below(2) == 0 ? static_cast<plan::Dependency>(random.below(i))
                                                      : plan::entry_of(static_cast<plan::Stream>(random.below(plan::k_streams))));
      const auto price = static_cast<core::Picoseconds>(random.below(100));
      const plan::Stream streams[] = {plan::Stream::tensor, plan::Stream::data, plan::Stream::next};
      if (random.below(2) == 0)
        result.compute(price, after);
      else
        result.transfer(streams[random.below(3)], plan::Axis::tensor, price, after);
    }
    return result;
  }

 private:
  plan::Dependency add(plan::Step step, core::Picoseconds price, const std::vector<plan::Dependency>& after) {
    step.work = static_cast<std::int32_t>(prices_.size());
    step.first_dependency = static_cast<std::uint32_t>(block_.dependencies.size());
    step.dependencies = static_cast<std::uint16_t>(after.size());
    block_.dependencies.insert(block_.dependencies.end(), after.begin(), after.end());
    block_.steps.push_back(step);
    prices_.push_back({.duration = price, .launch = 0});
    return static_cast<plan::Dependency>(block_.steps.size()) - 1;
  }

  plan::Block block_;
  predict::BlockPrices prices_;
};

}  // namespace cairn::testing
