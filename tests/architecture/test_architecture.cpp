// The tree keeps its rules, and each rule finds a fault that is planted for it.
#include <fstream>
#include <sstream>

#include "catch.h"
#include "planted_tree.h"
#include "rules.h"
#include "support/source_dir.h"

namespace fs = std::filesystem;
using namespace cairn::architecture;

namespace {

ModuleGraph graph_of(const std::string& text) {
  std::istringstream lines(text);
  return read_module_graph(lines);
}

// core; ir uses loopnest; plan uses ir; cost uses ir; cli uses plan and cost; what tests ir uses ir.
ModuleGraph small_graph() {
  return graph_of("core: \nloopnest: core\nir: loopnest\nplan: ir\ncost: ir\ncli: plan cost\ntests/ir: ir\n");
}

ModuleGraph real_graph() {
  std::ifstream lines(CAIRN_MODULE_GRAPH);
  REQUIRE(lines);
  return read_module_graph(lines);
}

const fs::path k_tree = cairn::testing::source_dir();

}  // namespace

TEST_CASE("the tree includes only what its modules may use") {
  const auto violations = check_includes(k_tree, real_graph());
  INFO(to_string(violations));
  CHECK(violations.empty());
}

TEST_CASE("the rooms of a module see one another in one direction") {
  const auto violations = check_rooms(k_tree);
  INFO(to_string(violations));
  CHECK(violations.empty());
}

TEST_CASE("the tree names no system below its border") {
  const auto violations = check_system_names(k_tree);
  INFO(to_string(violations));
  CHECK(violations.empty());
}

TEST_CASE("no library of the tree prints, exits or reads the environment") {
  const auto violations = check_conduct(k_tree);
  INFO(to_string(violations));
  CHECK(violations.empty());
}

TEST_CASE("the headers of the tree are clean") {
  const auto violations = check_headers(k_tree);
  INFO(to_string(violations));
  CHECK(violations.empty());
}

TEST_CASE("a kind of network is named by its own file alone") {
  const auto violations = check_kinds(k_tree);
  INFO(to_string(violations));
  CHECK(violations.empty());
}

TEST_CASE("the tree names no place of one machine") {
  const auto violations = check_places(k_tree);
  INFO(to_string(violations));
  CHECK(violations.empty());
}

TEST_CASE("the maps of the tree name files that exist") {
  const auto violations = check_maps(k_tree);
  INFO(to_string(violations));
  CHECK(violations.empty());
}

TEST_CASE("the module graph keeps structure and prices apart") {
  const ModuleGraph graph = real_graph();
  CHECK_FALSE(graph.at("plan").contains("cost"));
  CHECK_FALSE(graph.at("cost").contains("plan"));
  CHECK_FALSE(graph.at("predict").contains("models"));
  // Evaluators see the Program and not how it was made.
  for (const std::string evaluator : {"predict", "trace"}) CHECK_FALSE(graph.at(evaluator).contains("plan"));
  CHECK(graph.at("core") == std::set<std::string>{"core"});
  for (const std::string ground_floor : {"config", "numerics", "loopnest", "sim", "pipeline"})
    CHECK(graph.at(ground_floor) == std::set<std::string>{"core", ground_floor});
  for (const auto& [module, may_include] : graph)
    if (module != "cli" && !module.starts_with("tests/")) CHECK_FALSE(may_include.contains("cli"));
}

TEST_CASE("a module graph is closed over its users and must be declared bottom up") {
  CHECK(small_graph().at("cli") == std::set<std::string>{"core", "loopnest", "ir", "plan", "cost", "cli"});
  CHECK_THROWS_AS(graph_of("core: \nplan: ir\nir: core\n"), std::runtime_error);
}

