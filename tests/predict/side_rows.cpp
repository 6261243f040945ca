// Schedules that gather, reduce and copy beside the computation: steps and memory by hand.
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"
#include "cairn/predict/account/memory.h"
#include "catch.h"
#include "predict/timed.h"
#include "support/two_products.h"
#include "support/units.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr auto k_dp_label = static_cast<std::size_t>(program::Axis::data);
constexpr double k_parameter_bytes = 2.0;  // and 4 of a gradient
constexpr double k_gradient_bytes = 4.0;
// 8 tokens, 8 wide, 16 inside, 2 bytes: a forward keeps x, 128 bytes, and what is inside, 256.
constexpr double k_set = 384.0;

plan::Strategy side_by_side(const char* kind, std::int64_t data, std::vector<std::int64_t> stages, std::int64_t m) {
  plan::Strategy s;
  s.schedule = kind;
  s.data = data;
  s.micro_batches = m;
  s.stage_layers = std::move(stages);
  return s;
}

Prices exchanges_of_50() { return {.kernels = kernels_of_100(), .transfers = {{program::Axis::data, 50}}}; }

double peak_above_resident(const program::Program& program, std::int32_t stage = 0) {
  return predict::stage_memory(program, stage).allocated_peak -
         held_bytes(program.stage(static_cast<std::size_t>(stage)));
}

}  // namespace

TEST_CASE("Layers gathered once a pass: one device, two chunks, two micro-batches") {
  // Forward 200, backward 400 of a layer. Gathers of both chunks 0-50, 50-100. Chunk 0 forward 50-450; the gather for
  // chunk 1 backward 450-500. Chunk 1 forward 450-850, the gather for chunk 0 backward 850-900; chunk 1 backward
  // 850-1650, its gradients 1650-1700; chunk 0 backward 1650-2450, its gradients 2450-2500.
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s = side_by_side("modular", 2, {1, 1}, 2);
  s.chunks = 2;
  Timed timed(model, s, exchanges_of_50());
  REQUIRE(timed.analytic().time == 2500);
  const predict::EventResult event = timed.event();
  REQUIRE(event.makespan.time == 2500);
  const predict::Breakdown parts = timed.parts(event.last);
  REQUIRE(parts.compute == 2400);
  REQUIRE(parts.exposed[k_dp_label] == 100);  // the first gather and the last reduction

  // One of two ranks sends half of what it gathers, four times, and of what it reduces, twice.
  const program::Program& program = timed.program();
  REQUIRE(sent_bytes(program, program::Axis::data) ==
          (4 * k_parameter_bytes + 2 * k_gradient_bytes) * k_layer_parameters / 2);
  // Held throughout: half of the parameters, gradients and 12 bytes of state.
  REQUIRE(held_bytes(program.stage(0)) == (k_parameter_bytes + k_gradient_bytes + 12.0) * k_layer_parameters);
  // Most is held in the first backward: four forwards, the gradients of what is inside and of y, as much as a forward
  // keeps, the parameters of this pass and the next, the gradients of one chunk. In the second pass backward two
  // forwards less, one chunk's parameters less and the gradients of both chunks.
  plan::Strategy whole = s;
  whole.schedule = "breadth-first";
  Timed plain(model, whole, {.kernels = kernels_of_100(), .transfers = {}});
  REQUIRE(peak_above_resident(plain.program()) == 5 * k_set);
  REQUIRE(peak_above_resident(program) == 5 * k_set + (2 * k_parameter_bytes + k_gradient_bytes) * k_layer_parameters);
}

TEST_CASE("A single copy has nothing to exchange") {
  const ir::Model model = two_products({.layers = 2});
  for (const char* kind : {"modular", "zeropp"}) {
    plan::Strategy s = side_by_side(kind, 1, {1, 1}, 4);
    s.chunks = 2;
    Timed timed(model, s, exchanges_of_50());
    INFO(kind);
    REQUIRE(timed.analytic().time == 4 * 2 * 600);
    REQUIRE(timed.event().makespan.time == 4 * 2 * 600);
    REQUIRE(sent_bytes(timed.program(), program::Axis::data) == 0.0);
    REQUIRE(held_bytes(timed.program().stage(0)) == 2 * (2.0 + 4.0 + 12.0) * k_layer_parameters);
  }
}

