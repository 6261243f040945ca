#include "failure.h"

#include <map>
#include <new>

#include <fmt/format.h>

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

std::vector<std::string> lines_of(const std::vector<core::Diagnostic>& diagnostics) {
  std::map<std::string, std::size_t> of_file;
  std::vector<std::string> lines;
  for (const core::Diagnostic& each : diagnostics)
    if (++of_file[each.file] <= core::k_shown_errors) lines.push_back(each.to_string());
  for (const auto& [file, count] : of_file)
    if (count > core::k_shown_errors)
      lines.push_back(fmt::format("{}{}and {} more", file, file.empty() ? "" : ": ", count - core::k_shown_errors));
  return lines;
}

Failure current_failure() {
  try {
    throw;
  } catch (const core::ConfigurationError& error) {
    return {.code = k_usage, .diagnostics = error.diagnostics(), .lines = lines_of(error.diagnostics())};
  } catch (const core::InputOutputError& error) {
    return failure(k_input_output, error.what());
  } catch (const core::CapabilityError& error) {
    return failure(k_capability, error.what());
  } catch (const std::bad_alloc&) {
    return failure(k_capability, "this machine has too little memory for what was asked",
                   "ask for less at a time, or give it more");
  } catch (const std::exception& error) {
    return failure(k_bug, std::string("internal error: ") + error.what(),
                   "this is a bug of Cairn, not of your input; please report it with the command line and the files");
  }
}

}  // namespace cairn::cli
