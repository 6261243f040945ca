#include <algorithm>

#include <fmt/format.h>

#include "cairn/calibrate/calibrate.h"
#include "cairn/calibrate/robust_fit.h"
#include "cairn/measure/read.h"
#include "cairn/report/calibration.h"
#include "context.h"
#include "exit_code.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

// Everything wrong with every file at once.
std::vector<measure::MeasurementFile> read_all(const std::vector<std::string>& names,
                                               const measure::ReadOptions& options) {
  std::vector<measure::MeasurementFile> files;
  std::vector<core::Diagnostic> wrong;
  for (const std::string& name : names) {
    try {
      files.push_back(measure::read_measurements(name, options));
    } catch (const core::ConfigurationError& error) {
      wrong.insert(wrong.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!wrong.empty()) throw core::ConfigurationError(std::move(wrong));
  return files;
}

bool is_of_nccl_tests(const measure::MeasurementFile& file) {
  return file.format == measure::Format::nccl_tests_text || file.format == measure::Format::nccl_tests_json;
}

}  // namespace

int command(const CalibrateArguments& arguments, Context& context) {
  if (!calibrate::can_fit())
    throw core::CapabilityError(
        "`cairn calibrate` needs Eigen, which this build was made without: install libeigen3-dev "
        "and build again");
  const std::vector<measure::MeasurementFile> files = read_all(arguments.files, {.collective = arguments.collective});
  if (!arguments.collective.empty() && std::none_of(files.begin(), files.end(), is_of_nccl_tests))
    throw core::ConfigurationError("--collective", "none of the files is output of nccl-tests", "leave the option out");
  for (const measure::MeasurementFile& file : files) {
    say(fmt::format("{}: {}, {} rows, {} of no use", file.file, measure::name(file.format), file.rows.size(),
                    file.skipped.size()));
    for (const measure::Skipped& row : file.skipped) say(fmt::format("{}:{}: {}", file.file, row.line, row.reason));
  }
  const calibrate::Result result =
      calibrate::calibrate(context.loader, files, {.accelerator = arguments.gpu, .base = arguments.base});
  for (const core::Diagnostic& warning : result.warnings) warn(warning.to_string());
  if (!arguments.output.empty()) {
    Output file(arguments.output);  // may be what the base was read from: a calibration is brought up to date so
    file.write(calibrate::calibration_yaml(result));
    file.finish();
  }
  Output output("");
  output.write(in_form(
      arguments.result, [&] { return report::json(result); }, [&] { return report::text(result); }));
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
