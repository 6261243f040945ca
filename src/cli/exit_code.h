#pragma once

namespace cairn::cli {

enum ExitCode : int {
  k_ok = 0,
  k_negative = 1,      // it ran, and the answer is no: does not fit, beyond the band
  k_usage = 2,         // a wrong command line or configuration
  k_input_output = 3,  // writing failed, or reading stopped half-way
  k_capability = 4,    // this build or machine lacks something
  k_bug = 70,
  k_interrupted = 130,
};

}  // namespace cairn::cli
