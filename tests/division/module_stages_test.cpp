#include "cairn/division/module_stages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cairn/config/shipped.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/job.h"
#include "catch.h"

namespace cairn::division {
namespace {

// The least largest part of all cuts of `costs` into `parts` consecutive parts.
double least_cut(const std::vector<double>& costs, std::size_t begin, std::size_t parts) {
  if (parts == 1) return std::accumulate(costs.begin() + static_cast<std::ptrdiff_t>(begin), costs.end(), 0.0);
  double best = std::numeric_limits<double>::infinity();
  double part = 0.0;
  for (std::size_t end = begin; end <= costs.size(); ++end) {
    best = std::min(best, std::max(part, least_cut(costs, end, parts - 1)));
    if (end < costs.size()) part += costs[end];
  }
  return best;
}

TEST_CASE("Layers of an experiment as stages: both ways share out all of the model, the exact one best") {
  const config::Loader loader(config::shipped_folders());
  const experiment::LoadedExperiment loaded =
      experiment::load(loader, "llama3-8b-fsdp-dgx-h100", {"model.layers=7", "training.seq_len=1024"});
  const experiment::Job job(loaded, loader);
  for (const double weight : {0.0, 0.2, 1.0})
    for (std::int64_t devices = 1; devices <= 4; ++devices) {
      CAPTURE(weight, devices);
      const ModuleStages found =
          module_stages(job.experiment(), job.parts(), {.devices = devices, .memory_weight = weight});
      REQUIRE(found.modules.size() == 9);
      CHECK(found.modules[1].is_layer);
      CHECK_FALSE(found.modules.back().is_layer);
      double time = 0.0, memory = 0.0;
      for (const ModuleRow& row : found.modules) {
        CHECK(row.time > 0);
        CHECK(row.memory > 0);
        time += static_cast<double>(row.time);
        memory += static_cast<double>(row.memory);
      }
      std::vector<double> costs;
      for (const ModuleRow& row : found.modules)
        costs.push_back(weight * static_cast<double>(row.memory) / memory +
                        (1.0 - weight) * static_cast<double>(row.time) / time);
      CHECK(found.exact.most == Approx(least_cut(costs, 0, static_cast<std::size_t>(devices))).epsilon(1e-9));
      CHECK(found.tree.most >= found.exact.most - 1e-9);
      for (const DeviceLoads* each : {&found.tree, &found.exact})
        CHECK(std::accumulate(each->loads.begin(), each->loads.end(), 0.0) == Approx(1.0).epsilon(1e-9));
      CHECK(std::is_sorted(found.modules.begin(), found.modules.end(), [](const ModuleRow& a, const ModuleRow& b) {
        return a.tree_device < b.tree_device || a.exact_device < b.exact_device;
      }));
    }
}

TEST_CASE("Every module has a device of its own where there are as many, and the last of more devices are empty") {
  const config::Loader loader(config::shipped_folders());
  const experiment::Job job(
      experiment::load(loader, "llama3-8b-fsdp-dgx-h100", {"model.layers=2", "training.seq_len=1024"}), loader);
  for (const std::int64_t devices : {4, 5, 6, 9}) {
    CAPTURE(devices);
    const ModuleStages found = module_stages(job.experiment(), job.parts(), {.devices = devices});
    REQUIRE(found.modules.size() == 4);
    for (std::size_t i = 0; i < found.modules.size(); ++i)
      CHECK(found.modules[i].exact_device == static_cast<std::int64_t>(i));
    CHECK(found.exact.stages.has_value() == (devices == 4));
  }
}

// 128256 x 4096 elements of 18 bytes: bf16, an fp32 gradient, and fp32 moments and master.
TEST_CASE("Embedding and head that share parameters hold them once on one device, and a copy each on several") {
  const config::Loader loader(config::shipped_folders());
  const auto head_of = [&](const std::string& tied, std::int64_t devices) {
    const experiment::Job job(experiment::load(loader, "llama3-8b-fsdp-dgx-h100",
                                               {"model.layers=4", "strategy.zero=0", "model.tied_embeddings=" + tied}),
                              loader);
    const ModuleStages found = module_stages(job.experiment(), job.parts(), {.devices = devices});
    CHECK(found.modules.front().memory >= std::int64_t{128256} * 4096 * 18);
    return found.modules.back().memory;
  };
  CHECK(head_of("false", 1) == head_of("true", 2));
  CHECK(head_of("true", 2) == head_of("true", 4));
  CHECK(head_of("true", 2) - head_of("true", 1) == std::int64_t{128256} * 4096 * 18);
}

// Four layers on eight accelerators.
ModuleStages recomputed(const std::string& recompute, const std::string& pp = "1") {
  const config::Loader loader(config::shipped_folders());
  const experiment::Job job(
      experiment::load(loader, "llama3-8b-fsdp-dgx-h100",
                       {"model.layers=4", "training.framework=megatron", "strategy.zero=1", "strategy.dp=null",
                        "strategy.pp=" + pp, "strategy.recompute=" + recompute}),
      loader);
  return module_stages(job.experiment(), job.parts(), {.devices = 2});
}

// Layers of a class are priced alike: recomputed in part, each of them would keep as little as if it were recomputed.
TEST_CASE("Layers of which some run again, or several together, are refused") {
  const auto complaint = [](const std::string& recompute, const std::string& pp = "1") {
    try {
      recomputed(recompute, pp);
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().front().key_path;
    }
    return std::string();
  };
  CHECK(complaint("{kind: full, method: block, count: 2}") == "strategy.recompute");
  CHECK(complaint("{kind: full, method: block, count: 1}", "2") == "strategy.recompute");
  CHECK(complaint("{kind: full, method: uniform, count: 2}") == "strategy.recompute.count");
  CHECK(complaint("{kind: full, layers: [0..1]}") == "strategy.recompute");
  CHECK(complaint("{kind: full, layers: [0, 2..3]}") == "strategy.recompute");
  CHECK(complaint("{kind: full, method: block, count: 3, layers: [0..3]}") == "strategy.recompute");
  CHECK(complaint("{kind: full, method: uniform, count: 1}").empty());
  CHECK(complaint("attention").empty());
  CHECK(complaint("none").empty());
}

TEST_CASE("Settings under which every layer runs again are priced as full recomputation is") {
  const auto same = [](const std::string& recompute, const std::string& pp = "1") {
    const ModuleStages found = recomputed(recompute, pp), full = recomputed("full", pp);
    REQUIRE(found.modules.size() == full.modules.size());
    for (std::size_t i = 0; i < full.modules.size(); ++i) {
      CAPTURE(recompute, pp, full.modules[i].name);
      CHECK(found.modules[i].time == full.modules[i].time);
      CHECK(found.modules[i].memory == full.modules[i].memory);
    }
  };
  CHECK(recomputed("full").modules[1].memory < recomputed("none").modules[1].memory);
  same("{kind: full, layers: [0..3]}");
  same("{kind: full, layers: [2..3, 0..2]}");
  same("{kind: full, method: block, count: 4}");
  same("{kind: full, method: block, count: 9}");
  same("{kind: full, method: block, count: 2}", "2");  // of each of two stages all layers
  same("{kind: full, method: block, count: 4, layers: [0..3]}");
}

TEST_CASE("A weight that is none is refused") {
  const config::Loader loader(config::shipped_folders());
  const experiment::Job job(experiment::load(loader, "llama3-8b-fsdp-dgx-h100"), loader);
  CHECK_THROWS_AS(module_stages(job.experiment(), job.parts(), {.devices = 2, .memory_weight = 2.0}),
                  core::ConfigurationError);
}

}  // namespace
}  // namespace cairn::division
