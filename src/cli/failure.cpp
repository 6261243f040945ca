#include "failure.h"

#include "exit_code.h"

namespace cairn::cli {
namespace {

Failure failure(int code, std::string message, std::string hint = {}) {
  Failure result{.code = code, .diagnostics = {}, .lines = {"cairn: " + message}};
  if (!hint.empty()) result.lines.push_back("cairn: " + hint);
  core::Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  result.diagnostics.push_back(std::move(diagnostic));
  return result;
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const core::ConfigurationError& error) {
    Failure result{.code = k_usage, .diagnostics = error.diagnostics(), .lines = {}};
    for (const core::Diagnostic& each : error.diagnostics()) result.lines.push_back(each.to_string());
    return result;
  } catch (const core::InputOutputError& error) {
    return failure(k_input_output, error.what());
  } catch (const core::CapabilityError& error) {
    return failure(k_capability, error.what());
  } catch (const std::exception& error) {
    return failure(k_bug, std::string("internal error: ") + error.what(),
                   "this is a bug of Cairn, not of your input; please report it with the command line and the files");
  }
}

}  // namespace cairn::cli
