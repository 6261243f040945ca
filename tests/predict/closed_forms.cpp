// Whole steps whose time is known in closed form.
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"
#include "cairn/predict/account/memory.h"
#include "catch.h"
#include "predict/timed.h"
#include "support/random_plans.h"
#include "support/replicas.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

// Forward 200, backward 400 per layer.
constexpr Picoseconds k_forward = 200;
constexpr Picoseconds k_backward = 400;

plan::Strategy pipeline_of(std::int64_t p, std::int64_t m, const char* kind, std::int64_t chunks = 1) {
  plan::Strategy s;
  s.pipeline = p;
  s.micro_batches = m;
  s.schedule = kind;
  s.chunks = chunks;
  s.stage_layers.assign(static_cast<std::size_t>(p * chunks), 1);
  return s;
}

constexpr auto k_pp = static_cast<std::size_t>(program::Axis::pipeline);
constexpr auto k_tp = static_cast<std::size_t>(program::Axis::tensor);
constexpr auto k_dp = static_cast<std::size_t>(program::Axis::data);

}  // namespace

TEST_CASE("Equal stages and free messages: (p - 1 + m)(F + B)") {
  for (const char* kind : {"gpipe", "1f1b"})
    for (std::int64_t p = 1; p <= 4; ++p)
      for (std::int64_t m = 1; m <= 6; ++m) {
        const ir::Model model = two_products({.layers = p});
        Timed timed(model, pipeline_of(p, m, kind), {.kernels = kernels_of_100(), .transfers = {}});
        INFO(kind << " p " << p << " m " << m);
        const Picoseconds textbook_closed_form = (p - 1 + m) * (k_forward + k_backward);
        REQUIRE(timed.analytic().time == textbook_closed_form);
        const predict::EventResult event = timed.event();
        REQUIRE(event.makespan.time == textbook_closed_form);
        // The stage that ends last works m (F + B) and idles the rest.
        const predict::Breakdown parts = timed.parts(event.last);
        REQUIRE(parts.compute == m * (k_forward + k_backward));
        REQUIRE(parts.bubble == (p - 1) * (k_forward + k_backward));
        // Six kernels for each layer and micro-batch; messages, launches and the update are free and count as nothing.
        REQUIRE(event.events == p * m * 6);
      }
}

TEST_CASE("Interleaving divides the bubble by the number of chunks") {
  for (std::int64_t p = 2; p <= 4; ++p)
    for (std::int64_t v = 2; v <= 3; ++v)
      for (std::int64_t m = p; m <= 3 * p; m += p) {
        const ir::Model model = two_products({.layers = p * v});
        Timed timed(model, pipeline_of(p, m, "interleaved-1f1b", v), {.kernels = kernels_of_100(), .transfers = {}});
        INFO("p " << p << " v " << v << " m " << m);
        REQUIRE(timed.analytic().time == (m * v + p - 1) * (k_forward + k_backward));
        REQUIRE(timed.event().makespan.time == (m * v + p - 1) * (k_forward + k_backward));
      }
}

TEST_CASE("With messages beside computation, the schedule's own sweep gives the time") {
  for (const char* kind : {"gpipe", "1f1b"})
    for (std::int64_t p = 2; p <= 4; ++p)
      for (std::int64_t m = 1; m <= 6; ++m)
        for (const Picoseconds message : {20, 60, 200}) {
          const ir::Model model = two_products({.layers = p});
          Timed timed(model, pipeline_of(p, m, kind),
                      {.kernels = kernels_of_100(), .transfers = {{program::Axis::pipeline, message}}});
          const auto schedule = pipeline::generate(
              kind, {.stages = static_cast<std::int32_t>(p), .micro_batches = static_cast<std::int32_t>(m)});
          pipeline::StageTimes times(static_cast<std::int32_t>(p));
          times.set_duration(pipeline::Phase::forward, k_forward);
          times.set_duration(pipeline::Phase::backward, k_backward);
          times.set_delay(message);
          INFO(kind << " p " << p << " m " << m << " message " << message);
          REQUIRE(timed.analytic().time == pipeline::sweep(schedule, times).makespan);
        }
}

