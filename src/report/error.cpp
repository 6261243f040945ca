#include "cairn/report/error.h"

#include <nlohmann/json.hpp>

#include "cairn/core/json_text.h"
#include "diagnostic_keys.h"

namespace cairn::report {

std::string error_json(const std::vector<core::Diagnostic>& diagnostics, std::optional<int> line, int indent) {
  using Json = nlohmann::ordered_json;
  const Json document{{"schema", "cairn.error/1"},
                      {"line", schema::nullable(line)},
                      {"diagnostics", schema::diagnostic_keys().list(diagnostics)}};
  return core::json_text(document, indent);
}

}  // namespace cairn::report
