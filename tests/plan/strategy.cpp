#include "cairn/plan/lowering.h"
#include "catch.h"

using namespace cairn;
using program::Axis;

TEST_CASE("The rules a strategy stands for") {
  plan::Strategy s;
  s.tensor = 8;
  REQUIRE(plan::split_rules(s).front().dims == std::vector<std::string>{"ways", "kv_heads", "state_groups", "ffn"});
  s.sequence_parallel = true;
  REQUIRE(plan::split_rules(s).front().dims ==
          std::vector<std::string>{"ways", "kv_heads", "state_groups", "ffn", "sequence"});
  s.vocab_parallel = true;
  REQUIRE(plan::split_rules(s).front().dims ==
          std::vector<std::string>{"ways", "kv_heads", "state_groups", "ffn", "vocab", "sequence"});
}

TEST_CASE("A strategy's degrees and order make its mesh") {
  plan::Strategy s;
  s.tensor = 2;
  s.data = 3;
  s.pipeline = 4;
  REQUIRE(plan::mesh(s).ranks() == 24);
  REQUIRE(plan::mesh(s).group(Axis::pipeline).stride == 6);
  s.order = {Axis::pipeline, Axis::tensor, Axis::context, Axis::data};
  REQUIRE(plan::mesh(s).group(Axis::tensor).stride == 4);
}