namespace {

// One operation of a side row: a gather, a reduction, a copy.
constexpr Picoseconds k_beside = 170;

// What a schedule's own sweep says of its order lists when joined operations run one after the other.
Picoseconds swept(pipeline::Schedule schedule, Picoseconds message) {
  for (pipeline::Operation& operation : schedule.operations) operation.joined = false;
  pipeline::StageTimes times(schedule.virtual_stages());
  times.set_duration(pipeline::Phase::forward, k_forward);
  times.set_duration(pipeline::Phase::backward, k_backward);
  times.set_duration(pipeline::Phase::input_gradient, k_backward / 2);
  times.set_duration(pipeline::Phase::weight_gradient, k_backward / 2);
  for (const pipeline::Phase beside :
       {pipeline::Phase::communication, pipeline::Phase::offload, pipeline::Phase::reload})
    times.set_duration(beside, k_beside);
  times.set_delay(message);
  return pipeline::sweep(schedule, times).makespan;
}

bool exchanges(const pipeline::Schedule& schedule) {
  return std::any_of(schedule.operations.begin(), schedule.operations.end(),
                     [](const auto& operation) { return operation.phase == pipeline::Phase::communication; });
}

}  // namespace

TEST_CASE("Every kind of schedule: a step of equal stages takes as long as the schedule's own sweep says") {
  for (const pipeline::Generator& kind : pipeline::generators()) {
    for (const std::int64_t p : {2, 4})
      for (const std::int64_t m : {2 * p, 4 * p})
        for (const Picoseconds message : {0, 20, 60}) {
          const pipeline::Schedule schedule = pipeline::generate(
              kind.kind, {.stages = static_cast<std::int32_t>(p), .micro_batches = static_cast<std::int32_t>(m)});
          plan::Strategy s = pipeline_of(p, m, std::string(kind.kind).c_str());
          s.stage_layers.assign(static_cast<std::size_t>(schedule.chain_length), 1);
          if (exchanges(schedule)) s.data = 2;
          const ir::Model model = two_products({.layers = schedule.chain_length});
          INFO(kind.kind << " p " << p << " m " << m << " message " << message);
          Timed timed(model, s,
                      {.kernels = kernels_of_100(),
                       .transfers = {{program::Axis::pipeline, message},
                                     {program::Axis::data, exchanges(schedule) ? k_beside : 0}},
                       .copies = {{program::Lane::to_host, k_beside}, {program::Lane::to_device, k_beside}}});
          REQUIRE(timed.analytic().time == swept(schedule, message));
          REQUIRE(timed.event().makespan.time == timed.analytic().time);
        }
  }
}

TEST_CASE("Two stages, two micro-batches, messages of 10, backwards in two: times and memory by hand") {
  const ir::Model model = two_products({.layers = 2});
  Timed timed(model, pipeline_of(2, 2, "2bp-gpipe"),
              {.kernels = kernels_of_100(), .transfers = {{program::Axis::pipeline, 10}}});
  // Stage 0: F 0-200, F 200-400; messages arrive 210, 410. Stage 1: F 210-410, F 410-610, B 610-810, B 810-1010;
  // messages arrive 820, 1020; W until 1410. Stage 0: B 820-1020, B 1020-1220, W until 1620.
  REQUIRE(timed.analytic().time == 1620);
  REQUIRE(timed.analytic().last_stage == 0);
  REQUIRE(timed.event().makespan.time == 1620);
  // 8 tokens, 8 wide, 16 inside, 2 bytes: x, y and their gradients 128 bytes, inside and its gradient 256. A forward
  // leaves x and inside, an input gradient adds those of y and inside for the weights' gradients to read. Highest while
  // the second input gradient writes x's: 2 (128 + 256) + 2 (128 + 256) + 128. One backward after the other would hold
  // two forwards, and of one backward the gradients of y and inside, then of inside and x.
  const auto peak = [](const program::Program& program) {
    double held = 0.0;
    for (const double bytes : program.stage(0).resident) held += bytes;
    return predict::peak_memory(program) - held;
  };
  REQUIRE(peak(timed.program()) == 1664.0);
  Timed whole(model, pipeline_of(2, 2, "gpipe"), {.kernels = kernels_of_100(), .transfers = {}});
  REQUIRE(peak(whole.program()) < 1664.0);
}

