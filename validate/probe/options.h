// The command line of cairn-probe.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace cairn::probe {

// The codes of the program `cairn` (README.md).
enum ExitCode : int {
  k_ok = 0,
  k_negative = 1,
  k_usage = 2,
  k_output = 3,
  k_no_gpu = 4,
  k_failed = 70,
  k_interrupted = 130,
};

struct Options {
  std::string output = {};  // empty: stdout
  std::vector<std::string> only = {};
  bool quick = false;
  bool list = false;
  bool help = false;
  std::string cache = "cold";
  int device = 0;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws UsageError with what is wrong and what would be right.
Options parse_options(const std::vector<std::string>& arguments);

std::string help_text();

}  // namespace cairn::probe
