// The command line of cairn-attention-mpi.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/sequence/problem.h"

namespace cairn::attention_mpi {

// The codes of the program `cairn` (README.md).
enum ExitCode : int { k_agrees = 0, k_differs = 1, k_usage = 2, k_bug = 70 };

struct Options {
  std::vector<std::string> schemes = {};
  sequence::Problem problem = {};
  std::vector<sequence::Pass> passes = {};
  double tolerance = 0.0;
};

// Nothing where the program ends here, with `exit_code`: help, or a wrong command line; told by the rank that speaks.
std::optional<Options> parse_options(int argc, char** argv, bool speaks, int& exit_code);

}  // namespace cairn::attention_mpi
