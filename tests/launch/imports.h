// Argument files and the experiments that a careful reader writes for them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cairn/launch/launch.h"
#include "catch.h"
#include "resolved.h"
#include "support/shipped.h"

namespace cairn::testing {

inline launch::Imported imported(const char* framework, const std::string& text, launch::Given given = {}) {
  if (given.cluster.empty()) given.cluster = "dgx-h100";
  return launch::import_arguments(framework, text, "train", given, shipped());
}

inline std::string resolved(const config::Node& node) {
  return resolved(experiment::Job(experiment::read(node), shipped()));
}

// `yaml`: written by hand.
inline std::string by_hand(const std::string& yaml) {
  core::Diagnostics problems;
  const config::Node node = config::parse_text(yaml, config::Syntax::yaml, "by_hand.yaml", problems);
  problems.raise_if_errors();
  return resolved(node);
}

// What was said of an argument that is not in the experiment; empty: nothing.
inline std::string said_of(const launch::Imported& imported, const std::string& argument) {
  for (const launch::Unsaid& each : imported.unsaid)
    if (each.subject == argument || each.subject.starts_with(argument + " ")) return each.reason;
  return {};
}

inline std::string refusal(const char* framework, const std::string& text, const launch::Given& given = {}) {
  try {
    imported(framework, text, given);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace cairn::testing
