// Spaces as files say them: values, numbers of points, and mistakes at their places.
#include "cairn/search/space.h"

#include "catch.h"

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"

using namespace cairn;
using search::Space;

namespace {

const search::Subject k_subject{.gpus = 16, .gpus_per_node = 8, .layers = 12, .batch = 8};

config::Node parsed(const std::string& text) {
  core::Diagnostics problems;
  config::Node node = config::parse_text(text, config::Syntax::yaml, "space.yaml", problems);
  problems.raise_if_errors();
  return node;
}
Space read(const std::string& text, const experiment::StrategyChoice& fixed = {}) {
  return search::read_space(parsed(text), fixed, k_subject);
}
std::vector<std::string> texts(const Space& space, std::string_view key) {
  std::vector<std::string> all;
  for (const search::Axis& axis : space.axes)
    if (axis.key == key)
      for (const search::AxisValue& value : axis.values) all.push_back(value.text);
  return all;
}
std::string problem_of(const std::string& text) {
  try {
    read(text);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return "";
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("values are lists, ranges, doublings and divisors") {
  const Space space = read("space: {tp: [1, 4], pp: 1..3, dp: 1..8*2, micro_batch: divisors, ep: divisors}");
  CHECK(texts(space, "tp") == Texts{"1", "4"});
  CHECK(texts(space, "pp") == Texts{"1", "2", "3"});
  CHECK(texts(space, "dp") == Texts{"1", "2", "4", "8"});
  CHECK(texts(space, "micro_batch") == Texts{"1", "2", "4", "8"});  // of the batch of 8
  CHECK(texts(space, "ep") == Texts{"1", "2", "4", "8", "16"});     // of 16 devices
  CHECK(space.points() == 2 * 3 * 4 * 4 * 5);
}

TEST_CASE("ranges in a map are spread out, and the values are read as an experiment's") {
  const Space space =
      read("space: {schedule: [1f1b, {kind: interleaved-1f1b, chunks: 2..4}], zero: {stage: 1, shard: 4}}");
  REQUIRE(space.axes.size() == 2);
  REQUIRE(space.axes[0].values.size() == 4);
  CHECK(space.axes[0].values[3].choice.schedule.kind == "interleaved-1f1b");
  CHECK(space.axes[0].values[3].choice.schedule.chunks == 4);
  CHECK(space.axes[1].values.front().choice.zero.shard == 4);
}

TEST_CASE("a key that is said twice counts once") { CHECK(read("space: {tp: [2, 2, 1..2]}").points() == 2); }

TEST_CASE("axes come level by level") {
  const Space space = read("space: {zero: [0, 1], tp: [1, 2], overlap.dp: [true, false], recompute: [none, full]}");
  REQUIRE(space.axes.size() == 4);
  CHECK(space.axes[0].key == "tp");
  CHECK(space.axes[1].key == "recompute");
  CHECK(space.axes[1].level == search::Level::layers);
  CHECK(space.axes[2].level == search::Level::exchanges);
  CHECK(space.axes[3].level == search::Level::exchanges);
  CHECK(space.below(1) == 8);
  CHECK(space.below(4) == 1);
}

TEST_CASE("more combinations than can be counted are refused") {
  // 4,096 values of five keys are 2^60; of six 2^72.
  const std::string five = "space: {tp: 1..4096, pp: 1..4096, dp: 1..4096, ep: 1..4096, etp: 1..4096";
  CHECK(read(five + "}").points() == std::uint64_t{1} << 60);
  CHECK(problem_of(five + ", micro_batch: 1..4096}").find("more than 9223372036854775808 combinations") !=
        std::string::npos);
}

TEST_CASE("what follows from degrees is not kept of the experiment, what is fixed is") {
  experiment::StrategyChoice fixed;
  fixed.dp = 4;
  fixed.micro_batches = 2;
  fixed.sequence_parallel = true;
  const Space kept = read("space: {tp: [1, 2]}", fixed);
  CHECK_FALSE(kept.fixed.dp.has_value());
  CHECK_FALSE(kept.fixed.micro_batches.has_value());
  CHECK(kept.fixed.sequence_parallel);
  const Space said = read("space: {tp: [1, 2]}\nfixed: {dp: 8, sequence_parallel: false}", fixed);
  CHECK(said.fixed.dp == 8);
  CHECK_FALSE(said.fixed.sequence_parallel);
}

TEST_CASE("conditions read what a strategy and its subject are") {
  experiment::StrategyChoice choice;
  choice.tp = 2;
  choice.pp = 4;
  choice.micro_batch = 2;
  choice.schedule = {.kind = "interleaved-1f1b", .chunks = 3};
  const auto values = search::values_of(choice, k_subject);
  const auto value = [&](std::string_view name) {
    for (std::size_t i = 0; i < search::k_variables; ++i)
      if (search::variables()[i].name == name) return values[i];
    FAIL("no such variable");
    return search::VariableValue{};
  };
  CHECK(value("dp").number == 2.0);             // 16 / (2 x 4)
  CHECK(value("micro_batches").number == 2.0);  // 8 / (2 x 2)
  CHECK(value("chunks").number == 3.0);
  CHECK(value("schedule").text == "interleaved-1f1b");
  CHECK(value("recompute").text == "none");
  CHECK(value("layers").number == 12.0);
}

TEST_CASE("mistakes have their place and a remedy") {
  CHECK(problem_of("space:\n  tpp: [1]") == "space.yaml:2:3: error: space.tpp: unknown key (did you mean 'tp'?)");
  CHECK(problem_of("space:\n  tp: [1, x]").starts_with("space.yaml:2:11: error: space.tp: "));
  CHECK(problem_of("space:\n  tp: 8..1") ==
        "space.yaml:2:7: error: space.tp: '8..1' is empty (write 1..16, or 1..16*2 to double)");
  CHECK(problem_of("space:\n  tp: 1..x").starts_with("space.yaml:2:7: error: space.tp: '1..x' is no range"));
  CHECK(problem_of("space:\n  tp: 1..1000000").starts_with("space.yaml:2:7: error: space.tp: "));
  CHECK(problem_of("space: {schedule: [1f1b, gpip]}") ==
        "space.yaml:1:26: error: space.schedule: no schedule is called 'gpip' (did you mean 'gpipe'?)");
  CHECK(problem_of("space: {}").starts_with("space.yaml:1:8: error: space: "));
  CHECK(problem_of("space: {tp: []}").starts_with("space.yaml:1:13: error: space.tp: no value"));
  CHECK(problem_of("fixed: {tp: 8}").find("space") != std::string::npos);
  CHECK(problem_of("space: {tp: [1]}\nconstraints:\n  - \"tp <= tq\"") ==
        "space.yaml:3:12: error: constraints[0]: 'tq' is no key of a strategy (did you mean 'tp'?)");
  CHECK(problem_of("space: {tp: [1]}\nobjective: speed").starts_with("space.yaml:2:12: error: objective: "));
  CHECK(problem_of("space: {tp: [1]}\nfixed: {tq: 8}").starts_with("space.yaml:2:9: error: fixed.tq: unknown key"));
  CHECK(problem_of("spaces: {tp: [1]}").find("space.yaml:1:1: error: spaces: unknown key") != std::string::npos);
}

TEST_CASE("the default space is a file like any other") {
  const Space space = read(search::default_space(k_subject));
  CHECK(texts(space, "tp") == Texts{"1", "2", "4", "8"});  // in a node
  CHECK(texts(space, "pp") == Texts{"1", "2", "4", "8"});  // at most 12 layers
  CHECK(texts(space, "schedule").size() == 1 + 5);         // chunks 2 to 6
  CHECK(texts(space, "zero") == Texts{"0", "1"});
  CHECK(texts(space, "ep").empty());
  CHECK(texts(space, "cp").empty());
  search::Subject lengthy = k_subject;
  lengthy.tokens = 32768;
  CHECK(texts(search::read_space(parsed(search::default_space(lengthy)), {}, lengthy), "cp") ==
        Texts{"1", "2", "4", "8"});  // 4,096 tokens each at the least
  search::Subject mixture = k_subject;
  mixture.experts = 6;
  mixture.zero = 3;
  const Space experts = search::read_space(parsed(search::default_space(mixture)), {}, mixture);
  CHECK(texts(experts, "ep") == Texts{"1", "2", "3", "6"});
  CHECK(texts(experts, "zero") == Texts{"0", "1", "2", "3"});
}