TEST_CASE("Split backwards over sharded parameters: two stages, two micro-batches in one block") {
  // Both gathers of each stage 0-50, 50-100. Stage 0: F 50-250, 250-450. Stage 1: F 250-450, 450-650, input gradients
  // 650-850, 850-1050, weight gradients until 1450, reduction 1450-1500. Stage 0: input gradients 850-1050, 1050-1250,
  // weight gradients until 1650, reduction 1650-1700.
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s = side_by_side("zeropp", 2, {1, 1}, 2);
  s.pipeline = 2;
  Timed timed(model, s, exchanges_of_50());
  REQUIRE(timed.analytic().time == 1700);
  REQUIRE(timed.event().makespan.time == 1700);
  REQUIRE(sent_bytes(timed.program(), program::Axis::data) ==
          (2 * k_parameter_bytes + k_gradient_bytes) * k_layer_parameters / 2);
  // A shard to each of two ranks of four, its gradients summed over the two that hold the same one: another transfer.
  s.data = 4;
  s.shard = 2;
  s.sharded = plan::Sharded::parameters;
  Timed hybrid(model, s, exchanges_of_50());
  REQUIRE(hybrid.analytic().time == 1750);
  REQUIRE(hybrid.event().makespan.time == 1750);
  // Side rows have gathered what passes of units would gather beside the first forward.
  s.overlap_parameter_gather = true;
  Timed gathered(model, s, exchanges_of_50());
  REQUIRE(gathered.analytic().time == 1750);
  REQUIRE(sent_bytes(gathered.program(), program::Axis::data) == sent_bytes(hybrid.program(), program::Axis::data));
}

TEST_CASE("What lives longest waits on the host: two stages, two chunks, four micro-batches") {
  // Stage 0, chunk and micro-batch: F00 F01 F10 F11 B10 F02 B11 F03 B00 F12 B01 F13 B12 B13 B02 B03. Of chunk 0, micro-
  // batches 1 and 2 wait more than eight operations for their backwards; they come back four ahead. Chunk 0 has three
  // layers here. Computation waits for the first to have left before the second leaves.
  const ir::Model model = two_products({.layers = 6});
  plan::Strategy s = side_by_side("pipeoffload", 1, {3, 1, 1, 1}, 4);
  s.pipeline = 2;
  s.chunks = 2;
  plan::Lowering lowering(model, 8, {});
  const program::Program& program = lowering.lower(s);
  const std::vector<double> expected{3,
                                     6,
                                     6 /* 1 leaves */,
                                     7,
                                     8,
                                     7 /* B10 */,
                                     10,
                                     7 /* 1 has left, 2 leaves */,
                                     7,
                                     6 /* B11 */,
                                     9 /* 1 comes back */,
                                     12,
                                     9 /* B00 */,
                                     10,
                                     7 /* 2 has left, 1 is back */,
                                     7,
                                     4 /* B01 */,
                                     7 /* 2 comes back */,
                                     8,
                                     7,
                                     6,
                                     6 /* 2 is back */,
                                     3,
                                     0,
                                     0,
                                     0 /* the end of the step */};
  std::vector<double> seen;
  double held = 0.0;
  for (const program::PassOrder::Entry& entry : program.row(0)) {
    held += program.pass(0, entry.slot).profile.delta;
    seen.push_back(held / k_set);
  }
  REQUIRE(seen == expected);
  REQUIRE(copied_bytes(program, program::Lane::to_host) == 2 * 3 * k_set);
  REQUIRE(copied_bytes(program, program::Lane::to_device) == 2 * 3 * k_set);
  // The second leaves before the first is back: both lie on the host. Stage 1 runs F00 F01 F10 B10 F11 B11 F02 B00 F03
  // B01 ...: nothing of chunk 0 waits more than eight operations there.
  REQUIRE(predict::stage_memory(program, 0).host == 2 * 3 * k_set);
  REQUIRE(predict::stage_memory(program, 1).host == 0.0);
}

TEST_CASE("Copies slower than what runs beside them hold up the computation") {
  const ir::Model model = two_products({.layers = 4});
  plan::Strategy s = side_by_side("pipeoffload", 1, {1, 1, 1, 1}, 4);
  s.pipeline = 2;
  s.chunks = 2;
  for (const Picoseconds copy : {100, 900, 2500}) {
    Timed timed(model, s,
                {.kernels = kernels_of_100(),
                 .transfers = {},
                 .copies = {{program::Lane::to_host, copy}, {program::Lane::to_device, copy}}});
    // The schedule's own sweep, where B11, the operation behind the second to leave, awaits the first copy as well.
    pipeline::Schedule schedule = pipeline::generate("pipeoffload", {.stages = 2, .micro_batches = 4, .chunks = 2});
    pipeline::StageTimes times(4);
    times.set_duration(pipeline::Phase::forward, 200);
    times.set_duration(pipeline::Phase::backward, 400);
    times.set_duration(pipeline::Phase::offload, copy);
    times.set_duration(pipeline::Phase::reload, copy);
    constexpr std::int32_t k_behind_second = 6;
    schedule.waits.push_back({.operation = k_behind_second, .on = schedule.row_begin[2]});
    std::sort(schedule.waits.begin(), schedule.waits.end());
    INFO("copy " << copy);
    REQUIRE(timed.analytic().time == pipeline::sweep(schedule, times).makespan);
    const predict::EventResult event = timed.event();
    REQUIRE(event.makespan.time == timed.analytic().time);
    REQUIRE((timed.parts(event.last).offload > 0) == (copy > 100));
  }
}
