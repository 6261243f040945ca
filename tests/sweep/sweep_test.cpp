// Rows against runs of the same settings, errors row by row, and the same answer at any number of threads.
#include "cairn/sweep/sweep.h"

#include "catch.h"

#include "cairn/config/loader.h"
#include "support/shipped.h"

using namespace cairn;
using testing::shipped;

namespace {

const config::Loader& files() {
  static const config::Loader loader = shipped();
  return loader;
}
const std::string k_experiment = "llama3-8b-fsdp-dgx-h100";
const std::string k_batch = "training.global_batch=64";  // enough for eight nodes

sweep::Request request(const std::vector<std::string>& vary) {
  sweep::Request result{.loader = files(), .experiment = k_experiment, .overrides = {k_batch}};
  for (const std::string& each : vary) result.variations.push_back(sweep::read_variation(each));
  return result;
}
core::Picoseconds run_time(std::vector<std::string> overrides) {
  overrides.push_back(k_batch);
  experiment::Job job(experiment::load(files(), k_experiment, overrides), files());
  return job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction.time;
}
sweep::Layouts small_layouts() {
  core::Diagnostics problems;
  return {.space = config::parse_text("space: {tp: [1, 2], micro_batch: [1, 2], recompute: [none, full], zero: [1, 3]}",
                                      config::Syntax::yaml, "space.yaml", problems)};
}

}  // namespace

TEST_CASE("a row is the run of its settings") {
  const sweep::Answer answer = sweep::sweep(request({"training.seq_len=2048,4096", "cluster.nodes=1,2"}));
  REQUIRE(answer.rows.size() == 4);
  CHECK(answer.complete);
  CHECK(answer.rows[1].values == std::vector<std::string>{"2048", "2"});
  REQUIRE(answer.rows[1].point);
  CHECK(answer.rows[1].point->prediction.time == run_time({"training.seq_len=2048", "cluster.nodes=2"}));
  CHECK(answer.rows[1].point->gpus == 16);
  CHECK(answer.rows[2].point->prediction.time == run_time({"training.seq_len=4096", "cluster.nodes=1"}));
  REQUIRE(answer.elasticities);
  CHECK(answer.elasticities->time == run_time({}));
}

TEST_CASE("a row that cannot be planned costs that row alone") {
  const sweep::Answer answer = sweep::sweep(request({"strategy.tp=1,3,5,8"}));
  REQUIRE(answer.rows.size() == 4);
  CHECK(answer.rows[0].errors.empty());
  for (const std::size_t bad : {1U, 2U}) {
    REQUIRE(!answer.rows[bad].errors.empty());
    CHECK(!answer.rows[bad].point);
    CHECK(answer.rows[bad].errors.front().key_path == "strategy.tp");
    CHECK(answer.rows[bad].errors.front().file == "--vary");
  }
  CHECK(answer.rows[3].errors.empty());
  CHECK(answer.best);
}

TEST_CASE("a value that its key does not take costs that row alone") {
  const sweep::Answer answer = sweep::sweep(request({"training.precision=bf16,bf17"}));
  CHECK(answer.rows[0].point);
  REQUIRE(!answer.rows[1].errors.empty());
  CHECK(answer.rows[1].errors.front().file == "--vary");
}

TEST_CASE("dp that is written while the nodes vary is named with its remedy") {
  sweep::Request asked = request({"cluster.nodes=1,2"});
  asked.overrides = {k_batch, "strategy.dp=8"};
  const sweep::Answer answer = sweep::sweep(asked);
  CHECK(answer.rows[0].point);
  REQUIRE(!answer.rows[1].errors.empty());
  CHECK(answer.rows[1].errors.front().hint.find("--set strategy.dp=null") != std::string::npos);
  asked.overrides = {k_batch, "strategy.dp=8", "strategy.dp=null"};
  CHECK(sweep::sweep(asked).rows[1].point);
}

TEST_CASE("a key that no row can read is a wrong request") {
  CHECK_THROWS_AS(sweep::sweep(request({"cluster.nodez=1,2"})), core::ConfigurationError);
  CHECK_THROWS_AS(sweep::sweep(request({"cluster.inter.bandwidth=200,400"})), core::ConfigurationError);
}