TEST_CASE("a planted include is found") {
  const PlantedTree tree;
  tree.plant("src/plan/lower.cpp", "#include \"cairn/plan/mesh.h\"\n#include \"cairn/loopnest/domain.h\"\n");
  REQUIRE(check_includes(tree.root(), small_graph()).empty());

  SECTION("of a module out of reach, in a source") {
    tree.plant("src/plan/lower.cpp", "#include <vector>\n#  include \"cairn/cost/price.h\"\n");
    const auto violations = check_includes(tree.root(), small_graph());
    REQUIRE(violations.size() == 1);
    CHECK(violations[0].file == "src/plan/lower.cpp");
    CHECK(violations[0].line == 2);
  }
  SECTION("in a header") {
    tree.plant("include/cairn/ir/graph.h", "#include <cairn/plan/mesh.h>\n");
    CHECK(check_includes(tree.root(), small_graph()).size() == 1);
  }
  SECTION("in a test") {
    tree.plant("tests/ir/graph.cpp", "#include \"cairn/plan/mesh.h\"\n");
    CHECK(check_includes(tree.root(), small_graph()).size() == 1);
  }
  SECTION("of another module's private header") {
    tree.plant("src/plan/lower.cpp", "#include \"../cost/price.h\"\n");
    CHECK(check_includes(tree.root(), small_graph()).size() == 1);
  }
  SECTION("in a folder that is no module") {
    tree.plant("src/stray/a.cpp", "int a();\n");
    CHECK(check_includes(tree.root(), small_graph()).size() == 1);
  }
}

TEST_CASE("a planted circle of rooms is found") {
  const PlantedTree tree;
  tree.plant("src/plan/layer/a.cpp", "#include \"b.h\"\n#include \"state/c.h\"\n#include \"root.h\"\n");
  tree.plant("src/plan/state/c.h", "#include \"stages/d.h\"\n");
  tree.plant("src/plan/root.h", "#include \"layer/b.h\"\n");
  REQUIRE(check_rooms(tree.root()).empty());
  SECTION("in sources") { tree.plant("src/plan/stages/d.h", "#include \"layer/b.h\"\n"); }
  SECTION("by public headers") { tree.plant("include/cairn/plan/stages/d.h", "#include \"cairn/plan/layer/b.h\"\n"); }
  CHECK(check_rooms(tree.root()).size() == 3);  // layer, state and stages
}

TEST_CASE("a planted system name is found") {
  const PlantedTree tree;
  tree.plant("src/plan/a.cpp", "// Megatron is at home here\n");
  tree.plant("src/cost/a.cpp", "// zero bytes, nonzero; zero_extent, hgx\nint zero = 0, zero_points = 100;\n");
  REQUIRE(check_system_names(tree.root()).empty());
  for (const std::string text : {"// as in Megatron-LM", "int MEGATRON_sp;", "struct UlyssesPlan;", "auto chimera = 1;",
                                 "// DGX", "// ZeRO", "int zero_stage;", "int zero3;", "ZeroStage stage;"}) {
    tree.plant("src/cost/b.cpp", text + "\n");
    INFO(text);
    CHECK(check_system_names(tree.root()).size() == 1);
  }
}

TEST_CASE("planted misconduct of a library is found") {
  const PlantedTree tree;
  tree.plant("src/cli/run.cpp", "std::cout << std::getenv(\"X\"); exit(1);\n");
  tree.plant("src/main.cpp", "int main() { exit(2); }\n");
  tree.plant("src/cost/a.cpp",
             "// exit(1) and std::cout\n/* getenv(\"A\")\n stdout */ const char* text = \"stdout \\\" exit(1)\";\n"
             "auto raw = R\"(std::cerr << \"x\")\"; int million = 1'000'000; char quote = '\"'; loop.exit(3); int exit "
             "= 0;\n");
  REQUIRE(to_string(check_conduct(tree.root())) == "");
  for (const std::string text : {"std::cout << 1;", "fprintf(stderr, \"\");", "printf(\"\");", "std::exit(1);",
                                 "abort();", "auto* v = std::getenv(\"V\");", "fmt::print(\"{}\", 1);",
                                 "#include <iostream>", "int n = 1'000; puts(text);"}) {
    tree.plant("src/cost/b.cpp", "int b();\n" + text + "\n");
    INFO(text);
    const auto violations = check_conduct(tree.root());
    REQUIRE(violations.size() == 1);
    CHECK(violations[0].line == 2);
  }
}

