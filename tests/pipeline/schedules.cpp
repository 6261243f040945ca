// Generators against closed forms (p stages, m micro-batches, v chunks, F forward and B backward of a whole device) and
// bad settings.
#include <algorithm>

#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"
#include "catch.h"
#include "pipeline/support.h"

using namespace cairn;
using pipeline::Operation;
using pipeline::Phase;
using pipeline::Schedule;

namespace {

pipeline::StageTimes uniform_times(const Schedule& schedule, std::int64_t forward, std::int64_t backward) {
  pipeline::StageTimes times(schedule.virtual_stages());
  times.set_duration(Phase::forward, forward);
  times.set_duration(Phase::backward, backward);
  return times;
}

std::string error_of(std::string_view kind, const pipeline::Settings& settings) {
  try {
    pipeline::generate(kind, settings);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("1f1b order, written out by hand for 3 stages and 4 micro-batches") {
  const Schedule schedule = pipeline::generate("1f1b", {.stages = 3, .micro_batches = 4});
  const auto f = [](int i) { return Operation{.phase = Phase::forward, .chunk = 0, .micro_batch = i}; };
  const auto b = [](int i) { return Operation{.phase = Phase::backward, .chunk = 0, .micro_batch = i}; };
  const std::vector<std::vector<Operation>> rows{{f(0), f(1), f(2), b(0), f(3), b(1), b(2), b(3)},
                                                 {f(0), f(1), b(0), f(2), b(1), f(3), b(2), b(3)},
                                                 {f(0), b(0), f(1), b(1), f(2), b(2), f(3), b(3)}};
  for (int d = 0; d < 3; ++d) CHECK(std::ranges::equal(schedule.row(d), rows[d]));
}

TEST_CASE("interleaved order, written out by hand for 2 stages, 2 micro-batches, 2 chunks") {
  // Groups of p=2 micro-batches: F c0 m0, c0 m1, c1 m0, c1 m1; B c1 m0, c1 m1, c0 m0, c0 m1.
  // Warm-up: device 0: 2(2-0-1)+(2-1)2 = 4 = all; device 1: 2(2-1-1)+2 = 2.
  const Schedule schedule = pipeline::generate("interleaved-1f1b", {.stages = 2, .micro_batches = 2, .chunks = 2});
  const auto f = [](std::int16_t c, int i) { return Operation{.phase = Phase::forward, .chunk = c, .micro_batch = i}; };
  const auto b = [](std::int16_t c, int i) {
    return Operation{.phase = Phase::backward, .chunk = c, .micro_batch = i};
  };
  const std::vector<std::vector<Operation>> rows{
      {f(0, 0), f(0, 1), f(1, 0), f(1, 1), b(1, 0), b(1, 1), b(0, 0), b(0, 1)},
      {f(0, 0), f(0, 1), f(1, 0), b(1, 0), f(1, 1), b(1, 1), b(0, 0), b(0, 1)}};
  for (int d = 0; d < 2; ++d) CHECK(std::ranges::equal(schedule.row(d), rows[d]));
  CHECK(schedule.placement == std::vector<std::int32_t>{0, 2, 1, 3});  // device 0: stages 0 and 2; device 1: 1 and 3
}

TEST_CASE("bubble and peak closed forms") {
  constexpr std::int64_t forward = 7, backward = 13;
  for (std::int32_t p = 1; p <= 16; ++p) {
    for (const std::int32_t m : {1, 2, 3, 5, 8, 16, 33, 64}) {
      for (const char* kind : {"gpipe", "1f1b"}) {
        INFO(kind << " p=" << p << " m=" << m);
        const Schedule schedule = pipeline::generate(kind, {.stages = p, .micro_batches = m});
        pipeline::validate(schedule);
        const auto result = pipeline::sweep(schedule, uniform_times(schedule, forward, backward));
        // idle = (p-1)(F+B) on every device
        CHECK(result.makespan == (m + p - 1) * (forward + backward));
        for (const std::int64_t idle : result.idle) CHECK(idle == (p - 1) * (forward + backward));
        const auto peaks = pipeline::peak_activations(schedule, pipeline::Release::at_input_gradient);
        for (std::int32_t d = 0; d < p; ++d) CHECK(peaks[d] == (kind == std::string("gpipe") ? m : std::min(m, p - d)));
      }
    }
  }
}

TEST_CASE("interleaving divides the bubble by the chunks") {
  // A chunk takes F/v and B/v; choose them whole: F = v f, B = v b, so idle = (p-1)(F+B)/v = (p-1)(f+b).
  constexpr std::int64_t f = 7, b = 13;
  for (std::int32_t p = 1; p <= 16; ++p)
    for (std::int32_t v = 2; v <= 5; ++v)
      for (const std::int32_t groups : {1, 2, 4}) {
        INFO("p=" << p << " v=" << v << " groups=" << groups);
        const std::int32_t m = p * groups;
        const Schedule schedule =
            pipeline::generate("interleaved-1f1b", {.stages = p, .micro_batches = m, .chunks = v});
        pipeline::validate(schedule);
        const auto result = pipeline::sweep(schedule, uniform_times(schedule, f, b));
        CHECK(result.makespan == (std::int64_t{m} * v + p - 1) * (f + b));
        const auto peaks = pipeline::peak_activations(schedule, pipeline::Release::at_weight_gradient);
        // 2(p-d-1) + (v-1)p warm-up forwards and one more in the steady state, as far as there are that many
        for (std::int32_t d = 0; d < p; ++d) CHECK(peaks[d] == std::min(m * v, 2 * (p - d - 1) + (v - 1) * p + 1));
      }
}

TEST_CASE("interleaved with one chunk is 1f1b") {
  for (const std::int32_t m : {1, 3, 8}) {
    const Schedule a = pipeline::generate("1f1b", {.stages = 4, .micro_batches = m});
    const Schedule b = pipeline::generate("interleaved-1f1b", {.stages = 4, .micro_batches = m, .chunks = 1});
    CHECK(a.operations == b.operations);
    CHECK(a.row_begin == b.row_begin);
    CHECK(a.placement == b.placement);
    CHECK(b.kind == "interleaved-1f1b");
  }
}

TEST_CASE("1f1b with link latency: the steady period is set by the slowest round trip") {
  // Window of stages s..j: j-s+1 micro-batches are in flight in it, one round trip takes sum(F+B) + 2c(j-s): period =
  // max over windows of [sum(F+B) + 2c(j-s)]/(j-s+1). p = 2, F = 1, B = 2, c = 3: windows 3/1 and (6 + 6)/2 = 6.
  const std::int64_t expected_period = 6;
  const auto makespan = [](std::int32_t m) {
    const Schedule schedule = pipeline::generate("1f1b", {.stages = 2, .micro_batches = m});
    pipeline::StageTimes times = uniform_times(schedule, 1, 2);
    times.set_delay(3);
    return pipeline::sweep(schedule, times).makespan;
  };
  CHECK(makespan(42) - makespan(40) == 2 * expected_period);
  // By hand for m = 1: F0 0-1, arrives 4, F1 4-5, B1 5-7, arrives 10, B0 10-12.
  CHECK(makespan(1) == 12);
}

TEST_CASE("unequal stages and directions of latency, by hand") {
  // p = 2, m = 2, gpipe. F = {2, 5}, B = {4, 3}; up 1, down 10.
  // dev 0: F 0-2, 2-4; dev 1: F 3-8, 8-13, B 13-16, 16-19; dev 0: B 26-30, 30-34.
  const Schedule schedule = pipeline::generate("gpipe", {.stages = 2, .micro_batches = 2});
  pipeline::StageTimes times(2);
  times.set_duration(0, Phase::forward, 2);
  times.set_duration(1, Phase::forward, 5);
  times.set_duration(0, Phase::backward, 4);
  times.set_duration(1, Phase::backward, 3);
  times.set_delay(0, Phase::forward, 1);
  times.set_delay(1, Phase::backward, 10);
  const auto result = pipeline::sweep(schedule, times);
  CHECK(result.makespan == 34);
  CHECK(result.busy == std::vector<std::int64_t>{12, 16});
  CHECK(result.idle == std::vector<std::int64_t>{22, 18});
  CHECK(result.span == std::vector<std::int64_t>{34, 16});
}

TEST_CASE("bad settings name the remedy") {
  CHECK(error_of("1f1b", {.stages = 0}) ==
        "error: schedule.stages: the number of stages must be at least 1, not 0 (set stages to 1 or more)");
  CHECK(mentions(error_of("gpipe", {.micro_batches = -3}), {"at least 1, not -3"}));
  CHECK(mentions(error_of("interleaved-1f1b", {.chunks = 0}), {"chunks"}));
  CHECK(mentions(error_of("gpipe", {.chunks = 2}), {"interleaved-1f1b"}));
  CHECK(mentions(error_of("interleaved-1f1b", {.stages = 4, .micro_batches = 10, .chunks = 2}),
                 {"multiple of 4", "use 8 or 12 micro-batches, or the schedule 1f1b"}));
  CHECK(
      mentions(error_of("interleaved-1f1b", {.stages = 4, .micro_batches = 3, .chunks = 2}), {"(use 4 micro-batches"}));
  CHECK(mentions(error_of("1f1", {}), {"did you mean '1f1b'?"}));
  CHECK(mentions(error_of("zebra-crossing", {}), {"known: gpipe 1f1b interleaved-1f1b"}));
  CHECK(mentions(error_of("gpipe", {.stages = 8'000, .micro_batches = 100'000}), {"too large"}));
  CHECK(mentions(error_of("gpipe", {.stages = 100'000, .micro_batches = 1}), {"stages", "8192"}));
}

TEST_CASE("Weight gradients in gaps: their order follows from ratios of durations, also where operations take a day") {
  constexpr std::int64_t k_day = std::int64_t{1} << 56;  // [ps] of a unit: 20 h
  for (const char* kind : {"zeropp", "2bp-1f1b"}) {
    pipeline::Settings settings{.stages = 4, .micro_batches = 8};
    if (std::string_view(kind) == "zeropp")
      settings.chunks = 2;
    else
      settings.weight_gradients = pipeline::WeightGradients::fill;
    settings.durations = {.forward = 3, .input_gradient = 4, .weight_gradient = 2, .delay = 1};
    const Schedule units = pipeline::generate(kind, settings);
    settings.durations = {
        .forward = 3 * k_day, .input_gradient = 4 * k_day, .weight_gradient = 2 * k_day, .delay = k_day};
    const Schedule days = pipeline::generate(kind, settings);
    INFO(kind);
    CHECK(days.operations == units.operations);
    CHECK(days.row_begin == units.row_begin);
  }
}
