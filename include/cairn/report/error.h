// What stood in the way of a result, as a document: cairn.error/1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"

namespace cairn::report {

// `line`: of a file of many experiments.
std::string error_json(const std::vector<core::Diagnostic>& diagnostics, std::optional<int> line, int indent = 2);

}  // namespace cairn::report