TEST_CASE("One wave over two stages turns on a device without a message") {
  // Stages of the chain on devices 0, 1, 1, 0. F 0-200, message, F 210-410, F 410-610, message, F 620-820; B 820-1220,
  // message, B 1230-1630, B 1630-2030, message, B 2040-2440.
  plan::Strategy s = pipeline_of(2, 1, "hanayo");
  s.stage_layers.assign(4, 1);
  const ir::Model model = two_products({.layers = 4});
  Timed timed(model, s, {.kernels = kernels_of_100(), .transfers = {{program::Axis::pipeline, 10}}});
  REQUIRE(timed.analytic().time == 2440);
  REQUIRE(timed.event().makespan.time == 2440);
}

TEST_CASE("Two copies of the model in opposite directions, summed once both have their gradients") {
  // Each device runs the first stage of one copy and the second of the other: F 0-200, F 200-400, B 400-800, B
  // 800-1200; then two ranks that hold copies sum their gradients, in 50.
  const ir::Model model = two_products({.layers = 2});
  Timed timed(model, pipeline_of(2, 2, "chimera"),
              {.kernels = kernels_of_100(), .transfers = {{program::Axis::data, 50}}});
  REQUIRE(timed.analytic().time == 1250);
  REQUIRE(timed.event().makespan.time == 1250);
  const program::Stage& stage = timed.program().stage(0);
  constexpr double k_elements = 2 * 2 * 8 * 16;  // of both layers
  REQUIRE(stage.resident[static_cast<std::size_t>(program::Category::parameters)] == 2 * k_elements);
  REQUIRE(stage.resident[static_cast<std::size_t>(program::Category::gradients)] == 4 * k_elements);
  // A slow device: neither sums before it is there.
  for (const bool split : {false, true}) {
    plan::Strategy s = pipeline_of(2, split ? 4 : 2, split ? "dualpipe" : "chimera");
    Timed level(model, s, {.kernels = kernels_of_100(), .transfers = {{program::Axis::data, 50}}});
    const std::vector<predict::SlowRank> slow{{.rank = 1, .speed = 0.5}};
    const predict::EventResult late = level.event(slow);
    predict::EventResult alone = Timed(model, s, {.kernels = kernels_of_100(), .transfers = {}}).event(slow);
    REQUIRE(late.makespan.time == alone.makespan.time + 50);
  }
}

