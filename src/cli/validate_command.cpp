#include <cstdlib>

#include "cairn/report/validation.h"
#include "cairn/validation/residuals.h"
#include "cairn/validation/validate.h"
#include "context.h"
#include "exit_code.h"
#include "progress.h"
#include "result_form.h"

namespace cairn::cli {

int command(const ValidateArguments& arguments, Context& context) {
  ProgressLine progress(context.common);
  validation::ValidateOptions options{
      .names = arguments.names,
      .data = {},
      .published = {},
      .ideal = arguments.ideal,
      .progress = [&](std::string_view family, std::size_t done, std::size_t of) { progress.show(family, done, of); }};
  if (!arguments.data.empty()) {
    options.data = arguments.data;
  } else if (const char* given = std::getenv("CAIRN_DATA"); given != nullptr && *given != '\0') {
    options.data = given;
  }
  const validation::Report report = validation::validate(context.loader, options);
  progress.clear();
  if (!arguments.plot.empty()) write_file(arguments.plot, report::validation_svg(report), context.read);
  if (!arguments.intervals.empty()) {
    // It may take the place of the one that was read: no prediction depends on it.
    Output intervals(arguments.intervals);
    intervals.write(validation::intervals_yaml(report.intervals));
    intervals.finish();
  }
  Output output(arguments.result.output, context.read);
  output.write(in_form(
      arguments.result, [&] { return validation::json(report); }, [&] { return validation::text(report); }));
  output.finish();
  return report.passed() ? k_ok : k_negative;
}

}  // namespace cairn::cli
