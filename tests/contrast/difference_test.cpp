// Two experiments and their results, held against runs made by hand.
#include "cairn/contrast/difference.h"

#include <numeric>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/shipped.h"

namespace {

using namespace cairn;
using Catch::Matchers::Contains;
using contrast::Answer;
using contrast::Compared;
using core::Picoseconds;

const std::string k_small = R"(
model: {kind: transformer, layers: 24, hidden: 2048, heads: 16, ffn: 8192, gated_mlp: false, vocab: 51200, tied_embeddings: true}
cluster: dgx-a100
training: {seq_len: 2048, global_batch: 64, framework: megatron@2022}
strategy: {tp: 2, pp: 2}
)";

config::Node tree(const std::string& text, config::Syntax syntax = config::Syntax::yaml) {
  core::Diagnostics diagnostics;
  config::Node node = config::parse_text(text, syntax, "small.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}

Compared small(const std::vector<std::string>& overrides = {}) {
  return {.file = "small.yaml", .experiment = experiment::read(tree(k_small), overrides)};
}

Picoseconds step(const std::vector<std::string>& overrides = {}) {
  experiment::Job job(small(overrides).experiment, testing::shipped());
  return job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction.time;
}

Answer difference(const Compared& a, const Compared& b) {
  return contrast::difference({.loader = testing::shipped(), .a = a, .b = b});
}

Picoseconds sum_of(const std::vector<contrast::Share>& shares) {
  return std::accumulate(shares.begin(), shares.end(), Picoseconds{0},
                         [](Picoseconds sum, const contrast::Share& each) { return sum + each.time; });
}

}  // namespace

TEST_CASE("An experiment and itself do not differ") {
  const Answer none = difference(small(), small());
  CHECK(none.difference() == 0);
  CHECK(none.shares.empty());
  CHECK(none.unexplained == 0);
  for (const contrast::Part& part : none.parts) CHECK(part.difference() == 0);
}

TEST_CASE("One setting has the whole difference, which the parts add up to") {
  const Answer one = difference(small(), small({"strategy.recompute=full"}));
  CHECK(one.a.time == step());
  CHECK(one.b.time == step({"strategy.recompute=full"}));
  REQUIRE(one.shares.size() == 1);
  CHECK(one.shares.front().time == one.difference());
  REQUIRE(one.parts.front().term == "recompute");  // the largest
  CHECK(one.parts.front().a == 0);
  Picoseconds parts = 0, causes = 0;
  for (const contrast::Part& part : one.parts) parts += part.difference();
  for (const contrast::CausePart& part : *one.causes) causes += part.difference();
  CHECK(parts == one.difference());
  CHECK(causes == one.difference());
}

TEST_CASE("Two settings share by the mean of both orders of four runs") {
  const std::vector<std::string> full{"strategy.recompute=full"}, large{"strategy.micro_batch=2"};
  const Answer two = difference(small(), small({full.front(), large.front()}));
  REQUIRE(two.shares.size() == 2);
  CHECK(two.runs == 4);
  CHECK(two.all_orders);
  const Picoseconds none = step(), both = step({full.front(), large.front()});
  for (const contrast::Share& share : two.shares) {
    const bool is_full = share.settings.front().key == "strategy.recompute";
    const Picoseconds first = step(is_full ? full : large) - none;
    const Picoseconds second = both - step(is_full ? large : full);
    CHECK(std::abs(2 * share.time - first - second) <= 1);
  }
  CHECK(sum_of(two.shares) == both - none);
}

TEST_CASE("Degrees that only together fill the devices are one setting") {
  // On eight devices: tp 2 x pp 4 = 8 becomes tp 8 x pp 1. tp 8 with pp 4 needs 32.
  const Answer bound = difference(small({"strategy.pp=4"}), small({"strategy.tp=8", "strategy.pp=1"}));
  REQUIRE(bound.shares.size() == 1);
  CHECK(bound.shares.front().settings.size() == 2);
  REQUIRE(bound.shares.front().reasons.size() == 1);
  CHECK_THAT(bound.shares.front().reasons.front(), Contains("32"));
  CHECK(bound.shares.front().time == bound.difference());
}

TEST_CASE("What does not fit into memory has a time") {
  const Answer large =
      difference(small(), small({"strategy.tp=1", "strategy.pp=1", "strategy.micro_batch=8", "training.seq_len=4096"}));
  CHECK_FALSE(large.b.fits);
  CHECK(large.b.memory.device_peak > large.b.memory.capacity);
  CHECK(sum_of(large.shares) == large.difference());
}

TEST_CASE("More settings than six are changed in two orders") {
  const Answer many =
      difference(small(), small({"strategy.tp=4", "strategy.micro_batch=2", "strategy.recompute=full",
                                 "strategy.overlap.dp=false", "training.seq_len=1024", "training.global_batch=128",
                                 "strategy.zero=1", "strategy.sequence_parallel=true"}));
  CHECK_FALSE(many.all_orders);
  CHECK(many.shares.size() == 8);
  CHECK(many.runs == 16);
  CHECK(sum_of(many.shares) == many.difference());
}

TEST_CASE("A result document that this version gives is as good as its experiment") {
  const Compared a = small();
  Compared b = small({"strategy.recompute=full"});
  b.recorded = contrast::Recorded{.time = step({"strategy.recompute=full"})};
  const Answer same = difference(a, b);
  CHECK_FALSE(same.b.recorded);
  CHECK(same.notes.empty());
  CHECK(same.causes.has_value());
}

TEST_CASE("The time of another version's document is compared, and what no setting explains is said") {
  Compared b = small({"strategy.recompute=full"});
  contrast::Terms terms{};
  terms.front() = 7'000'000'000'000;
  b.recorded = contrast::Recorded{.time = 7'000'000'000'000, .terms = terms};
  b.file = "old.json";
  const Answer old = difference(small(), b);
  CHECK(old.b.recorded);
  CHECK(old.b.time == 7'000'000'000'000);
  CHECK(old.difference() == 7'000'000'000'000 - step());
  CHECK_FALSE(old.causes.has_value());
  const Picoseconds now = step({"strategy.recompute=full"}) - step();
  CHECK(sum_of(old.shares) == now);
  CHECK(old.unexplained == old.difference() - now);
  REQUIRE(old.notes.size() == 1);
  CHECK_THAT(old.notes.front(), Contains("old.json") && Contains("7 s") && Contains("rounded to whole picoseconds"));
  Picoseconds parts = 0;
  for (const contrast::Part& part : old.parts) parts += part.difference();
  CHECK(parts == old.difference());
}

TEST_CASE("What a document says is read in whole picoseconds") {
  const auto told = contrast::recorded(tree(R"({"schema": "cairn.run/1", "experiment": {}, "result":
    {"iteration_time_s": 1.000000000001, "analytic": {"iteration_time_s": 0.5},
     "time_s": {"compute": 0.9, "bubble": 0.1, "new_term": 5}}})",
                                            config::Syntax::json));
  REQUIRE(told);
  CHECK(told->time == 1'000'000'000'001);
  CHECK(told->analytic == 500'000'000'000);
  CHECK(told->terms[0] == 900'000'000'000);
  CHECK(told->terms.back() == 1);  // what the terms lack
  CHECK_FALSE(contrast::recorded(tree(k_small)));
}

TEST_CASE("Documents that are none are refused in words") {
  const auto wrong = [](const std::string& text) {
    return test::complaints([&] { (void)contrast::recorded(tree(text, config::Syntax::json)); });
  };
  CHECK_THAT(wrong(R"({"schema": "cairn.search/1"})"), Contains("a document of kind 'cairn.search/1'"));
  CHECK_THAT(wrong(R"({"schema": "cairn.run/1"})"), Contains("experiment: is missing"));
  CHECK_THAT(wrong(R"({"schema": "cairn.run/1", "experiment": {}, "result": {}})"),
             Contains("result.iteration_time_s: is missing"));
  for (const char* time : {"-1", "1e300", "\"1\"", "null", "{}", "1e9"})
    CHECK_THAT(wrong(std::string(R"({"schema": "cairn.run/1", "experiment": {}, "result": {"iteration_time_s": )") +
                     time + "}}"),
               Contains("is no time of a step in seconds"));
}