TEST_CASE("planted faults of a header are found") {
  const PlantedTree tree;
  tree.plant("include/cairn/cost/a.h", "#include <nlohmann/json_fwd.hpp>\n// using namespace std\nusing std::swap;\n");
  tree.plant("src/cost/a.cpp", "#include <nlohmann/json.hpp>\nusing namespace std;\n");
  tree.plant("src/cli/a.cpp", "#include <CLI/CLI.hpp>\n#include <spdlog/spdlog.h>\n");
  REQUIRE(to_string(check_headers(tree.root())) == "");
  for (const std::string text :
       {"#include <nlohmann/json.hpp>", "#include \"yaml-cpp/yaml.h\"", "#include <CLI/CLI.hpp>",
        "#include <spdlog/spdlog.h>", "#include <mpi.h>", "using namespace std;"}) {
    tree.plant("include/cairn/cost/b.h", text + "\n");
    INFO(text);
    CHECK(check_headers(tree.root()).size() == 1);
  }
  tree.plant("include/cairn/cost/b.h", "\n");
  tree.plant("src/cost/b.cpp", "#include <spdlog/spdlog.h>\n");
  CHECK(check_headers(tree.root()).size() == 1);
}

TEST_CASE("a planted name of a kind of network is found") {
  const PlantedTree tree;
  tree.plant("src/topology/kinds.def",
             "// CAIRN_TOPOLOGY_KIND(function): a line\nCAIRN_TOPOLOGY_KIND(ring_of_rings)\n");
  tree.plant("src/topology/ring.cpp",
             "const char* name() { return \"ring-of-rings\"; }\nstd::unique_ptr<Kind> kinds::ring_of_rings() { }\n");
  tree.plant("src/cost/a.cpp",
             "// \"ring-of-rings\" and kinds::ring_of_rings()\nconst char* a = \"a ring-of-rings\";\n");
  REQUIRE(to_string(check_kinds(tree.root())) == "");
  SECTION("by its word") { tree.plant("src/cost/a.cpp", "\nif (kind == \"ring-of-rings\") {}\n"); }
  SECTION("by its function") { tree.plant("src/cost/a.cpp", "\nauto kind = kinds::ring_of_rings();\n"); }
  const auto violations = check_kinds(tree.root());
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].file == "src/cost/a.cpp");
  CHECK(violations[0].line == 2);
}

TEST_CASE("a kind of network that no file makes is found") {
  const PlantedTree tree;
  tree.plant("src/topology/kinds.def", "CAIRN_TOPOLOGY_KIND(ring)\n");
  tree.plant("src/topology/ring.cpp", "std::unique_ptr<Kind> kinds::ring() { return named(\"rnig\"); }\n");
  CHECK(check_kinds(tree.root()).size() == 1);
}

TEST_CASE("a planted place of one machine is found") {
  const PlantedTree tree;
  // Written in halves, lest this file break the rule it tests.
  const std::string home = std::string("/ho") + "me/someone/cairn";
  const std::string beside = std::string("../sha") + "red/data";
  tree.plant(".ci/run", "cd " + beside + "\n");
  tree.plant("README.md",
             "https://example.org/home/page, framework/wo"
             "rk/share, data split\n");
  REQUIRE(to_string(check_places(tree.root())) == "");
  SECTION("in a source") {
    tree.plant("src/core/a.cpp", "// see " + home + "\n");
    CHECK(check_places(tree.root()).size() == 1);
  }
  SECTION("at the top") {
    tree.plant("CMakeLists.txt", "set(data \"" + home + "\")\n");
    CHECK(check_places(tree.root()).size() == 1);
  }
  SECTION("beside the tree, outside .ci/run") {
    tree.plant("tools/test", "cd $root/" + beside + "\n");
    CHECK(check_places(tree.root()).size() == 1);
  }
}

TEST_CASE("a file that a map names and that is gone is found") {
  const PlantedTree tree;
  tree.plant("include/cairn/ir/a.h", "");
  tree.plant("src/plan/layer/b.h", "");
  tree.plant("include/README.md", "| `ir/a.h` (`Name`), `layer/b.h` | `cairn/<module>/<concept>.h`, `plan/layer`\n");
  REQUIRE(to_string(check_maps(tree.root())) == "");
  tree.plant("src/README.md", "first\n| `ir/a.h` | `ir/gone.h` |\n");
  const auto violations = check_maps(tree.root());
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].file == "src/README.md");
  CHECK(violations[0].line == 2);
}