TEST_CASE("any number of threads gives the same rows") {
  sweep::Request asked = request({"cluster.nodes=1..8*2", "strategy.tp=1,2,3"});
  const sweep::Answer one = sweep::sweep(asked);
  asked.threads = 4;
  const sweep::Answer four = sweep::sweep(asked);
  REQUIRE(one.rows.size() == four.rows.size());
  CHECK(one.best == four.best);
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    CHECK(one.rows[i].values == four.rows[i].values);
    REQUIRE(one.rows[i].point.has_value() == four.rows[i].point.has_value());
    if (one.rows[i].point) CHECK(one.rows[i].point->prediction.time == four.rows[i].point->prediction.time);
  }
}

TEST_CASE("a searched row has the best layout of its space") {
  sweep::Request asked = request({"cluster.nodes=1,2"});
  asked.layouts = small_layouts();
  const sweep::Answer answer = sweep::sweep(asked);
  for (const sweep::Row& row : answer.rows) {
    REQUIRE(row.point);
    REQUIRE(row.searched);
    CHECK(row.searched->complete);
    CHECK(row.searched->points == 16);
    CHECK(row.searched->lower_bound == row.point->prediction.time);
    std::vector<std::string> overrides{"cluster.nodes=" + row.values[0]};
    for (const auto& [key, value] : row.searched->settings) overrides.push_back("strategy." + key + "=" + value);
    CHECK(row.point->prediction.time == run_time(overrides));
  }
}

TEST_CASE("a row in which no layout fits says so") {
  sweep::Request asked = request({"cluster.nodes=1"});
  core::Diagnostics problems;
  asked.layouts = sweep::Layouts{
      .space = config::parse_text("space: {tp: [1], zero: [0]}", config::Syntax::yaml, "space.yaml", problems)};
  asked.overrides.emplace_back("strategy.recompute=none");
  const sweep::Answer answer = sweep::sweep(asked);
  CHECK(!answer.best);
  CHECK(!answer.rows[0].point);
  CHECK(answer.rows[0].errors.front().message.find("no layout of 1 fits") != std::string::npos);
  CHECK(answer.rows[0].errors.front().hint.find("lacks") != std::string::npos);
}

TEST_CASE("what is stopped keeps the rows that were done") {
  sweep::Request asked = request({"cluster.nodes=1..8"});
  std::size_t rows = 0;
  asked.progress = [&](std::size_t done, std::size_t) { rows = done; };
  asked.stop = [&] { return rows >= 3; };
  const sweep::Answer answer = sweep::sweep(asked);
  CHECK(answer.rows.size() == 3);
  CHECK(!answer.complete);
  CHECK(!answer.elasticities);
  CHECK(answer.rows[2].values.front() == "3");
}

// Twice the nodes at a fixed batch take more than half the time, so tokens of a GPU become fewer: the best row depends
// on what is asked for.
TEST_CASE("the best row is the objective's") {
  sweep::Request asked = request({"cluster.nodes=1..8*2"});
  CHECK(sweep::sweep(asked).best == 3);
  asked.objective = search::Objective::tokens_per_gpu;
  CHECK(sweep::sweep(asked).best == 0);
  asked.objective = search::Objective::cost;
  asked.overrides = {k_batch, "cluster.price.accelerator_hour=2 USD"};
  CHECK(sweep::sweep(asked).best == 0);
}

TEST_CASE(
    "where gradients take long, the shortest training is neither in the smallest nor in the most efficient batch") {
  sweep::Request asked = request({"training.global_batch=64,256,1024,4096,16384"});
  asked.overrides = {"cluster.nodes=8", "cluster.inter.bandwidth=10Gb/s", "training.framework=megatron",
                     "strategy.micro_batch=1", "strategy.zero=1"};
  asked.objective = search::Objective::time_to_train;
  const sweep::Answer answer = sweep::sweep(asked);
  REQUIRE(answer.best);
  CHECK(*answer.best > 0);
  CHECK(*answer.best + 1 < answer.rows.size());
  double tokens = 0.0, efficiency = 0.0;
  for (const sweep::Row& row : answer.rows) {
    REQUIRE(row.point);
    CHECK(row.point->training_tokens > tokens);  // larger batches take more tokens to the same loss
    tokens = row.point->training_tokens;
    const double rate = row.point->tokens / core::to_seconds(row.point->prediction.time);
    CHECK(rate > efficiency);
    efficiency = rate;
    CHECK(*row.point->worth(asked.objective) >= *answer.rows[*answer.best].point->worth(asked.objective));
  }
}
