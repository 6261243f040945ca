// What an exception means to whoever started the program.
#pragma once

#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"

namespace cairn::cli {

struct Failure {
  int code = 0;                               // exit code
  std::vector<core::Diagnostic> diagnostics;  // for documents
  std::vector<std::string> lines;             // for standard error
};

// What people read of diagnostics: of many in one file the first, and how many more there are.
std::vector<std::string> lines_of(const std::vector<core::Diagnostic>& diagnostics);

// Of the exception that is being handled.
Failure current_failure();

}  // namespace cairn::cli
