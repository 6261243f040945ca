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

// Of the exception that is being handled.
Failure current_failure();

}  // namespace cairn::cli
