// What --vary means: values by hand, rows in the order of the product, and everything that is refused.
#include "cairn/sweep/variation.h"

#include "catch.h"

#include "cairn/core/diagnostics.h"

using namespace cairn;
using Values = std::vector<std::string>;

namespace {

Values values(const std::string& list) { return sweep::read_variation("key=" + list).values; }

// What is said of a text that is refused; empty: it is not.
std::string refusal(const std::string& text) {
  try {
    sweep::read_variation(text);
  } catch (const core::ConfigurationError& error) {
    return error.diagnostics().front().to_string();
  }
  return {};
}

bool refused(const std::string& text, const std::string& words) {
  INFO(text << ": " << refusal(text));
  return refusal(text).starts_with("error: --vary: ") && refusal(text).find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("lists, ranges and doublings of counts") {
  CHECK(values("1,2,8") == Values{"1", "2", "8"});
  CHECK(values("1..4") == Values{"1", "2", "3", "4"});
  CHECK(values("0..2") == Values{"0", "1", "2"});
  CHECK(values("7..7") == Values{"7"});
  CHECK(values("8..4096*2").size() == 10);
  CHECK(values("8..100*2") == Values{"8", "16", "32", "64"});
  CHECK(values("1..27*3") == Values{"1", "3", "9", "27"});
  CHECK(values("1..2, 16..32*2 ,64") == Values{"1", "2", "16", "32", "64"});
}

TEST_CASE("ranges of quantities and of numbers grow by a factor") {
  CHECK(values("100Gb/s..400Gb/s*2") == Values{"100 Gb/s", "200 Gb/s", "400 Gb/s"});
  CHECK(values("100 Gb/s .. 400 Gb/s * 2") == Values{"100 Gb/s", "200 Gb/s", "400 Gb/s"});
  CHECK(values("0.5us..2us*2") == Values{"0.5 us", "1 us", "2 us"});
  CHECK(values("0.25..1*2") == Values{"0.25", "0.5", "1"});
  CHECK(values("1..4*1.5") == Values{"1", "1.5", "2.25", "3.375"});
}

TEST_CASE("words, lists within lists and paths are values") {
  CHECK(values("bf16,fp8-delayed") == Values{"bf16", "fp8-delayed"});
  CHECK(values("[7, 8],[8, 7]") == Values{"[7, 8]", "[8, 7]"});
  CHECK(values("1f1b,{kind: interleaved-1f1b, chunks: 2}") == Values{"1f1b", "{kind: interleaved-1f1b, chunks: 2}"});
  CHECK(values("'4 Mi tokens, about'") == Values{"'4 Mi tokens, about'"});
  CHECK(values("../models/own.yaml") == Values{"../models/own.yaml"});
  CHECK(sweep::read_variation(" cluster.nodes = 2").key == "cluster.nodes");
}

TEST_CASE("what is no variation is refused in words") {
  CHECK(refused("cluster.nodes", "no '='"));
  CHECK(refused("=1,2", "the key is missing"));
  CHECK(refused("cluster.nodes=", "the values are missing"));
  CHECK(refused("cluster.nodes= ", "the values are missing"));
  CHECK(refused("cluster.nodes=8,,16", "between commas"));
  CHECK(refused("cluster.nodes=8,", "between commas"));
  CHECK(refused("cluster.nodes=8,16,8", "'8' stands there twice"));
  CHECK(refused("cluster.nodes=1..4,2", "'2' stands there twice"));
  CHECK(refused("cluster.nodes=8..1", "runs downwards"));
  CHECK(refused("cluster.nodes=8..1*2", "runs downwards"));
  CHECK(refused("cluster.nodes=8..64*1", "does not grow"));
  CHECK(refused("cluster.nodes=8..64*0.5", "does not grow"));
  CHECK(refused("cluster.nodes=8..64*", "no number"));
  CHECK(refused("cluster.nodes=8..64*x", "no number"));
  CHECK(refused("cluster.nodes=8..", "two numbers"));
  CHECK(refused("cluster.nodes=8..many", "two numbers"));
  CHECK(refused("cluster.nodes=0..8*2", "a multiple of 0"));
  CHECK(refused("cluster.nodes=1..1000000000000", "more than 10000 values"));
  CHECK(refused("cluster.inter.bandwidth=100Gb/s..400Gb/s", "give a factor"));
  CHECK(refused("cluster.inter.bandwidth=100Gb/s..400GB/s*2", "'Gb/s' and 'GB/s'"));
  CHECK(refused("cluster.inter.bandwidth=400Gb/s..100Gb/s*2", "runs downwards"));
}

TEST_CASE("the ends of 64 bits end a range") {
  CHECK(values("9223372036854775806..9223372036854775807") == Values{"9223372036854775806", "9223372036854775807"});
  CHECK(values("4611686018427387904..9223372036854775807*2") == Values{"4611686018427387904"});
  CHECK(!refusal("key=1..99999999999999999999").empty());
}

TEST_CASE("rows are the product, the first variation slowest") {
  const std::vector<sweep::Variation> two{sweep::read_variation("a=1,2"), sweep::read_variation("b=x,y,z")};
  REQUIRE(sweep::count_rows(two) == 6);
  std::vector<Values> rows;
  for (std::size_t row = 0; row < 6; ++row) rows.push_back(sweep::values_of(two, row));
  CHECK(rows == std::vector<Values>{{"1", "x"}, {"1", "y"}, {"1", "z"}, {"2", "x"}, {"2", "y"}, {"2", "z"}});
}

TEST_CASE("too many rows and a key that varies twice are refused before any work") {
  const sweep::Variation hundred = sweep::read_variation("a=1..100");
  const sweep::Variation more = sweep::read_variation("b=1..101");
  CHECK(sweep::count_rows(std::vector{hundred, sweep::read_variation("b=1..100")}) == 10'000);
  CHECK_THROWS_AS(sweep::count_rows(std::vector{hundred, more}), core::ConfigurationError);
  CHECK_THROWS_AS(sweep::count_rows(std::vector{hundred, hundred}), core::ConfigurationError);
}
