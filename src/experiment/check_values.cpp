#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/experiment/experiment.h"
#include "resolving.h"

namespace cairn::experiment {

// The rules of a key are those of its description: values are written as a file would say them, and read.
void check_values(const Settings& settings) {
  Experiment whole;
  static_cast<Settings&>(whole) = settings;
  whole.model = whole.cluster = config::make_scalar("given", {});
  core::Diagnostics found;
  const config::Node node = config::parse_text(config::to_json(whole, -1), config::Syntax::json, {}, found);
  Experiment again;
  config::read(node, again, found);
  core::Diagnostics problems;
  for (const core::Diagnostic& each : found.all()) problems.add(at_key(each.key_path, each.message, each.hint));
  problems.raise_if_errors();
}

}  // namespace cairn::experiment
