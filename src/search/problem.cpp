#include "problem.h"

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::search {
namespace {

using nlohmann::json;

// Each is an exit code of its own.
enum class Fault : std::uint8_t { configuration, input_output, capability, bug };

json with_fault(Fault fault, const char* key, json value) {
  return {{"fault", static_cast<int>(fault)}, {key, std::move(value)}};
}

json listed(const std::vector<core::Diagnostic>& diagnostics) {
  json all = json::array();
  for (const core::Diagnostic& each : diagnostics)
    all.push_back(
        {static_cast<int>(each.severity), each.file, each.line, each.column, each.key_path, each.message, each.hint});
  return all;
}

std::vector<core::Diagnostic> diagnostics_of(std::size_t rank, const json& list) {
  std::vector<core::Diagnostic> all;
  for (const json& each : list)
    all.push_back({.severity = static_cast<core::Severity>(each.at(0).get<int>()),
                   .file = each.at(1),
                   .line = each.at(2),
                   .column = each.at(3),
                   .key_path = each.at(4),
                   .message = fmt::format("process {}: {}", rank, each.at(5).get<std::string>()),
                   .hint = each.at(6)});
  return all;
}

}  // namespace

json json_of_problem(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const core::ConfigurationError& error) {
    return with_fault(Fault::configuration, "diagnostics", listed(error.diagnostics()));
  } catch (const core::InputOutputError& error) {
    return with_fault(Fault::input_output, "why", error.what());
  } catch (const core::CapabilityError& error) {
    return with_fault(Fault::capability, "why", error.what());
  } catch (const std::bad_alloc&) {
    return with_fault(Fault::capability, "why", "this machine has too little memory");
  } catch (const std::exception& error) {
    return with_fault(Fault::bug, "why", error.what());
  }
}

std::exception_ptr problem_of(std::size_t rank, const json& from) {
  const auto fault = static_cast<Fault>(from.at("fault").get<int>());
  if (fault == Fault::configuration)
    return std::make_exception_ptr(core::ConfigurationError(diagnostics_of(rank, from.at("diagnostics"))));
  const std::string text = fmt::format("process {}: {}", rank, from.at("why").get<std::string>());
  if (fault == Fault::input_output) return std::make_exception_ptr(core::InputOutputError(text));
  if (fault == Fault::capability) return std::make_exception_ptr(core::CapabilityError(text));
  return std::make_exception_ptr(std::runtime_error(text));
}

}  // namespace cairn::search
