// Where what was found wrong after reading stands in the files and on the command line.
#pragma once

#include <utility>
#include <vector>

#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"

namespace cairn::cli {

// What `make` makes; what it finds wrong at a key without a place gets that of the key. Options have none in a file.
template <class Make>
auto placed(const config::Origins& origins, Make make) {
  try {
    return make();
  } catch (const core::ConfigurationError& error) {
    std::vector<core::Diagnostic> all = error.diagnostics();
    for (core::Diagnostic& each : all)
      if (each.file.empty() && !each.key_path.starts_with("--"))
        each = origins.error(each.key_path, each.message, each.hint);
    throw core::ConfigurationError(std::move(all));
  }
}

}  // namespace cairn::cli
