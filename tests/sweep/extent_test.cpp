// The least cluster and the longest sequence, against searches at each size.
#include "cairn/sweep/extent.h"

#include "catch.h"

#include "cairn/config/loader.h"
#include "support/shipped.h"

using namespace cairn;
using search::Objective;
using testing::shipped;

namespace {

const config::Loader& extent_files() {
  static const config::Loader loader = shipped();
  return loader;
}
sweep::Layouts space_of(const char* space) {
  core::Diagnostics problems;
  return {.space = config::parse_text(space, config::Syntax::yaml, "space.yaml", problems)};
}
const char* const k_extent_space =
    "space: {tp: [1, 2, 4, 8], micro_batch: [1, 2], recompute: [none, full], zero: [1, 3]}";

sweep::ExtentRequest extent_request(Objective objective, std::vector<std::string> overrides) {
  return {.loader = extent_files(),
          .experiment = "llama3-8b-fsdp-dgx-h100",
          .overrides = std::move(overrides),
          .layouts = space_of(k_extent_space),
          .objective = objective};
}

// Whether a layout fits, found by computing every one.
bool layout_fits(std::vector<std::string> overrides) {
  const experiment::LoadedExperiment loaded = experiment::load(extent_files(), "llama3-8b-fsdp-dgx-h100", overrides);
  const experiment::Parts parts = experiment::load_parts(loaded, extent_files());
  const search::Subject subject = search::subject_of(parts, loaded.experiment.training);
  const search::Space space = search::read_space(*space_of(k_extent_space).space, loaded.experiment.strategy, subject);
  return !search::search({.settings = loaded.experiment,
                          .parts = parts,
                          .space = space,
                          .subject = subject,
                          .exhaustive = true,
                          .contention = false})
              .top.empty();
}

}  // namespace

TEST_CASE("The fewest accelerators are the first number of them at which a layout fits") {
  for (const char* length : {"training.seq_len=2048", "training.seq_len=8192", "training.seq_len=131072"}) {
    INFO(length);
    const sweep::Extent extent =
        sweep::extent_that_fits(extent_request(Objective::fewest_gpus, {length, "cluster.nodes=2"}));
    CHECK(extent.complete);
    std::int64_t first = 0;
    std::size_t sizes = 0;
    for (const std::int64_t gpus : {1, 2, 4, 8, 16}) {
      ++sizes;
      const bool part = gpus < 8;
      std::vector<std::string> overrides{length,
                                         part ? "cluster.nodes=1" : "cluster.nodes=" + std::to_string(gpus / 8)};
      if (part) overrides.push_back("cluster.gpus_per_node=" + std::to_string(gpus));
      if (!layout_fits(overrides)) continue;
      first = gpus;
      break;
    }
    CHECK(extent.size == first);
    CHECK(extent.tried.size() == sizes);
    for (const sweep::Extent::Tried& each : extent.tried) {
      CHECK(each.fits == (each.size == first));
      CHECK(each.fits == each.why.empty());
    }
  }
}

TEST_CASE("The longest sequence fits, and the next longer one does not") {
  for (const char* nodes : {"cluster.nodes=1", "cluster.nodes=2"}) {
    INFO(nodes);
    const sweep::Extent extent = sweep::extent_that_fits(extent_request(Objective::longest_sequence, {nodes}));
    REQUIRE(extent.complete);
    REQUIRE(extent.size > 0);
    CHECK(extent.size % sweep::k_length_step == 0);
    CHECK(extent.overrides == std::vector<std::string>{"training.seq_len=" + std::to_string(extent.size)});
    CHECK(layout_fits({nodes, extent.overrides.front()}));
    CHECK(!layout_fits({nodes, "training.seq_len=" + std::to_string(extent.size + sweep::k_length_step)}));
  }
}

