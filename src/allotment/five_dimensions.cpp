#include "cairn/allotment/five_dimensions.h"

#include <fmt/format.h>

#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/core/divisors.h"

namespace cairn::allotment {
namespace {

constexpr std::int64_t k_most_extent = std::int64_t{1} << 20;

void require_extent(std::int64_t value, const char* key) {
  if (value < 1 || value > k_most_extent)
    throw core::ConfigurationError(key, fmt::format("{} is out of range", value),
                                   fmt::format("give 1 to {}", k_most_extent));
}

void require_valid_dimensions(const FiveDimensionsProblem& problem) {
  require_extent(problem.devices, "devices");
  require_extent(problem.heads, "heads");
  require_extent(problem.layers, "layers");
  require_extent(problem.batch, "batch");
  if (!problem.time) throw core::ConfigurationError("time", "the function is missing", "give the time of a step");
  if (!problem.memory)
    throw core::ConfigurationError("memory", "the function is missing", "give the bytes of a device");
}

// Visits the candidates of one (data, tensor, pipeline) after the other, in the order in which ties are resolved.
class StairWalk {
 public:
  explicit StairWalk(const FiveDimensionsProblem& problem) : problem_(problem) {}

  // `first`: of optimizer degree 1 without rematerialised layers. Goes through optimizer degrees from below, each with
  // its least number of rematerialised layers. Where that is the number of the degree before, the candidate is no
  // faster than that degree's, and comes after it on ties.
  void walk(const FiveDimensions& first) {
    const std::vector<std::int64_t> degrees = core::divisors(first.data);
    const std::int64_t numbers = problem_.layers / first.pipeline + 1;
    answer_.candidates += static_cast<std::int64_t>(degrees.size()) * numbers;
    const bool promised = problem_.time_of_optimizer == Promise::grows_with_optimizer;
    if (promised && !may_be_faster(problem_.time(first))) {
      ++answer_.evaluated;
      return;
    }
    bool first_counted = false;
    std::int64_t least = numbers;  // none of the degrees so far fits with less
    for (const std::int64_t degree : degrees) {
      FiveDimensions candidate = first;
      candidate.optimizer = degree;
      std::int64_t memory_of_least = 0;
      const std::int64_t least_before = least;
      while (least > 0) {
        candidate.rematerialised = least - 1;
        const std::int64_t memory = problem_.memory(candidate);
        ++answer_.evaluated;
        first_counted = first_counted || candidate == first;
        if (memory > problem_.capacity) break;
        memory_of_least = memory;
        --least;
      }
      if (least == numbers || (promised && least == least_before)) continue;
      candidate.rematerialised = least;
      if (least == least_before) {
        memory_of_least = problem_.memory(candidate);
        ++answer_.evaluated;
        first_counted = first_counted || candidate == first;
        if (memory_of_least > problem_.capacity) continue;  // the promise that memory does not grow is broken
      }
      weigh(candidate, memory_of_least);
    }
    if (promised && !first_counted) ++answer_.evaluated;  // its time was asked for, its memory was not
  }

  const FiveDimensionsAnswer& answer() const { return answer_; }

 private:
  bool may_be_faster(core::Picoseconds time) const { return !answer_.best.has_value() || time < answer_.time; }

  void weigh(const FiveDimensions& candidate, std::int64_t memory) {
    const core::Picoseconds time = problem_.time(candidate);
    if (!may_be_faster(time)) return;
    answer_.best = candidate;
    answer_.time = time;
    answer_.memory = memory;
  }

  const FiveDimensionsProblem& problem_;
  FiveDimensionsAnswer answer_;
};

}  // namespace

FiveDimensionsAnswer fastest_dimensions(const FiveDimensionsProblem& problem) {
  require_valid_dimensions(problem);
  StairWalk walk(problem);
  for (const std::int64_t tensor : core::divisors(problem.devices)) {
    if (problem.heads % tensor != 0) continue;
    for (const std::int64_t pipeline : core::divisors(problem.devices / tensor)) {
      const std::int64_t data = problem.devices / tensor / pipeline;
      if (problem.layers % pipeline != 0 || problem.batch % data != 0) continue;
      walk.walk({.data = data, .tensor = tensor, .pipeline = pipeline});
    }
  }
  return walk.answer();
}

}  // namespace cairn::allotment
