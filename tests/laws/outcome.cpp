#include "outcome.h"

#include "cairn/config/yaml.h"

namespace cairn::laws {
namespace {

config::Node node_of(const Json& experiment) {
  core::Diagnostics diagnostics;
  config::Node node = config::parse_text(experiment.dump(), config::Syntax::json, "drawn.json", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}

}  // namespace

Outcome run(const Json& experiment, const Shelf& shelf, predict::Engine engine) {
  Outcome outcome;
  try {
    outcome.job = std::make_unique<experiment::Job>(experiment::read(node_of(experiment)), shelf.loader());
    outcome.result = outcome.job->run(engine);
    outcome.kind = Outcome::Kind::accepted;
  } catch (const core::ConfigurationError& error) {
    outcome.message = error.what();
  } catch (const std::exception& error) {
    outcome.kind = Outcome::Kind::crashed;
    outcome.message = error.what();
  }
  return outcome;
}

Json echo(const std::string& document) { return Json::parse(document)["experiment"]; }

std::string as_yaml(const Json& experiment, const Shelf& shelf) {
  std::string text = config::to_yaml(node_of(experiment));
  const std::string framework = framework_of(experiment);
  const auto found = shelf.frameworks.find(framework);
  if (found != shelf.frameworks.end() && !found->second.drawn.is_null())
    text +=
        fmt::format("# beside it {}:\n# {}\n", framework.substr(0, framework.find('@')), found->second.drawn.dump());
  return text;
}

}  // namespace cairn::laws
