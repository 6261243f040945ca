// The meaning of a block, written once: Time is a number (the times of one run) or a Form (the times as functions of
// the entry frontiers). `record(step, start, end)` sees every step in issue order.
#pragma once

#include <array>
#include <vector>

#include "cairn/predict/max_plus.h"
#include "cairn/predict/price.h"

namespace cairn::predict {

template <class Time, class Record>
void execute(const program::Block& block, const BlockPrices& prices, core::Picoseconds host_per_kernel,
             std::array<Time, program::k_streams>& frontier, std::vector<Time>& ends, Record record) {
  const std::array<Time, program::k_streams> entry = frontier;
  ends.clear();
  for (std::size_t index = 0; index < block.steps.size(); ++index) {
    const program::Step& step = block.steps[index];
    Time& stream = frontier[static_cast<std::size_t>(step.stream)];
    Time start = stream;
    for (std::size_t d = step.first_dependency; d < step.first_dependency + step.dependencies; ++d) {
      const program::Dependency dependency = block.dependencies[d];
      start = latest(start, dependency >= 0 ? ends[static_cast<std::size_t>(dependency)]
                                            : entry[static_cast<std::size_t>(~dependency)]);
    }
    if (step.launches > 0) {
      Time& host = frontier[static_cast<std::size_t>(program::Stream::host)];
      host = later(host, step.launches * host_per_kernel);
      start = latest(start, host);
    }
    const Time end = step.work < 0 ? start : later(start, prices[static_cast<std::size_t>(step.work)].duration);
    stream = end;
    ends.push_back(end);
    record(index, start, end);
  }
}

}  // namespace cairn::predict
