// graph: a network given link by link in a file (cairn/topology/graph.h), as a level of a machine or alone.
#include <filesystem>

#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "cairn/topology/composite.h"
#include "cairn/topology/graph.h"
#include "kinds.h"

namespace cairn::topology {
namespace {

// Up to so many endpoints the bisection is the least over every halving.
constexpr std::int64_t k_exact_bisection = 12;

class GraphKind final : public KindOf<GraphKind> {
 public:
  std::string_view name() const override { return "graph"; }
  Parts parts() const override { return Parts::as_given; }
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override { return {}; }
  std::unique_ptr<Topology> build(const LevelInput& level) const override;
  std::vector<std::string> assumptions(std::string_view name, const Topology& network, bool only) const override {
    std::vector<std::string> all;
    if (!only) all.push_back(std::string(name) + ": latencies are those of the graph's links");
    if (network.endpoints() > k_exact_bisection)
      all.emplace_back("the bisection of a graph this large is the best cut found; a narrower one may exist");
    return all;
  }

 private:
  void describe_own(config::Fields& fields) override {
    fields.text("file", file_, {.doc = "the file that holds it", .required = true});
  }

  std::string file_;
};

std::unique_ptr<Topology> GraphKind::build(const LevelInput& level) const {
  core::Diagnostics diagnostics;
  GraphFile file;
  const std::string key = config::join_path(level.key_path, "file");
  const std::filesystem::path path = level.loader.find(file_, "topologies", level.place, key, diagnostics);
  const config::Node node = path.empty() ? config::Node{} : level.loader.load(path, diagnostics, "topologies");
  diagnostics.raise_if_errors();
  const config::Origins origins = config::read(node, file, diagnostics);
  diagnostics.raise_if_errors();
  try {
    auto graph = make_graph(file);
    if (graph->endpoints() != level.endpoints())
      refuse(level, "file",
             "the graph has " + std::to_string(graph->endpoints()) + " endpoints, the level " +
                 std::to_string(level.endpoints()),
             "make them equal");
    return graph;
  } catch (const core::ConfigurationError& error) {
    for (const core::Diagnostic& found : error.diagnostics())
      diagnostics.add(found.key_path == key ? found : origins.error(found.key_path, found.message, found.hint));
  }
  diagnostics.raise_if_errors();
  return nullptr;
}

}  // namespace

std::unique_ptr<Kind> kinds::graph() { return std::make_unique<GraphKind>(); }

std::unique_ptr<Composite> make_machine(const GraphFile& file) {
  std::vector<CompositeLevel> levels(1);
  CompositeLevel& level = levels.front();
  level.shape = Shape(kinds::graph());
  level.name = level.shape->name();
  level.network = make_graph(file);
  level.domain = level.network->endpoints();
  level.port_bandwidth = level.network->limits().injection;
  return std::make_unique<Composite>(std::move(levels));
}

}  // namespace cairn::topology