TEST_CASE("Where nothing fits at any size, every size says why") {
  const std::vector<std::string> large{"training.seq_len=16777216", "cluster.nodes=1"};
  const sweep::Extent few = sweep::extent_that_fits(extent_request(Objective::fewest_gpus, large));
  CHECK(few.size == 0);
  CHECK(few.overrides.empty());
  REQUIRE(few.tried.size() == 4);
  for (const sweep::Extent::Tried& each : few.tried) CHECK(each.why.find("lacks") != std::string::npos);
  sweep::ExtentRequest narrow = extent_request(Objective::longest_sequence, {"cluster.gpus_per_node=1"});
  narrow.layouts = space_of("space: {zero: [1]}");
  const sweep::Extent short_of = sweep::extent_that_fits(narrow);
  CHECK(short_of.size == 0);
  CHECK(short_of.tried.back().size == sweep::k_length_step);
}

TEST_CASE("A length that the model does not take is one that does not fit, and is told in its words") {
  const sweep::Extent extent = sweep::extent_that_fits({.loader = extent_files(),
                                                        .experiment = "gpt2-2048xpiz-daint-gpipe",
                                                        .layouts = space_of("space: {recompute: [none, full]}"),
                                                        .objective = Objective::longest_sequence});
  CHECK(extent.complete);
  CHECK(extent.size == 1024);  // its positions are learned
  CHECK(extent.tried.back().why.find("position") != std::string::npos);
}

TEST_CASE("An extent that is stopped says so") {
  sweep::ExtentRequest asked = extent_request(Objective::fewest_gpus, {});
  int times = 0;
  asked.stop = [&times] { return ++times > 3; };
  const sweep::Extent extent = sweep::extent_that_fits(asked);
  CHECK(!extent.complete);
}

TEST_CASE("Of a batch in tokens the lengths that divide it are looked at, and the longest that fits is found") {
  const sweep::Extent extent =
      sweep::extent_that_fits(extent_request(Objective::longest_sequence, {"training.global_batch=35 Mi tokens"}));
  REQUIRE(extent.size > 0);
  const std::int64_t batch = std::int64_t{35} << 20;
  for (const sweep::Extent::Tried& each : extent.tried) CHECK(batch % each.size == 0);
  for (std::int64_t longer = extent.size + sweep::k_length_step; longer < 2 * extent.size;
       longer += sweep::k_length_step)
    if (batch % longer == 0)
      CHECK(!layout_fits({"training.global_batch=35 Mi tokens", "training.seq_len=" + std::to_string(longer)}));
}

TEST_CASE(
    "The experiment's own length counts though it is no multiple, and sizes that no file describes are left out") {
  const sweep::Extent own = sweep::extent_that_fits({.loader = extent_files(),
                                                     .experiment = "llama3-8b-fsdp-dgx-h100",
                                                     .overrides = {"model=bert-large", "training.seq_len=512"},
                                                     .layouts = space_of("space: {tp: [1]}"),
                                                     .objective = Objective::longest_sequence});
  CHECK(own.size == 512);
  CHECK(own.overrides.empty());
  const sweep::Extent rack = sweep::extent_that_fits(
      extent_request(Objective::fewest_gpus, {"cluster=gb200-nvl72", "training.global_batch=72"}));
  REQUIRE(rack.size > 0);
  for (const sweep::Extent::Tried& each : rack.tried) CHECK((each.fits || each.why.find("lacks") != std::string::npos));
}

TEST_CASE("A layout that was found before the search was stopped is its answer") {
  sweep::ExtentRequest asked = extent_request(Objective::longest_sequence, {});
  std::size_t sizes = 0;
  asked.progress = [&sizes](std::size_t, std::size_t) { ++sizes; };
  asked.stop = [&sizes] { return sizes > 2; };
  const sweep::Extent extent = sweep::extent_that_fits(asked);
  CHECK(!extent.complete);
  REQUIRE(extent.size > 0);
  REQUIRE(!extent.answer.top.empty());
  CHECK(extent.answer.complete);
}
