// What a library offers has a caller in it, or is named here with its reason.
#include <algorithm>
#include <iterator>

#include "callers.h"
#include "catch.h"
#include "planted_tree.h"
#include "support/source_dir.h"

using namespace cairn::architecture;

namespace {

struct Offered {
  std::string_view function;
  std::string_view why;
};
constexpr Offered k_offered[] = {
    {"bytes_per_parameter", "sizes a model by its recipe, without a plan"},
    {"split_rules", "the dimensions that are split, without the plan that splits them"},
    {"gemm_time", "one price, without a pricer that is kept"},
    {"load_model", "by name, for jobs that are made from values"},
    {"load_software", "the same"},
    {"topological_order", "finds the cycle of a graph that a builder got wrong"},
    {"points_unguarded", "a domain's size without its guards"},
    {"parse_game", "reads what name() of a game writes"},
    {"write_cdag", "writes what read_cdag reads"},
    {"write_trace", "writes what read_trace reads"},
    {"write_binary_trace", "the same, in binary"},
    {"max_in_degree", "of a graph: a game needs room for one vertex and so many operands"},
    {"relabelled", "changes of a graph that no bound may depend on"},
    {"renumbered", "the same"},
    {"solve_literally", "the definition of the game, which the solver is held against"},
    {"least_vertical_words", "the same, of the parallel game"},
    {"wavefront_cut", "a bound at one vertex, of which wavefront bounds are the largest"},
    {"vertical_total", "words over all processors of a play"},
    {"find_fault", "whether a list of messages keeps its promise, for algorithms that are made elsewhere"},
    {"received_by", "the other half of sent_by"},
    {"sent_across", "what an algorithm asks of the network between domains"},
    {"best_real_grid", "the shape of least exchange before it is rounded to whole ranks"},
    {"ring_block_tokens", "where a ring's messages hide behind its tiles, from two figures of a machine"},
    {"ring_sequence_tokens", "the same"},
    {"other_scheme", "by name, as scheme() does"},
    {"share_in_micro_batches", "a batch over several micro-batches, for programs that own the loop over them"},
    {"breadth_first_order", "the order that PaSE's own is measured against"},
    {"can_import_onnx", "for programs that ask before they read a file"},
    {"boxing_bytes", "published volumes between the same devices, which prices follow and need not know"},
    {"published_bandwidth", "the published figure of tensor-parallel grids, and how it counts"},
    {"boxing_bytes_apart", "published volumes between disjoint devices, which no strategy here uses"},
    {"fastest_strategies_by_units", "the published search for them, which the exact one is compared with"},
    {"untagged", "a bound on a graph without labels, from one with them"},
};

}  // namespace

// Two that nobody calls, and none of the rest.
TEST_CASE("a planted function without a caller is found") {
  const PlantedTree tree;
  tree.plant("include/cairn/cost/a.h",
             "int used(int x);  // unused()\nint unused(const int& x);\nstruct A {\n  int member() const { return "
             "used(1); }\n};\n"
             "int of_statement();\nvoid started();\n");
  tree.plant("src/cost/a.cpp",
             "int used(int x) { return x; }\nint unused(const int& x) {\n  return of_statement();\n}\n"
             "int of_statement() { if (used(2)) { started(); }\n  return 0; }\nvoid started() {}\n");
  CHECK(to_string(functions_without_caller(tree.root())) ==
        "include/cairn/cost/a.h:4: member\ninclude/cairn/cost/a.h:2: unused\n");
}

TEST_CASE("every function of the libraries has a caller in them, or a reason to be offered") {
  std::vector<Violation> without = functions_without_caller(cairn::testing::source_dir());
  const auto offered = [](const Violation& each) {
    return std::any_of(std::begin(k_offered), std::end(k_offered),
                       [&](const Offered& one) { return one.function == each.what; });
  };
  for (const Offered& one : k_offered) {
    INFO(one.function << " has a caller, or is gone: take it from this table");
    CHECK(
        std::any_of(without.begin(), without.end(), [&](const Violation& each) { return each.what == one.function; }));
  }
  std::erase_if(without, offered);
  INFO(to_string(without));
  CHECK(without.empty());
}
