// The validator refuses each way in which order lists can be wrong, and says where.
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

std::string error_of(const Schedule& schedule) {
  try {
    pipeline::validate(schedule);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

Schedule two_by_two() {
  return pipeline::generate("gpipe", {.stages = 2, .micro_batches = 2});
}  // each row: F0 F1 B0 B1

}  // namespace

TEST_CASE("what generators make is valid") {
  for (const auto& generator : pipeline::generators())
    CHECK(error_of(pipeline::generate(generator.kind, {.stages = 4, .micro_batches = 8})).empty());
}

TEST_CASE("a device holds no more chunks than can be numbered") {
  // 40,000 chunks of one device are more than the 32,767 that 16 bits number; so are the 2 x 20,000 of that many waves.
  const auto refusal = [](const char* kind, const pipeline::Settings& settings) {
    try {
      pipeline::generate(kind, settings);
    } catch (const core::ConfigurationError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(mentions(refusal("interleaved-1f1b", {.stages = 2, .micro_batches = 2, .chunks = 40'000}),
                 {"schedule.chunks", "40000 chunks on a device are more than the 32767", "use fewer chunks"}));
  CHECK(mentions(refusal("hanayo", {.stages = 2, .micro_batches = 2, .waves = 20'000}), {"40000 chunks on a device"}));
  Schedule schedule = two_by_two();
  schedule.chunks = 40'000;
  CHECK(mentions(error_of(schedule), {"40000 chunks on a device are more than the 32767"}));
}

TEST_CASE("missing, repeated and misplaced operations are named") {
  Schedule schedule = two_by_two();
  SECTION("twice and therefore another missing") {
    schedule.operations[1].micro_batch = 0;
    CHECK(mentions(error_of(schedule), {"device 0: forward of micro-batch 0, chunk 0 is listed twice",
                                        "micro-batch 1 lacks an operation on virtual stage 0"}));
  }
  SECTION("backward before forward") {
    std::swap(schedule.operations[0], schedule.operations[2]);
    CHECK(mentions(error_of(schedule), {"device 0: backward of micro-batch 0, chunk 0 comes before its forward"}));
  }
  SECTION("weight gradient before input gradient") {
    schedule.operations[2].phase = Phase::weight_gradient;
    schedule.operations[3] = {.phase = Phase::input_gradient, .chunk = 0, .micro_batch = 0};
    CHECK(mentions(error_of(schedule), {"comes before its input gradient"}));
  }
  SECTION("backward and weight gradient") {
    schedule.operations[3] = {.phase = Phase::weight_gradient, .chunk = 0, .micro_batch = 0};
    CHECK(mentions(error_of(schedule), {"weight_gradient of micro-batch 0, chunk 0 is listed twice"}));
  }
  SECTION("out of range") {
    schedule.operations[0].chunk = 1;
    CHECK(mentions(error_of(schedule), {"out of range"}));
  }
  SECTION("placement") {
    schedule.placement[1] = 0;
    CHECK(mentions(error_of(schedule), {"virtual stage 0 is placed twice"}));
    schedule.placement[1] = 2;
    CHECK(mentions(error_of(schedule), {"virtual stage 2 does not exist"}));
    schedule.placement.pop_back();
    CHECK(mentions(error_of(schedule), {"the placement has 1 entries for 2 chunks"}));
  }
  SECTION("rows") {
    schedule.row_begin.pop_back();
    CHECK(mentions(error_of(schedule), {"order list per device"}));
  }
  SECTION("chains") {
    schedule.chain_length = 1;  // two chains of one stage: each micro-batch passes both
    CHECK(mentions(error_of(schedule), {"micro-batch 0 passes 2 chains"}));
  }
}

TEST_CASE("order lists that wait for each other: the cycle is named") {
  // Device 0: F0 B0 F1 B1; device 1: F1 F0 B0 B1. Device 0 waits at B0 for device 1, which waits at F1 for device 0.
  Schedule schedule = two_by_two();
  std::swap(schedule.operations[1], schedule.operations[2]);
  std::swap(schedule.operations[4], schedule.operations[5]);
  CHECK(mentions(
      error_of(schedule),
      {"device 0 at backward of micro-batch 0, chunk 0 waits for device 1 at forward of micro-batch 1, chunk 0 "
       "waits for device 0"}));
}

TEST_CASE("other placements are the same structure") {
  // V shape on one device pair: device 0 holds virtual stages 0 and 3, device 1 holds 1 and 2. One micro-batch, split
  // backward: F 1 each, input gradient 2, weight gradient 3, latency 10 between devices, none at the turn.
  // F: s0 0-1, s1 11-12, s2 12-13, s3 23-24; dX: s3 24-26, s2 36-38, s1 38-40, s0 50-52; dW of s3 follows 26-29, of s0
  // 52-55.
  const auto op = [](Phase phase, std::int16_t chunk) {
    return Operation{.phase = phase, .chunk = chunk, .micro_batch = 0};
  };
  Schedule schedule;
  schedule.kind = "v";
  schedule.stages = 2;
  schedule.micro_batches = 1;
  schedule.chunks = 2;
  schedule.chain_length = 4;
  schedule.placement = {0, 3, 1, 2};
  schedule.row_begin = {0, 6, 12};
  for (int device = 0; device < 2; ++device)
    for (const Operation& o :
         {op(Phase::forward, 0), op(Phase::forward, 1), op(Phase::input_gradient, 1), op(Phase::weight_gradient, 1),
          op(Phase::input_gradient, 0), op(Phase::weight_gradient, 0)})
      schedule.operations.push_back(o);
  pipeline::validate(schedule);
  pipeline::StageTimes times(4);
  times.set_duration(Phase::forward, 1);
  times.set_duration(Phase::input_gradient, 2);
  times.set_duration(Phase::weight_gradient, 3);
  times.set_delay(10);
  // Device 1 runs dW of s2 (38-41) before dX of s1, which so runs 41-43: s0 starts at 53 and ends 53-55-58.
  CHECK(pipeline::sweep(schedule, times).makespan == 58);
  CHECK(pipeline::peak_activations(schedule, pipeline::Release::at_input_gradient) == std::vector<std::int32_t>{2, 2});
  CHECK(pipeline::devices_of_virtual_stages(schedule) == std::vector<std::int32_t>{0, 1, 1, 0});
}

TEST_CASE("two chains in opposite directions") {
  // Micro-batch 0 goes down (stage 0 on device 0, 1 on device 1), micro-batch 1 goes up (stage 2 on device 1, 3 on
  // device 0). F 1, B 2, no latency. Down: 0-1, 1-2 | up: 0-1 on device 1, 1-2 on device 0. Both devices: F F B B;
  // device 0: F0 0-1, F1 1-2, B1 2-4 (last stage of up), device 1: F1 0-1, F0 1-2, B0 2-4, then B of the other 4-6.
  const auto op = [](Phase phase, std::int16_t chunk, int i) {
    return Operation{.phase = phase, .chunk = chunk, .micro_batch = i};
  };
  Schedule schedule;
  schedule.kind = "both ways";
  schedule.stages = 2;
  schedule.micro_batches = 2;
  schedule.chunks = 2;
  schedule.chain_length = 2;
  schedule.placement = {0, 3, 1, 2};
  schedule.row_begin = {0, 4, 8};
  schedule.operations = {op(Phase::forward, 0, 0),  op(Phase::forward, 1, 1), op(Phase::backward, 1, 1),
                         op(Phase::backward, 0, 0), op(Phase::forward, 1, 1), op(Phase::forward, 0, 0),
                         op(Phase::backward, 0, 0), op(Phase::backward, 1, 1)};
  pipeline::validate(schedule);
  pipeline::StageTimes times(4);
  times.set_duration(Phase::forward, 1);
  times.set_duration(Phase::backward, 2);
  CHECK(pipeline::sweep(schedule, times).makespan == 6);
}
