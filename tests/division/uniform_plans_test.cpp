// Plans with one way for all layers take what `cairn run --engine analytic` says of them.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/time.h"
#include "cairn/division/layered_model.h"
#include "cairn/division/layered_search.h"
#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::division {
namespace {

constexpr std::int64_t k_body_layers = 4;
constexpr std::int64_t k_accelerators = 4;
constexpr std::int64_t k_sequences = 8;
constexpr double k_memory_apart = 0.07;  // from what cairn run says of the same plan

struct UniformPlan {
  LayerWay way = {};
  std::int64_t stages = 1;
  std::int64_t micro_batches = 1;

  std::int64_t copies() const { return k_accelerators / way.tp / stages; }
};

enum class Ends { apart, tied };  // embedding and head

std::vector<std::string> overrides_of(const std::string& framework, Ends ends = Ends::apart) {
  return {ends == Ends::tied ? "model.tied_embeddings=true" : "model.tied_embeddings=false",
          "model.layers=4",
          "model.hidden=2048",
          "model.heads=16",
          "model.kv_heads=16",
          "model.head_dim=128",
          "model.ffn=8192",
          "model.vocab=32000",
          "cluster.nodes=1",
          "cluster.gpus_per_node=4",
          "training.seq_len=2048",
          "training.global_batch=8",
          "strategy.recompute=none",
          "strategy.zero=0",
          "training.framework=" + framework};
}

predict::Prediction run(const UniformPlan& plan, std::vector<std::string> overrides, const config::Loader& loader) {
  const std::vector<std::int64_t> layers(static_cast<std::size_t>(plan.stages), k_body_layers / plan.stages);
  for (const std::string& each :
       {fmt::format("strategy.tp={}", plan.way.tp), fmt::format("strategy.pp={}", plan.stages),
        fmt::format("strategy.dp={}", plan.copies()),
        fmt::format("strategy.micro_batch={}", k_sequences / plan.micro_batches / plan.copies()),
        fmt::format("strategy.stages=[{}]", fmt::join(layers, ", ")),
        fmt::format("strategy.zero={}", plan.way.sharded ? 3 : 0),
        fmt::format("strategy.recompute={}", plan.way.recompute ? "full" : "none")})
    overrides.push_back(each);
  experiment::Job job(experiment::load(loader, "llama3-8b-fsdp-dgx-h100", overrides), loader);
  return job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction;
}

LayeredPlan layered(const UniformPlan& of) {
  LayeredPlan plan{.micro_batches = of.micro_batches};
  for (std::int64_t stage = 0; stage < of.stages; ++stage) {
    const std::int64_t ends = (stage == 0 ? 1 : 0) + (stage + 1 == of.stages ? 1 : 0);
    plan.stages.push_back({.layers = {{.count = k_body_layers / of.stages + ends, .way = of.way}}});
  }
  return plan;
}

// What a plan takes here, and the process with its libraries besides, is what the device holds at its peak there.
void memory_agrees(const LayeredModel& model, std::int64_t here, const predict::MemoryReport& there) {
  const double beside = there.capacity - model.memory().base();
  CHECK(static_cast<double>(here) + beside == Approx(there.device_peak).epsilon(k_memory_apart));
}

// Time. One stage: the model counts the micro-batches from the third on as equally long, which they are but for what
// the first ones still hide. Several: an exchange that ends after the passes of all layers is shared out evenly, though
// the last one of each stage is exposed whole, and streams are taken to be free where a stage's layers begin and end.
// Memory. What each layer needs within a pass is taken to be there beside all that is kept, and blocks that the
// allocator of cairn run cannot fill are left out.
TEST_CASE("A plan with one way for all layers takes what it takes in cairn run") {
  constexpr double k_one_stage = 1e-9;
  constexpr double k_several_stages = 0.03;
  const config::Loader loader = testing::shipped();
  const std::vector<UniformPlan> plans{
      {.way = {.tp = 1}, .stages = 1, .micro_batches = 1},
      {.way = {.tp = 1}, .stages = 1, .micro_batches = 2},
      {.way = {.tp = 2}, .stages = 1, .micro_batches = 4},
      {.way = {.tp = 4}, .stages = 1, .micro_batches = 8},
      {.way = {.tp = 1, .recompute = true}, .stages = 1, .micro_batches = 2},
      {.way = {.tp = 1, .sharded = true}, .stages = 1, .micro_batches = 2},
      {.way = {.tp = 2, .sharded = true}, .stages = 1, .micro_batches = 4},
      {.way = {.tp = 1, .sharded = true, .recompute = true}, .stages = 1, .micro_batches = 1},
      {.way = {.tp = 1}, .stages = 2, .micro_batches = 4},
      {.way = {.tp = 2}, .stages = 2, .micro_batches = 8},
      {.way = {.tp = 1}, .stages = 4, .micro_batches = 8},
      {.way = {.tp = 1, .recompute = true}, .stages = 2, .micro_batches = 2},
      {.way = {.tp = 1, .sharded = true}, .stages = 2, .micro_batches = 4},
  };
  // The last waits for every message, and its host takes 65 ms of a step by itself.
  for (const std::string framework : {"torchtitan", "megatron", "megatron@2021"}) {
    const experiment::Job job(experiment::load(loader, "llama3-8b-fsdp-dgx-h100", overrides_of(framework)), loader);
    LayeredModel model(job.experiment(), job.parts());
    for (const UniformPlan& plan : plans) {
      if (plan.way.sharded && plan.stages > 1 && framework != "torchtitan") continue;  // which alone shards stages so
      CAPTURE(framework, plan.way.tp, plan.way.sharded, plan.way.recompute, plan.stages, plan.micro_batches);
      const predict::Prediction there = run(plan, overrides_of(framework), loader);
      const PricedPlan here = model.priced(layered(plan));
      CHECK(core::to_seconds(here.time) ==
            Approx(core::to_seconds(there.time)).epsilon(plan.stages == 1 ? k_one_stage : k_several_stages));
      memory_agrees(model, here.memory, there.memory);
    }
  }
}

// In one stage they are held once, in several by both ends, as in cairn run. Where nothing is sharded the peak is where
// all state is, and what is held once less is 18 bytes of each element but for blocks of the allocator.
TEST_CASE("Embedding and head that share parameters take the memory that they take in cairn run") {
  constexpr double k_saved = 0.02;
  const config::Loader loader = testing::shipped();
  const std::vector<UniformPlan> plans{
      {.way = {.tp = 1}, .stages = 1, .micro_batches = 1},
      {.way = {.tp = 2}, .stages = 1, .micro_batches = 2},
      {.way = {.tp = 1, .sharded = true}, .stages = 1, .micro_batches = 2},
      {.way = {.tp = 2, .sharded = true}, .stages = 1, .micro_batches = 4},
      {.way = {.tp = 1}, .stages = 2, .micro_batches = 4},
  };
  for (const std::string framework : {"torchtitan", "megatron"}) {
    const experiment::Job job(experiment::load(loader, "llama3-8b-fsdp-dgx-h100", overrides_of(framework)), loader);
    const experiment::Job tied_job(
        experiment::load(loader, "llama3-8b-fsdp-dgx-h100", overrides_of(framework, Ends::tied)), loader);
    LayeredModel apart(job.experiment(), job.parts());
    LayeredModel tied(tied_job.experiment(), tied_job.parts());
    for (const UniformPlan& plan : plans) {
      CAPTURE(framework, plan.way.tp, plan.way.sharded, plan.stages, plan.micro_batches);
      const predict::MemoryReport there = run(plan, overrides_of(framework, Ends::tied), loader).memory;
      const std::int64_t here = tied.priced(layered(plan)).memory;
      memory_agrees(tied, here, there);
      const auto saved = static_cast<double>(apart.priced(layered(plan)).memory - here);
      const double saved_there = run(plan, overrides_of(framework), loader).memory.device_peak - there.device_peak;
      if (plan.stages > 1)
        CHECK(saved == 0.0);
      else if (!plan.way.sharded)
        CHECK(saved == Approx(saved_there).epsilon(k_saved));
      else
        CHECK(saved > 0.0);
    }
  }
}

std::vector<UniformPlan> plans_to_beat(const std::string& framework) {
  std::vector<UniformPlan> plans;
  for (const std::int64_t tp : {1, 2, 4})
    for (const bool sharded : {false, true})
      for (const bool recompute : {false, true})
        for (const std::int64_t stages : {1, 2})
          for (const std::int64_t micro_batches : {1, 2, 8}) {
            const UniformPlan plan{.way = {.tp = tp, .sharded = sharded, .recompute = recompute},
                                   .stages = stages,
                                   .micro_batches = micro_batches};
            if (tp * stages > k_accelerators || k_sequences % (micro_batches * plan.copies()) != 0) continue;
            if (sharded && (plan.copies() == 1 || (stages > 1 && framework != "torchtitan"))) continue;
            plans.push_back(plan);
          }
  return plans;
}

// So much of 80 GiB is gone that not all of them fit. Memory and the time of several stages are told apart from those of
// cairn run by as much as above.
TEST_CASE("No plan with one way for all layers that fits in cairn run is faster than the ways that are found") {
  constexpr double k_several_stages = 0.03;
  struct Small {
    std::string framework;
    std::string sequence;
    std::string gone;
  };
  const config::Loader loader = testing::shipped();
  for (const Small& each : {Small{.framework = "megatron", .sequence = "2048", .gone = "74"},
                            Small{.framework = "torchtitan", .sequence = "16384", .gone = "66"}}) {
    std::vector<std::string> overrides = overrides_of(each.framework);
    overrides.push_back("training.seq_len=" + each.sequence);
    overrides.push_back("cluster.accelerator={file: h100-sxm5-80gb, reserved_memory: {driver: " + each.gone + " GiB}}");
    const experiment::Job job(experiment::load(loader, "llama3-8b-fsdp-dgx-h100", overrides), loader);
    LayeredModel model(job.experiment(), job.parts());
    const LayeredSearch found = search_layers(model);
    REQUIRE(found.best);
    const double time = core::to_seconds(found.best->priced.time);
    std::size_t fit = 0, all = 0;
    for (const UniformPlan& plan : plans_to_beat(each.framework)) {
      CAPTURE(each.framework, plan.way.tp, plan.way.sharded, plan.way.recompute, plan.stages, plan.micro_batches);
      const predict::Prediction there = run(plan, overrides, loader);
      ++all;
      if (there.memory.device_peak * (1.0 + k_memory_apart) > there.memory.capacity) continue;
      ++fit;
      CHECK(time <= core::to_seconds(there.time) * (1.0 + (plan.stages > 1 ? k_several_stages : 1e-9)));
    }
    CHECK(fit > 0);
    CHECK(fit < all);
  }
}

}  // namespace
}  // namespace cairn::division
