#include "pebble/properties.h"
#include "pebble/games.h"

#include "cairn/pebble/generators.h"
#include "catch.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::pebble;
using cairn::pebble::testing::Fault;
using cairn::pebble::testing::Properties;

namespace {

int violations(Fault fault, int graphs) {
  core::Random random(99);
  int count = 0;
  for (int i = 0; i < graphs; ++i) count += Properties(fault).check(random, 9) ? 1 : 0;
  return count;
}
bool found(Fault fault, int graphs) {
  core::Random random(99);
  for (int i = 0; i < graphs; ++i)
    if (Properties(fault).check(random, 9)) return true;
  return false;
}

}  // namespace

TEST_CASE("properties: random graphs") {
  core::Random random(31);
  for (std::size_t i = 0; i < 2000 / test::k_share; ++i) {
    const auto wrong = Properties().check(random, 9);
    if (wrong) FAIL("graph " << i << ": " << *wrong);
  }
}

TEST_CASE("properties: planted faults are found") {
  constexpr int k_graphs = 48 / static_cast<int>(test::k_share);
  CHECK(violations(Fault::lower_doubled, k_graphs) > k_graphs / 2);
  CHECK(violations(Fault::upper_halved, k_graphs) > k_graphs / 2);
  CHECK(violations(Fault::optimum_halved, k_graphs) > k_graphs / 2);
  CHECK(found(Fault::wavefront_under_hong_kung, 2000));
}

TEST_CASE("properties: tagging fails under Hong-Kung rules, as published") {
  // 0 and 1 in; 1 -> 2, 0 -> 3, {2, 3} -> 4, {0, 4} -> 5; 3 and 5 out.
  CdagBuilder builder;
  const Vertex v0 = builder.input(), v1 = builder.input();
  const Vertex v2 = builder.compute({v1}), v3 = builder.compute({v0});
  const Vertex v4 = builder.compute({v2, v3}), v5 = builder.compute({v0, v4});
  builder.label_output(v3);
  builder.label_output(v5);
  const Cdag tagged = builder.build();
  const Cdag free =
      relabelled(tagged, {.add_inputs = {}, .remove_inputs = {v0, v1}, .add_outputs = {}, .remove_outputs = {}});
  CHECK(solve_exactly(tagged, k_hk, 3).cost->total() == 5);
  CHECK(solve_exactly(free, k_hk, 3).cost->total() == 2);  // below 5 - 2
  CHECK(solve_exactly(free, k_rbw, 3).cost->total() >= solve_exactly(tagged, k_rbw, 3).cost->total() - 2);
  // Sliding, one word: 0 -> 1 -> {2, 3}; 0 in; 1, 2, 3 out.
  CdagBuilder small;
  const Vertex s0 = small.input();
  const Vertex s1 = small.compute({s0});
  for (Vertex v : {s1, small.compute({s1}), small.compute({s1})}) small.label_output(v);
  const Cdag small_tagged = small.build();
  const Cdag small_free =
      relabelled(small_tagged, {.add_inputs = {}, .remove_inputs = {s0}, .add_outputs = {}, .remove_outputs = {}});
  CHECK(solve_exactly(small_tagged, k_hk_slide, 1).cost->total() == 5);
  CHECK(solve_exactly(small_free, k_hk_slide, 1).cost->total() == 3);
  // Hence untagged() gives up the Hong-Kung games.
  LowerBound bound = compulsory_bound(small_tagged, Rules::hong_kung);
  CHECK(bound.games.contains(k_hk_slide));
  CHECK_FALSE(untagged(bound, 1, 0).games.contains(k_hk_slide));
}

TEST_CASE("properties: a fused chain costs less than its products one by one") {
  // M=2, K=1, N=2, L=1, S=6: each product alone 8, together 8 = 16 - 2 * 4 words of the intermediate.
  CHECK(solve_exactly(matmul_graph({.m = 2, .n = 2, .k = 1}), k_rbw, 6).cost->total() == 8);
  CHECK(solve_exactly(matmul_graph({.m = 2, .n = 1, .k = 2}), k_rbw, 6).cost->total() == 8);
  CHECK(solve_exactly(matmul_chain_graph(2, 1, 2, 1), k_rbw, 6).cost->total() == 8);
}

TEST_CASE("properties: combining bounds takes the meet of where they hold") {
  const Cdag graph = softmax_graph(6);
  const LowerBound everywhere = compulsory_bound(graph, Rules::hong_kung), white = wavefront_bound(graph, 4);
  const LowerBound both = larger(everywhere, white);
  CHECK(both.words == white.words);
  CHECK(both.games == GameSet::with_rules(Rules::red_blue_white));
  const LowerBound list[] = {everywhere, white};
  CHECK(best_for(list, k_hk).words == everywhere.words);
  CHECK(best_for(list, k_rbw).words == white.words);
  CHECK(sum_of_disjoint_parts(list).games == GameSet::with_rules(Rules::red_blue_white));
}
