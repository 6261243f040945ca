#include "cairn/division/layered_search.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/config/shipped.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/experiment/job.h"
#include "catch.h"
#include "no_plans.h"

namespace cairn::division {
namespace {

const config::Loader& shipped() {
  static const config::Loader loader(config::shipped_folders());
  return loader;
}

// Two layers on one node of so many V100.
experiment::LoadedExperiment small(const std::vector<std::string>& overrides) {
  std::vector<std::string> all{"model.layers=2",          "model.hidden=1024",       "model.heads=8",
                               "model.kv_heads=8",        "model.head_dim=128",      "model.ffn=4096",
                               "model.vocab=8192",        "cluster.nodes=1",         "training.seq_len=1024",
                               "training.global_batch=8", "strategy.recompute=none", "strategy.zero=0"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return experiment::load(shipped(), "llama3-8b-fsdp-dgx-h100", all);
}

bool fits(const LayeredModel& model, const PricedPlan& priced) {
  return static_cast<double>(priced.memory) <= model.memory().base();
}

core::Picoseconds stage_time(const PricedStage& stage, std::int64_t micro_batches) {
  return micro_batches * (stage.forward + stage.backward) + stage.once;
}

std::vector<LayerWay> all_ways(std::int64_t devices) {
  std::vector<LayerWay> ways;
  for (std::int64_t tp = 1; tp <= devices; tp *= 2)
    for (const bool sharded : {false, true})
      for (const bool recompute : {false, true})
        if (!sharded || tp < devices) ways.push_back({.tp = tp, .sharded = sharded, .recompute = recompute});
  return ways;
}

// Calls `each` with every choice of ways of so many layers.
template <class Each>
void all_choices(const std::vector<LayerWay>& ways, std::size_t layers, std::vector<LayerWay>& chosen, Each each) {
  if (chosen.size() == layers) return each(chosen);
  for (const LayerWay& way : ways) {
    chosen.push_back(way);
    all_choices(ways, layers, chosen, each);
    chosen.pop_back();
  }
}

std::size_t layers_in(const LayeredStage& stage) {
  std::size_t layers = 0;
  for (const LayerStretch& stretch : stage.layers) layers += static_cast<std::size_t>(stretch.count);
  return layers;
}

// No choice of ways makes a stage of the plan faster and fits, the other stages as they are.
void is_least(LayeredModel& model, const LayeredAnswer& found) {
  const std::int64_t devices = model.accelerators() / std::ssize(found.plan.stages);
  const std::int64_t sequences = model.sequences() / found.plan.micro_batches;
  std::vector<LayerWay> ways = all_ways(devices);
  std::erase_if(ways, [&](const LayerWay& way) { return model.costs(way, devices, sequences) == nullptr; });
  for (std::size_t stage = 0; stage < found.plan.stages.size(); ++stage) {
    const core::Picoseconds least = stage_time(found.priced.stages[stage], found.plan.micro_batches);
    LayeredPlan other = found.plan;
    std::vector<LayerWay> chosen;
    std::int64_t faster = 0;
    all_choices(ways, layers_in(found.plan.stages[stage]), chosen, [&](const std::vector<LayerWay>& each) {
      other.stages[stage] = stage_of(each);
      const PricedPlan priced = model.priced(other);
      if (fits(model, priced) && stage_time(priced.stages[stage], other.micro_batches) < least) ++faster;
    });
    CHECK(faster == 0);
  }
}

// What a search finds: it fits, and no stage of it is faster with other ways.
LayeredSearch least_ways(LayeredModel& model) {
  LayeredSearch found = search_layers(model);
  REQUIRE(found.best);
  CHECK(fits(model, found.best->priced));
  is_least(model, *found.best);
  return found;
}

TEST_CASE("No ways of a small model's layers are faster than those that are found") {
  for (const std::string batch : {"8", "6"})
    for (const std::string sequence : {"1024", "16384"})
      for (const bool shared_tokens : {false, true}) {
        CAPTURE(batch, sequence, shared_tokens);
        const experiment::Job job(
            small({"cluster.gpus_per_node=4", "training.global_batch=" + batch, "training.seq_len=" + sequence,
                   "strategy.dp=null", shared_tokens ? "strategy.tp=2" : "strategy.tp=1",
                   shared_tokens ? "strategy.sequence_parallel=true" : "strategy.sequence_parallel=false",
                   batch == "8" ? "strategy.pp=1" : "strategy.pp=2"}),
            shipped());
        LayeredModel model(job.experiment(), job.parts());
        const LayeredSearch found = least_ways(model);
        REQUIRE(found.uniform);
        CHECK(found.best->priced.time <= found.uniform->priced.time);
        // The same figure by another model, to the picosecond.
        LayeredModel again(job.experiment(), job.parts());
        CHECK(again.priced(found.best->plan).time == found.best->priced.time);
      }
}

// 6 = 2 x 3: ranks of tensor parallelism are 1 or 2, copies 6 or 3; stages of 3 have copies alone.
TEST_CASE("Accelerators that are no power of two are shared, too") {
  const experiment::Job job(small({"cluster.gpus_per_node=6", "training.global_batch=6", "strategy.dp=null"}),
                            shipped());
  LayeredModel model(job.experiment(), job.parts());
  const LayeredSearch found = least_ways(model);
  for (const bool sharded : {false, true})
    for (const std::int64_t tp : {1, 2}) {
      CAPTURE(sharded, tp);
      const LayeredPlan alike{.stages = {{.layers = {{.count = 4, .way = {.tp = tp, .sharded = sharded}}}}}};
      const PricedPlan priced = model.priced(alike);
      if (fits(model, priced)) CHECK(found.best->priced.time <= priced.time);
    }
}

// A batch of one leaves no copies, and seven accelerators no degree: in 1 stage 7 copies, in 7 stages too few layers.
TEST_CASE("Where no way of sharing layers is allowed it is told why") {
  const experiment::Job job(small({"cluster.gpus_per_node=7", "training.global_batch=7", "strategy.dp=null"}),
                            shipped());
  experiment::Settings one = job.experiment();
  one.strategy.dp = 1;
  one.strategy.pp = 7;
  one.training.global_batch = {.sequences = 1};
  one.strategy.stages.emplace();
  one.strategy.stages->layers = {2, 0, 0, 0, 0, 0, 0};
  LayeredModel model(one, job.parts());
  const LayeredSearch found = search_layers(model);
  CHECK_FALSE(found.best);
  CHECK(found.ways == 0);
  REQUIRE(found.refused);
  CHECK(found.refused->message.find("equal shares") != std::string::npos);
  CHECK(found.refused->hint.find("fewer accelerators") != std::string::npos);
}

// 2^26 tokens of 1024 elements of 2 bytes are 128 GiB, of which a layer keeps several.
TEST_CASE("A way that is not allowed comes with its own remedy") {
  const experiment::Job job(small({"cluster.gpus_per_node=4", "strategy.dp=null"}), shipped());
  experiment::Settings longer = job.experiment();
  longer.training.seq_len = std::int64_t{1} << 26;
  LayeredModel model(longer, job.parts());
  REQUIRE(model.costs({.tp = 1}, 4, 4) == nullptr);
  CHECK(model.why({.tp = 1}, 4, 4).message.find("TiB") != std::string::npos);
  CHECK(model.why({.tp = 1}, 4, 4).hint.find("shorter sequences") != std::string::npos);
  REQUIRE(model.costs({.tp = 3}, 4, 4) == nullptr);
  CHECK(model.why({.tp = 3}, 4, 4).hint == "use a divisor");
}

TEST_CASE("Ways of layers do not depend on the experiment's own plan, which need not be one") {
  const auto search = [](const std::vector<std::string>& own) {
    std::vector<std::string> all{"cluster.gpus_per_node=4"};
    all.insert(all.end(), own.begin(), own.end());
    const experiment::LoadedExperiment loaded = small(all);
    const experiment::Parts parts = experiment::load_parts(loaded, shipped());
    LayeredModel model(loaded.experiment, parts);
    return search_layers(model);
  };
  const LayeredSearch found = search({});
  REQUIRE(found.best);
  std::vector<std::string> no_plans = settings_of_no_plan();
  no_plans.emplace_back("strategy.micro_batch=5");
  for (const std::string& own : no_plans) {
    CAPTURE(own);
    const LayeredSearch same = search({own});
    REQUIRE(same.best);
    CHECK(same.best->priced.time == found.best->priced.time);
    CHECK(same.best->priced.memory == found.best->priced.memory);
    CHECK(same.best->plan.micro_batches == found.best->plan.micro_batches);
  }
}

// By hand: a stage's passes are the sums of its layers', and a change of tp adds its exchange.
TEST_CASE("A stage takes what its layers take, and what changes between them") {
  const experiment::Job job(small({"cluster.gpus_per_node=4", "strategy.dp=null"}), shipped());
  LayeredModel model(job.experiment(), job.parts());
  const LayerWay whole{.tp = 1}, split{.tp = 4};
  const LayeredPlan plan{.micro_batches = 2,
                         .stages = {{.layers = {{.count = 2, .way = whole}, {.count = 2, .way = split}}}}};
  const PricedPlan priced = model.priced(plan);
  const std::vector<LayerCost>& of_whole = *model.costs(whole, 4, 4);
  const std::vector<LayerCost>& of_split = *model.costs(split, 4, 4);
  const std::vector<std::size_t>& classes = model.layers().of;
  REQUIRE(classes.size() == 4);
  const WayChange change = model.change(1, 4, 4, 4);
  CHECK(change.forward > 0);    // an all-gather of sequences
  CHECK(change.backward == 0);  // each rank has the gradient that it needs
  CHECK(model.change(4, 1, 4, 4).forward == change.backward);
  CHECK(model.change(4, 1, 4, 4).backward == change.forward);
  const core::Picoseconds forward = of_whole[classes[0]].forward + of_whole[classes[1]].forward +
                                    of_split[classes[2]].forward + of_split[classes[3]].forward + change.forward;
  const core::Picoseconds backward = of_whole[classes[0]].backward + of_whole[classes[1]].backward +
                                     of_split[classes[2]].backward + of_split[classes[3]].backward;
  CHECK(priced.stages[0].forward == forward);
  CHECK(priced.stages[0].backward == backward);
  CHECK(priced.time == 2 * (forward + backward) + priced.stages[0].once);
}

// ZeRO 3 leaves a rank the part of the state that is its own, and recomputation less to keep.
TEST_CASE("Sharding and recomputation save memory, and cost time") {
  const experiment::Job job(small({"cluster.gpus_per_node=4", "strategy.dp=null"}), shipped());
  LayeredModel model(job.experiment(), job.parts());
  const std::size_t body = model.layers().of[1];
  const LayerCost& plain = (*model.costs({.tp = 1}, 4, 8))[body];
  const LayerCost& sharded = (*model.costs({.tp = 1, .sharded = true}, 4, 8))[body];
  const LayerCost& again = (*model.costs({.tp = 1, .recompute = true}, 4, 8))[body];
  CHECK(sharded.state < plain.state / 3);
  CHECK(sharded.forward + sharded.backward >= plain.forward + plain.backward);
  CHECK(again.saved < plain.saved);
  CHECK(again.backward > plain.backward);
  CHECK(again.state == plain.state);
}

// Of one stage. The table of 8192 x 1024 elements takes 18 bytes of each, or of a half of them, or of a quarter.
TEST_CASE("Layers that share parameters hold them once where they store them alike") {
  const experiment::Job job(small({"cluster.gpus_per_node=4", "strategy.dp=null", "model.tied_embeddings=true"}),
                            shipped());
  LayeredModel model(job.experiment(), job.parts());
  const std::size_t entry = model.layers().of.front(), exit = model.layers().of.back();
  constexpr std::int64_t k_table = std::int64_t{8192} * 1024 * 18;
  for (const std::int64_t tp : {1, 2, 4})
    for (const std::int64_t micro_batch : {4, 8}) {
      CAPTURE(tp, micro_batch);
      const std::vector<LayerCost>& costs = *model.costs({.tp = tp}, 4, micro_batch);
      CHECK(costs[entry].tied == k_table / tp);
      CHECK(costs[exit].tied == k_table / tp);
      CHECK(costs[model.layers().of[1]].tied == 0);
    }
  const auto memory_of = [&](const LayerWay& first, const LayerWay& last) {
    const PricedPlan priced =
        model.priced({.stages = {{.layers = {{.count = 3, .way = first}, {.count = 1, .way = last}}}}});
    std::int64_t sum = 0, transient = 0;
    for (std::size_t layer = 0; layer < 4; ++layer) {
      const LayerCost& cost = (*model.costs(layer < 3 ? first : last, 4, 8))[model.layers().of[layer]];
      sum += cost.state + cost.saved;
      transient = std::max(transient, cost.transient);
    }
    return sum + transient - priced.memory;
  };
  CHECK(memory_of({.tp = 1}, {.tp = 1}) == k_table);
  CHECK(memory_of({.tp = 2}, {.tp = 2}) == k_table / 2);
  CHECK(memory_of({.tp = 1}, {.tp = 2}) == 0);
  CHECK(memory_of({.tp = 1}, {.tp = 1, .sharded = true}) == 0);
}

// So much of 80 GiB is gone that the fastest plans do not fit.
TEST_CASE("No ways of layers that share parameters are faster than those that are found") {
  for (const int gone : {74, 75, 76}) {
    CAPTURE(gone);
    const experiment::Job job(
        small({"cluster.gpus_per_node=4", "strategy.dp=null", "model.tied_embeddings=true", "training.seq_len=16384",
               "cluster.accelerator={file: h100-sxm5-80gb, reserved_memory: {driver: " + std::to_string(gone) +
                   " GiB}}"}),
        shipped());
    LayeredModel model(job.experiment(), job.parts());
    least_ways(model);
  }
}

// Exactly for one stage. Of several, stages are the fastest, and the pipeline that they make almost is.
TEST_CASE("More memory never makes the ways of layers that are found slower") {
  constexpr double k_several_stages = 0.02;
  core::Random random(3);
  std::size_t different = 0;
  const auto one_of = [&](const std::vector<std::string>& words) { return words[random.below(words.size())]; };
  for (int round = 0; round < 5; ++round) {
    const std::string gpus = one_of({"2", "4"});
    const std::vector<std::string> drawn{"cluster.gpus_per_node=" + gpus,
                                         "training.global_batch=" + one_of({"4", "8", "12"}),
                                         "training.seq_len=" + one_of({"2048", "8192", "16384"}),
                                         "training.framework=" + one_of({"torchtitan", "megatron"}),
                                         "model.layers=" + one_of({"2", "3", "4"}),
                                         "model.vocab=" + one_of({"8192", "65536"}),
                                         "model.tied_embeddings=" + one_of({"false", "true"}),
                                         "strategy.zero=" + one_of({"0", "1", "2"})};
    std::optional<LayeredAnswer> before;
    for (const char* const gone : {"77", "76", "75", "73", "70", "64", "40"}) {
      CAPTURE(drawn, gone);
      std::vector<std::string> all = drawn;
      all.push_back(std::string("cluster.accelerator={file: h100-sxm5-80gb, reserved_memory: {driver: ") + gone +
                    " GiB}}");
      const experiment::LoadedExperiment loaded = small(all);
      const experiment::Parts parts = experiment::load_parts(loaded, shipped());
      LayeredModel model(loaded.experiment, parts);
      LayeredSearch found = search_layers(model);
      if (!before) {
        before = std::move(found.best);
        continue;
      }
      REQUIRE(found.best);
      const auto longest = static_cast<double>(before->priced.time);
      CHECK(static_cast<double>(found.best->priced.time) <=
            longest * (1.0 + (before->plan.stages.size() > 1 ? k_several_stages : 0.0)));
      if (found.best->priced.time != before->priced.time) ++different;
      before = std::move(found.best);
    }
  }
  CHECK(different > 0);
}

TEST_CASE("Plans that cannot be are refused with their place") {
  const experiment::Job job(small({"cluster.gpus_per_node=4", "strategy.dp=null"}), shipped());
  LayeredModel model(job.experiment(), job.parts());
  const auto complaint = [&](const LayeredPlan& plan) {
    try {
      model.priced(plan);
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().front().key_path;
    }
    return std::string();
  };
  const LayeredStage four{.layers = {{.count = 4}}};
  CHECK(complaint({.micro_batches = 2, .stages = {four}}).empty());
  CHECK(complaint({.micro_batches = 3, .stages = {four}}) == "micro_batches");
  CHECK(complaint({.micro_batches = 1, .stages = {four, four}}) == "stages");
  CHECK(complaint({.micro_batches = 1, .stages = {four, four, four}}) == "stages");
  CHECK(complaint({.micro_batches = 1, .stages = {{.layers = {{.count = 3}, {.count = 1, .way = {.tp = 3}}}}}}) ==
        "stages[0].layers[1].tp");
  CHECK(complaint({.micro_batches = 8, .stages = {four}}) == "stages[0].layers[0].tp");
}

bool warns(const Basis& basis, const std::string& words) {
  return std::any_of(basis.warnings.begin(), basis.warnings.end(),
                     [&](const std::string& each) { return each.find(words) != std::string::npos; });
}

TEST_CASE("What a framework cannot do of a way, and what no way has, is told") {
  const experiment::Job job(small({"cluster.gpus_per_node=4", "strategy.dp=null", "training.framework=megatron@2021"}),
                            shipped());
  LayeredModel model(job.experiment(), job.parts());
  const LayeredPlan plain{.stages = {{.layers = {{.count = 4, .way = {.tp = 1}}}}}};
  const LayeredPlan sharded{
      .stages = {{.layers = {{.count = 3, .way = {.tp = 1}}, {.count = 1, .way = {.tp = 1, .sharded = true}}}}}};
  // Whatever else was priced.
  REQUIRE(model.costs({.tp = 1, .sharded = true}, 4, 8) != nullptr);
  CHECK_FALSE(warns(model.basis(plain), "ZeRO"));
  CHECK_FALSE(warns(model.basis(), "ZeRO"));
  CHECK(warns(model.basis(sharded), "ZeRO"));
  CHECK_FALSE(warns(model.basis(sharded), "strategy.recompute"));
  const experiment::Job selective(
      small({"cluster.gpus_per_node=4", "strategy.dp=null", "strategy.recompute=attention"}), shipped());
  const LayeredModel selected(selective.experiment(), selective.parts());
  CHECK(warns(selected.basis(), "strategy.recompute"));
  CHECK(warns(selected.basis(plain), "strategy.recompute"));
}

TEST_CASE("The plan that a search finds is warned of as it is where nothing else was priced") {
  const experiment::Job job(small({"cluster.gpus_per_node=4", "strategy.dp=null", "training.framework=megatron@2021"}),
                            shipped());
  LayeredModel searched(job.experiment(), job.parts());
  const LayeredSearch found = search_layers(searched);
  REQUIRE(found.best);
  LayeredModel alone(job.experiment(), job.parts());
  alone.priced(found.best->plan);
  const Basis of_search = searched.basis(found.best->plan), of_plan = alone.basis(found.best->plan);
  CHECK(of_search.warnings == of_plan.warnings);
  CHECK(of_search.assumptions == of_plan.assumptions);
}

TEST_CASE("Experiments whose layers cannot differ are refused by name") {
  const auto complaint = [&](const std::vector<std::string>& overrides) {
    const experiment::Job job(small(overrides), shipped());
    try {
      const LayeredModel model(job.experiment(), job.parts());
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().front().key_path;
    }
    return std::string();
  };
  CHECK(complaint({"strategy.cp=2", "strategy.dp=null"}) == "strategy.cp");
  CHECK(complaint({"strategy.pp=2", "strategy.dp=null", "strategy.schedule=gpipe"}) == "strategy.schedule");
  CHECK(complaint({"strategy.order=[dp, tp, cp, pp]"}) == "strategy.order");
  CHECK(complaint({"strategy.zero={stage: 3, shard: 4}"}) == "strategy.zero.shard");
  CHECK(complaint({"strategy.zero={stage: 3, offload: {optimizer: host}}"}) == "strategy.zero.offload");
  CHECK(complaint({"simulation.contention=true"}) == "simulation");
  CHECK(complaint({"model.layers=1025"}) == "model.layers");
}

}  // namespace
}  // namespace cairn::division
