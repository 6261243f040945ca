// Ranks that share sequences, in a whole step: what they exchange is what their scheme lists, and every law of a step holds.
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "cairn/sequence/scheme.h"
#include "catch.h"
#include "experiment/first_error.h"
#include "support/complaints.h"
#include "support/shipped.h"
#include "support/small_experiment.h"

namespace {

using namespace cairn;
using cairn::testing::first_error;
using cairn::testing::shipped;
using cairn::testing::small_experiment;
using Catch::Matchers::Contains;

// 24 layers, 16 heads of 128, 64 sequences of 2048 tokens, all eight ranks on one of them at a time.
experiment::LoadedExperiment shared(std::vector<std::string> overrides) {
  std::vector<std::string> all{"strategy.tp=1", "strategy.pp=1", "strategy.cp=8", "training.kernels.attention=flash2"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return small_experiment(all);
}

double sent_by_cp(const experiment::LoadedExperiment& asked) {
  experiment::Job job(asked, shipped());
  return job.run(predict::Engine::analytic).prediction.volumes[static_cast<std::size_t>(program::Axis::context)].sent;
}

}  // namespace

TEST_CASE("ranks of cp send what their scheme says, once a layer and micro-batch") {
  constexpr double k_times = 24.0 * 64.0;
  constexpr double k_rank = 2048.0 / 8.0 * 2048.0 * 2.0;  // bytes of one of Q, K, V, O of a rank's own tokens
  // Keys and values pass 7 ranks; backward again, and both gradients go 8 hops.
  CHECK(sent_by_cp(shared({"strategy.attention=zigzag"})) == Approx(k_times * k_rank * (2 * 7 + 2 * 7 + 2 * 8)));
  // Q, K, V and O, seven eighths of each, and as much backward.
  CHECK(sent_by_cp(shared({"strategy.attention=ulysses"})) == Approx(k_times * k_rank * 2 * 4 * 7.0 / 8.0));
  // Gathered forward and backward, their gradients reduced.
  CHECK(sent_by_cp(shared({"strategy.attention=megatron-all-gather"})) == Approx(k_times * k_rank * 2 * 3 * 7));
  // Attention that backward recomputes is shared a second time.
  CHECK(sent_by_cp(shared({"strategy.attention=zigzag", "strategy.recompute=attention"})) ==
        Approx(k_times * k_rank * (2 * 7 + 2 * 7 + 2 * 7 + 2 * 8)));
}

TEST_CASE("every scheme makes a step: both engines agree, the parts add up, bounds hold") {
  experiment::Job whole(small_experiment({"training.kernels.attention=flash2"}), shipped());
  const double flops = whole.run(predict::Engine::analytic).prediction.model_flops;
  for (const sequence::Scheme& scheme : sequence::schemes()) {
    INFO(scheme.name);
    experiment::Job job(shared({"strategy.attention=" + std::string(scheme.name)}), shipped());
    const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
    CHECK(prediction.event->makespan.time == prediction.analytic.time);
    CHECK(prediction.breakdown.total() == prediction.time);
    CHECK(prediction.breakdown.other == 0);
    CHECK(*prediction.plan_bounds.best_s() <= core::to_seconds(prediction.time));
    CHECK(*prediction.problem_bounds.best_s() <= core::to_seconds(prediction.time));
    CHECK(prediction.model_flops == Approx(flops));
  }
}

TEST_CASE("what was left open is said, and runs again as it is") {
  const experiment::Job job(shared({"strategy.attention=usp"}), shipped());
  const sequence::Grid& grid = job.strategy().attention.grid;
  CHECK(grid.head_ranks == 8);  // as many as split 16 heads
  const experiment::Experiment written = job.written_out(experiment::Naming::by_name);
  REQUIRE(written.strategy.attention.has_value());
  CHECK(written.strategy.attention->scheme == "usp");
  CHECK(written.strategy.attention->heads == 8);
  CHECK(experiment::Job(shared({}), shipped()).strategy().attention.scheme->name == "megatron-p2p");
}

TEST_CASE("schemes that share something else than attention in training say what they are for") {
  for (const char* form : {"strategy.attention=tree-attention", "strategy.attention={scheme: tree-attention}"}) {
    const std::string said = test::complaints([&] { shared({form}); });
    CHECK_THAT(said, Contains("strategy.attention"));
    CHECK_THAT(said, Contains("'tree-attention' is for decoding"));
    CHECK_THAT(said, Contains("zigzag"));
  }
  CHECK_THAT(test::complaints([] { shared({"strategy.attention=oak-attention"}); }), Contains("unknown value"));
}

TEST_CASE("sequences that cannot be shared so are refused by name") {
  const auto check = [](const std::vector<std::string>& overrides, const std::string& key, const std::string& message) {
    const core::Diagnostic error = first_error(shared(overrides));
    CHECK_THAT(error.key_path, Contains(key));
    CHECK_THAT(error.message, Contains(message));
    CHECK_FALSE(error.hint.empty());
  };
  check({"training.seq_len=2044"}, "strategy.cp", "does not divide the 2044 tokens");
  check({"strategy.attention=ulysses", "model.heads=4", "model.head_dim=128"}, "strategy.attention", "heads");
  check({"strategy.attention={scheme: attention2d, grid: [3, 3]}"}, "strategy.attention", "no such grid of 8");
  check({"training.kernels.attention=unfused"}, "strategy.cp", "needs tokens of other ranks");
  check({"strategy.overlap.tp={kind: iso}", "strategy.tp=2", "strategy.cp=4"}, "strategy.overlap.tp", "halves");
}