TEST_CASE(
    "Four copies of the model over four devices, summed by all that hold a stage once the last has its gradients") {
  // Every device holds every stage once. A step is the schedule's own sweep and a sum over four ranks, which begins
  // when the last of the four is through.
  const ir::Model model = two_products({.layers = 4});
  for (const auto continuation : {pipeline::Continuation::concatenate, pipeline::Continuation::double_forward})
    for (const std::int64_t m : {8, 16})
      for (const Picoseconds message : {0, 30}) {
        plan::Strategy s = pipeline_of(4, m, "chimera");
        s.schedule_options.pipelines = 4;
        s.schedule_options.continuation = continuation;
        INFO("m " << m << " message " << message);
        const pipeline::Schedule schedule = pipeline::generate(
            "chimera",
            {.stages = 4, .micro_batches = static_cast<std::int32_t>(m), .pipelines = 4, .continuation = continuation});
        const Prices prices{.kernels = kernels_of_100(),
                            .transfers = {{program::Axis::pipeline, message}, {program::Axis::data, 50}}};
        Timed timed(model, s, prices);
        REQUIRE(timed.analytic().time == swept(schedule, message) + 50);
        REQUIRE(timed.event().makespan.time == timed.analytic().time);
        constexpr double k_elements = 4 * 2 * 8 * 16;  // of all layers, on every device
        for (std::size_t stage = 0; stage < 4; ++stage)
          REQUIRE(timed.program().stage(stage).resident[static_cast<std::size_t>(program::Category::parameters)] ==
                  2 * k_elements);
        for (std::int32_t stage = 0; stage < 4; ++stage)
          REQUIRE(replica_group(timed.program(), stage) == std::vector<std::int32_t>{0, 1, 2, 3});
        // A slow device: none sums before it is there.
        const std::vector<predict::SlowRank> slow{{.rank = 2, .speed = 0.5}};
        const predict::EventResult late = timed.event(slow);
        const Prices free{.kernels = kernels_of_100(), .transfers = {{program::Axis::pipeline, message}}};
        REQUIRE(late.makespan.time == Timed(model, s, free).event(slow).makespan.time + 50);
      }
}

TEST_CASE("Two stages, two micro-batches, messages of 10: beside computation and in its way") {
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s = pipeline_of(2, 2, "gpipe");
  // Stage 0: F 0-200, F 200-400; messages arrive 210, 410. Stage 1: F 210-410, F 410-610, B 610-1010, B 1010-1410;
  // messages arrive 1020, 1420. Stage 0: B 1020-1420, B 1420-1820. Idle 400-1020: the message 1010-1020, before it the
  // peer's work.
  Timed beside(model, s, {.kernels = kernels_of_100(), .transfers = {{program::Axis::pipeline, 10}}});
  REQUIRE(beside.analytic().time == 1820);
  REQUIRE(beside.analytic().last_stage == 0);
  const predict::Breakdown parts = beside.parts(beside.event().last);
  REQUIRE(parts.compute == 1200);
  REQUIRE(parts.exposed[k_pp] == 10);
  REQUIRE(parts.bubble == 610);
  REQUIRE(parts.total() == 1820);
  // In the way: F 0-200, message to 210, F 210-410, to 420. Stage 1: F 210-410, F 420-620, B 620-1020, to 1030, B
  // 1030-1430, to 1440. Stage 0: B 1030-1430, B 1440-1840.
  s.overlap_sends = false;
  Timed in_the_way(model, s, {.kernels = kernels_of_100(), .transfers = {{program::Axis::pipeline, 10}}});
  REQUIRE(in_the_way.analytic().time == 1840);
  REQUIRE(in_the_way.event().makespan.time == 1840);
}

TEST_CASE("What trails the last computation of a stage is a message under way") {
  // One micro-batch. Stage 1: message 200-210, F 210-410, B 410-810, message 810-820.
  const ir::Model model = two_products({.layers = 2});
  Timed timed(model, pipeline_of(2, 1, "1f1b"),
              {.kernels = kernels_of_100(), .transfers = {{program::Axis::pipeline, 10}}});
  const predict::StageTimeline stage = predict::Analytic(timed.table()).timeline(timed.program(), 1);
  REQUIRE(stage.end == 820);
  const predict::Breakdown parts = timed.parts(stage);
  REQUIRE(parts.compute == 600);
  REQUIRE(parts.bubble == 200);
  REQUIRE(parts.exposed[k_pp] == 20);
  REQUIRE(parts.total() == 820);
}

