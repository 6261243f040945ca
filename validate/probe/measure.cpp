#include "measure.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace cairn::probe {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

MemoryRoom room(std::int64_t l2_bytes) {
  std::size_t free_bytes = 0, all = 0;
  check(cudaMemGetInfo(&free_bytes, &all), "cudaMemGetInfo");
  return {.l2_bytes = l2_bytes, .free_bytes = static_cast<std::int64_t>(free_bytes)};
}

// Of one execution [s], roughly: the best of a few rounds through the sets.
double estimate(const Context& context, const Subject& subject) {
  const Event begin, end;
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    begin.record(context.stream);
    for (int set = 0; set < subject.sets; ++set) subject.launch(set);
    end.record(context.stream);
    context.stream.wait();
    const double time = end.seconds_since(begin) / subject.sets;
    best = round == 0 ? time : std::min(best, time);
    if (time * subject.sets > context.timing.most_seconds) break;
  }
  return best;
}

}  // namespace

int Context::sets(const Case& row, std::int64_t footprint) const {
  const MemoryRoom memory = room(l2_bytes);
  const int count = operand_sets(footprint, memory, row.cache == "cold");
  if (count == 0)
    throw NotMeasurable("out of memory: needs " + std::to_string(footprint) + " B of " +
                        std::to_string(memory.free_bytes) + " B free");
  return count;
}

std::string Context::cache(std::int64_t footprint, int sets) const {
  return is_cold(footprint, sets, {.l2_bytes = l2_bytes, .free_bytes = 0}) ? "cold" : "warm";
}

std::vector<double> collect(const Timing& timing, const std::function<double()>& sample) {
  std::vector<double> samples;
  const Clock::time_point begin = Clock::now();
  while (wants_more(timing, static_cast<int>(samples.size()), since(begin))) samples.push_back(sample());
  return samples;
}

Run measure(const Context& context, const Subject& subject) {
  for (int set = 0; set < subject.sets; ++set) subject.launch(set);  // loads modules, which a recording must not
  context.stream.wait();
  const int count = repeats(context.timing, estimate(context, subject), subject.sets);
  const Graph graph(context.stream, [&] {
    for (int i = 0; i < count; ++i) subject.launch(i % subject.sets);
  });
  subject.poison();
  const Clock::time_point begin = Clock::now();
  do {
    graph.launch(context.stream);
    context.stream.wait();
  } while (since(begin) < context.timing.warm_up_seconds);
  const Event first, last;
  Run run;
  run.samples = collect(context.timing, [&] {
    first.record(context.stream);
    graph.launch(context.stream);
    last.record(context.stream);
    context.stream.wait();
    return last.seconds_since(first) / count;
  });
  run.comparison = subject.compare();
  return run;
}

Run run_case(Context& context, const Case& row) {
  struct Entry {
    std::string_view group;
    Run (*run)(Context&, const Case&);
  };
  constexpr std::array<Entry, 8> k_entries = {{{"launch", run_launch},
                                               {"copy", run_copy},
                                               {"transfer", run_transfer},
                                               {"pointwise", run_pointwise},
                                               {"norm", run_norm},
                                               {"gemm", run_gemm},
                                               {"attention", run_attention},
                                               {"collective", run_collective}}};
  for (const Entry& entry : k_entries)
    if (entry.group == row.group) return entry.run(context, row);
  throw DeviceError("no group " + row.group);
}

}  // namespace cairn::probe
