#include "answers.h"

#include "cairn/config/read.h"
#include "cairn/core/assert.h"
#include "cairn/cost/calibration.h"
#include "cairn/report/topology.h"
#include "outcome.h"

namespace cairn::laws {
namespace {

constexpr const char* k_fabrics_file = "calibration/fabrics/config.json";

constexpr const char* k_pair = R"(
version: 1
name: a pair
endpoints: [a, b]
links:
  - {from: a, to: b, bandwidth: 25 GB/s, latency: 1 us}
)";
constexpr const char* k_second_cable = "  - {from: a, to: b, bandwidth: 50 GB/s, latency: 2 us}\n";

// Of memory-bound kernels.
constexpr const char* k_memory_fit = R"({"rows": 10, "in_sample": {"median": 0.1, "p90": 0.2, "bias": 0.0},
  "residuals": {"p10": -0.1, "p50": 0.0, "p90": 0.1}, "ranges": {"bytes": {"from": 1, "to": 1000}}})";

report::Tool tool() { return {.version = "1", .build = "test"}; }

config::Node parsed(const Json& block) {
  core::Diagnostics diagnostics;
  config::Node node = config::parse_text(block.dump(), config::Syntax::json, "drawn.json", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}

Json shipped_calibration(const config::Loader& loader, const std::string& name) {
  core::Diagnostics diagnostics;
  const config::Node node = loader.load_named(name, "calibration", diagnostics);
  diagnostics.raise_if_errors();
  return Json::parse(config::to_json(node, -1));
}

// With keys that no shipped file has.
Json calibration_with_all(const config::Loader& loader, const std::string& name) {
  Json calibration = shipped_calibration(loader, name);
  calibration["memory_bound"]["fit"] = Json::parse(k_memory_fit);
  for (Json& set : calibration["gemm"]) set["cache_speed"] = cost::GemmParameters{}.cache_speed;
  return calibration;
}

// The calibration's name, whichever way it is given.
std::string calibration_of(const Json& experiment, const Shelf& shelf) {
  if (experiment.contains("calibration")) return experiment["calibration"];
  const Json& cluster = experiment["cluster"];
  const bool block = cluster.is_object() && !cluster.contains("file");
  if (!block) return shelf.clusters.at(cluster.is_object() ? cluster["file"] : cluster).accelerator;
  const Json& accelerator = cluster["accelerator"];
  return accelerator.is_object() ? accelerator["file"] : accelerator;
}

std::string file_of(const std::string& framework) { return "frameworks/" + framework.substr(0, framework.find('@')); }

// The document without the experiment and the files that it repeats. Parsing it would take as long as the run.
std::string without_repetition(const std::string& document) {
  const std::size_t result = document.find(R"(,"result":{)"), sources = document.find(R"(,"sources":[)", result),
                    assumptions = document.find(R"(,"assumptions":[)", sources);
  CAIRN_ASSERT(assumptions != std::string::npos);
  return document.substr(result, sources - result) + document.substr(assumptions);
}

std::string topology_of(const config::Loader& loader, const config::Node& node) {
  core::Diagnostics diagnostics;
  try {
    topology::Network network = hardware::read_network(loader, node, diagnostics);
    if (diagnostics.has_errors()) return "";
    return report::json(report::describe(std::move(network), topology::PriceList{}), tool(), -1);
  } catch (const core::ConfigurationError&) {
    return "";
  }
}

}  // namespace

// The shelf, with files of another content over it.
class Answers::Over {
 public:
  Over(const Answers& answers, const Json& files) : shelf_(answers.shelf_) {
    if (files["fabrics"] != answers.fabrics_) write(k_fabrics_file, files["fabrics"]);
    const std::string framework = framework_of(files["experiment"]);
    const auto drawn = shelf_.frameworks.find(framework);
    if (files.contains("framework") && files["framework"] != drawn->second.drawn)
      write(file_of(framework), files["framework"]);
  }
  const config::Loader& loader() const { return loader_ ? *loader_ : shelf_.loader(); }

 private:
  void write(const std::string& path, const Json& content) {
    if (!folder_) folder_.emplace();
    folder_->write(path, content.dump());
    loader_.emplace(std::vector<std::filesystem::path>{folder_->path(), shelf_.folder()});
  }

  const Shelf& shelf_;
  std::optional<test::TemporaryFolder> folder_;
  std::optional<config::Loader> loader_;
};

Answers::Answers() : fabrics_(shipped_calibration(shelf_.loader(), "fabrics")) {
  graphs_.write(std::string("topologies/") + k_graphs[0] + ".yaml", k_pair);
  graphs_.write(std::string("topologies/") + k_graphs[1] + ".yaml", std::string(k_pair) + k_second_cable);
}

Json Answers::files_of(Json experiment, bool with_calibration) const {
  if (with_calibration)
    experiment["calibration"] = calibration_with_all(shelf_.loader(), calibration_of(experiment, shelf_));
  Json files{{"experiment", experiment}, {"fabrics", fabrics_}};
  if (const Json& file = shelf_.frameworks.at(framework_of(experiment)).drawn; !file.is_null())
    files["framework"] = file;
  return files;
}

std::optional<std::string> Answers::run(const Json& files) const {
  const Over over(*this, files);
  try {
    experiment::Job job(experiment::read(parsed(files["experiment"])), over.loader());
    const experiment::Result result = job.run(predict::Engine::both, {.advice = experiment::Advice::none});
    return without_repetition(report::json({.job = job, .result = result, .tool = tool()}, -1));
  } catch (const core::ConfigurationError&) {
    return std::nullopt;
  }
}

std::string Answers::network(const Json& files, Json::json_pointer level) const {
  const config::Node experiment = parsed(files["experiment"]);
  core::Diagnostics diagnostics;
  const config::Loader loader({graphs_.path(), shelf_.folder()});
  const std::string whole =
      topology_of(loader, loader.resolve(*experiment.find("cluster"), "clusters", "cluster", diagnostics));
  while (!files[level].contains("kind")) level = level.parent_pointer();
  Json alone = files[level];
  alone.erase("size");
  alone.update({{"version", 1}, {"name", "a level"}});
  return whole + topology_of(loader, parsed(alone));
}

}  // namespace cairn::laws