TEST_CASE("A processor that waits for a message does not turn the wait into its own work") {
  // Two stages, one micro-batch; 5 to issue a kernel, 20 of work before a micro-batch's forward pass, blocks until a
  // message has come. Stage 0: work 0-20, issues fc1 20-25; fc1 25-125, fc2 125-225; message 225-235. Stage 1:
  // processor waits until 235, works 235-255, issues fc1 255-260; F 260-460, B 460-860; message 860-870. Stage 0:
  // processor waits until 870, issues 870-875; B 875-1275. Then it reads the norm and issues the three free kernels of
  // the update, 1275-1290.
  const ir::Model model = two_products({.layers = 2});
  Timed timed(model, pipeline_of(2, 1, "1f1b"),
              {.kernels = kernels_of_100(),
               .transfers = {{program::Axis::pipeline, 10}},
               .per_kernel = 5,
               .per_micro_batch = 20},
              {.host_waits = plan::HostWaits::always});
  REQUIRE(timed.analytic().time == 1290);
  const predict::EventResult event = timed.event();
  REQUIRE(event.makespan.time == 1290);
  const predict::Breakdown parts = timed.parts(event.last);
  REQUIRE(parts.compute == 600);
  REQUIRE(parts.host == 25 + 5 + 15);
  REQUIRE(parts.exposed[k_pp] == 10);
  REQUIRE(parts.bubble == 635);  // 225 to 860
  REQUIRE(parts.total() == 1290);
}

TEST_CASE("Launch-bound: short kernels run at the pace they are issued") {
  // Kernels of 2 issued every 7: the sixth ends at 44. The processor reads the norm, then issues the update's three,
  // free here: 65.
  std::map<std::string, Picoseconds> kernels = kernels_of_100();
  for (auto& [name, price] : kernels) price = 2;
  const ir::Model model = two_products();
  Timed timed(model, pipeline_of(1, 1, "1f1b"), {.kernels = kernels, .transfers = {}, .per_kernel = 7});
  REQUIRE(timed.analytic().time == 65);
  const predict::Breakdown parts = timed.parts(timed.event().last);
  REQUIRE(parts.compute == 12);
  REQUIRE(parts.host == 65 - 12);
}

TEST_CASE("Tensor-parallel pair: the forward all-reduce is exposed, the backward one beside the weight gradient") {
  // fc1 0-100, fc2 100-200, all-reduce 200-230, fc2's gradients 230-430, fc1.input_gradient 430-530, all-reduce 530-560
  // beside fc1.weight_gradient 530-630.
  const ir::Model model = two_products();
  plan::Strategy s = pipeline_of(1, 1, "1f1b");
  s.tensor = 2;
  const Prices prices{.kernels = kernels_of_100(), .transfers = {{program::Axis::tensor, 30}}};
  Timed beside(model, s, prices);
  REQUIRE(beside.analytic().time == 630);
  REQUIRE(beside.parts(beside.event().last).exposed[k_tp] == 30);
  // Without overlap the next kernel waits: 660.
  s.overlap_tensor = false;
  Timed apart(model, s, prices);
  REQUIRE(apart.analytic().time == 660);
  REQUIRE(apart.parts(apart.event().last).exposed[k_tp] == 60);
}

TEST_CASE("Data-parallel reduction at the end, and beside the last backward pass") {
  // Two layers, one micro-batch: computation 1200. Reduced at the end: one message of 70.
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s = pipeline_of(1, 1, "1f1b");
  s.stage_layers = {2};
  s.data = 2;
  Prices prices{.kernels = kernels_of_100(), .transfers = {{program::Axis::data, 70}}};
  Timed at_end(model, s, prices);
  REQUIRE(at_end.analytic().time == 1270);
  REQUIRE(at_end.parts(at_end.event().last).exposed[k_dp] == 70);
  // Beside it, bucket 0: a message after each weight gradient, at 600, 800 (upper layer), 1000, 1200. All but the last
  // hidden.
  s.overlap_gradient_reduce = true;
  Timed beside(model, s, prices);
  REQUIRE(beside.analytic().time == 1270);
  // At 300 each they queue: 600, 900, 1200, 1500 to 1800.
  prices.transfers[program::Axis::data] = 300;
  Timed queued(model, s, prices);
  REQUIRE(queued.analytic().time == 1800);
  REQUIRE(queued.parts(queued.event().last).exposed[k_dp] == 600);
}
