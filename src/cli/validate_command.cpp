#include <cstdlib>

#include "cairn/validation/validate.h"
#include "context.h"
#include "exit_code.h"

namespace cairn::cli {

int command(const ValidateArguments& arguments, Context& context) {
  validation::ValidateOptions options{.names = arguments.names, .data = {}, .published = {}};
  if (!arguments.data.empty()) {
    options.data = arguments.data;
  } else if (const char* given = std::getenv("CAIRN_DATA"); given != nullptr && *given != '\0') {
    options.data = given;
  }
  const validation::Report report = validation::validate(context.loader, options);
  Output output(arguments.result.output);
  output.write(arguments.result.json ? validation::json(report) : validation::text(report));
  output.finish();
  return report.passed() ? k_ok : k_negative;
}

}  // namespace cairn::cli
