#include "cairn/report/error.h"

#include <nlohmann/json.hpp>

#include "cairn/core/json_text.h"

namespace cairn::report {

std::string error_json(const std::vector<core::Diagnostic>& diagnostics, std::optional<int> line, int indent) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const core::Diagnostic& each : diagnostics)
    rows.push_back({{"severity", each.severity == core::Severity::error ? "error" : "warning"},
                    {"file", each.file},
                    {"line", each.line},
                    {"column", each.column},
                    {"key_path", each.key_path},
                    {"message", each.message},
                    {"hint", each.hint}});
  const Json document{
      {"schema", "cairn.error/1"}, {"line", line ? Json(*line) : Json()}, {"diagnostics", std::move(rows)}};
  return core::json_text(document, indent);
}

}  // namespace cairn::report
