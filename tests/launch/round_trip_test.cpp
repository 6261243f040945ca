// Experiments as launch arguments and back: what the arguments carry is the same again, and what they do not is listed,
// so that the list laid over the import is the experiment.
#include <memory>
#include <sstream>
#include <string>

#include "cairn/launch/launch.h"
#include "catch.h"
#include "random_experiments.h"
#include "resolved.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::laws;

namespace {

const Shelf& shelf() {
  static const Shelf all;
  return all;
}

std::unique_ptr<experiment::Job> job_of(const config::Node& node) {
  return std::make_unique<experiment::Job>(experiment::read(node), shelf().loader());
}

config::Node node_of(const Json& experiment) {
  core::Diagnostics diagnostics;
  config::Node node = config::parse_text(experiment.dump(), config::Syntax::json, "drawn.json", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}

// The experiment as the import gives it, with its own cluster and calibration, which no argument carries.
config::Node imported(const std::string& framework, const experiment::Job& job, const launch::Exported& exported,
                      const Json& experiment) {
  launch::Given given{.cluster = "dgx-h100"};
  given.overrides.push_back(
      "cluster=" +
      (experiment["cluster"].is_object() ? experiment["cluster"] : Json{{"file", experiment["cluster"]}}).dump());
  if (experiment.contains("calibration")) given.overrides.push_back("calibration=" + experiment["calibration"].dump());
  if (experiment.contains("simulation")) given.overrides.push_back("simulation=" + experiment["simulation"].dump());
  if (job.experiment().strategy.dp)
    given.overrides.push_back("strategy.dp=" + std::to_string(*job.experiment().strategy.dp));
  for (const launch::Unsaid& each : exported.unsaid) {
    const std::size_t colon = each.subject.find(": ");
    if (each.subject.starts_with("simulation.")) continue;
    given.overrides.push_back(each.subject.substr(0, colon) + "=" + each.subject.substr(colon + 2));
  }
  return launch::import_arguments(framework, exported.text, "exported", given, shelf().loader()).experiment;
}

// Lines of the one that the other has not at that place; empty where both are the same.
std::string difference(const std::string& again, const std::string& first) {
  if (again == first) return {};
  std::istringstream a(again), b(first);
  std::string text, left, right;
  while (std::getline(a, left) && std::getline(b, right))
    if (left != right) text += left + " | " + right + "\n";
  return text.empty() ? "one has more lines" : text;
}

// The profile that an import names.
std::string profile_of(const std::string& framework) {
  return framework == "nemo" ? "megatron" : framework;  // NeMo trains with Megatron-Core
}

void round_trips(const std::string& framework) {
  constexpr std::uint64_t k_experiments = 1500 / test::k_share;
  std::uint64_t tried = 0, whole = 0;
  for (std::uint64_t seed = 1; seed <= k_experiments; ++seed) {
    Json experiment = draw_experiment(seed, shelf());
    experiment["training"]["framework"] = profile_of(framework);
    std::unique_ptr<experiment::Job> job;
    try {
      job = job_of(node_of(experiment));
    } catch (const core::ConfigurationError&) {
      continue;
    }
    ++tried;
    const launch::Exported exported = launch::export_arguments(framework, *job, shelf().loader());
    whole += exported.unsaid.empty() ? 1 : 0;
    INFO("seed " << seed << "\n" << experiment.dump() << "\n" << exported.text);
    std::unique_ptr<experiment::Job> again;
    try {
      again = job_of(imported(framework, *job, exported, experiment));
    } catch (const core::ConfigurationError& error) {
      FAIL_CHECK(error.what());
      continue;
    }
    CHECK(difference(testing::resolved(*again), testing::resolved(*job)) == "");
  }
  CHECK(3 * tried > k_experiments);
  WARN(framework << ": " << tried << " experiments, " << whole << " of them without a rest");
}

}  // namespace

TEST_CASE("An experiment comes back from launch arguments, with the list of what they do not say laid over it") {
  for (const std::string& framework : launch::frameworks()) round_trips(framework);
}
