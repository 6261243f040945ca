// A model as a user writes it, read, with everything that is said of it.
#pragma once

#include <string>

#include "cairn/config/read.h"
#include "cairn/models/huggingface.h"
#include "support/source_dir.h"

namespace cairn::models::testing {

struct Outcome {
  TransformerConfig config;
  std::string problems = {};
};

inline Outcome read_text(const std::string& text, config::Syntax syntax = config::Syntax::yaml) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, syntax, "model", diagnostics);
  const config::Loader loader({cairn::testing::source_dir() + "/configs"});
  Outcome outcome{.config = read_model(node, loader, diagnostics)};
  for (const core::Diagnostic& diagnostic : diagnostics.all()) outcome.problems += diagnostic.to_string() + "\n";
  return outcome;
}

}  // namespace cairn::models::testing
