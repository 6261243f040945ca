// From measurements of one accelerator to its calibration: the parameters of cost's price formulas, fitted with those
// very formulas, with the scores of predictions of what the fit did not see.
//
//   family             rows                                    left out, one group at a time
//   gemm <type>        m n k                                   decades of M, of N, of K
//   attention          forward, serving operator               octaves of S, decades of B Hq, octaves of Hq/Hkv,
//                                                              head sizes
//   memory-bound       copies, norms, pointwise kernels        kinds; decades of bytes
//   launch             k empty kernels in a row                decades of k
//   <collective> <n>   messages in one node, median of repeats decades of the message size
//                      of the source with the most rows
//
// Every row is predicted once for each way of grouping by a fit that saw no row of its group. Fewer than k_full_rows
// products: only the efficiencies and the launch floor are fitted, the rest is held at the base's values. Parameters
// start from the same physical defaults whatever the base says, so a base fitted on the same rows leaks nothing.
//
// What is not measured is kept from the base calibration; of another accelerator's base it is marked as assumed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/cost/calibration.h"
#include "cairn/measure/measurement.h"

namespace cairn::calibrate {

inline constexpr std::size_t k_full_rows = 50;   // below: few parameters
inline constexpr std::size_t k_least_rows = 12;  // below: no fit
inline constexpr std::size_t k_least_sizes = 8;  // message sizes of a collective

struct Options {
  std::string accelerator = {};  // a name of configs/accelerators; empty: the one the files measure
  std::string base = {};         // a name of configs/calibration; empty: the accelerator's own
};

struct FamilyResult {
  std::string kind = {};  // gemm | attention | memory-bound | launch | all-reduce ...
  std::string type = {};  // bf16 ...; of collectives "8 ranks"
  std::vector<std::pair<std::string, double>> parameters = {};  // as in the calibration file, SI units
  std::vector<std::string> at_bound = {};                       // of them: the rows do not determine these
  cost::FitRecord record = {};                                  // rows, scores, ranges
  std::vector<double> left_out_errors = {};  // predicted / measured - 1, of every left-out prediction
  std::optional<std::string> skipped = {};   // why it was not fitted
  std::string remedy = {};                   // of that
};

// Rows that were read and take no part in any fit.
struct DroppedRows {
  std::string reason = {};
  std::int64_t rows = 0;
};

struct Result {
  std::string accelerator = {};
  cost::Calibration calibration = {};
  std::vector<FamilyResult> families = {};
  std::vector<DroppedRows> dropped = {};
  std::vector<core::Diagnostic> warnings = {};

  // Counts `rows` under `reason`; none of them leaves no trace.
  void drop(const std::string& reason, std::size_t rows);
};

// The accelerator that programs report as `device`; empty when none is known by that name.
// Files: configs/devices/names.yaml. Case and punctuation do not count, nor does a maker's name in front.
std::string accelerator_of(const config::Loader& loader, std::string_view device);
// The file name of an accelerator that accelerator_of() finds for the device without a line in names.yaml.
std::string accelerator_name_for(std::string_view device);

// Throws core::ConfigurationError when the files measure several accelerators and none is named, none of the rows is
// of the named one, rows are faster than the accelerator can be or of several nodes, nothing is enough for a fit, the
// median error of a fit is beyond a quarter, or no base is known; core::CapabilityError without Eigen.
Result calibrate(const config::Loader& loader, std::span<const measure::MeasurementFile> files, const Options& options);

// The calibration as a file that load_calibration() reads.
std::string calibration_yaml(const Result& result);

}  // namespace cairn::calibrate
