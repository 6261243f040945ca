#include "cairn/core/diagnostics.h"

#include <utility>

#include <fmt/format.h>

#include "cairn/core/printable.h"

namespace cairn::core {

std::string Diagnostic::to_string() const {
  std::string text;
  if (!file.empty()) {
    text += file;
    if (line > 0) text += fmt::format(":{}:{}", line, column);
    text += ": ";
  }
  text += severity == Severity::error ? "error: " : "warning: ";
  if (!key_path.empty()) text += key_path + ": ";
  text += message;
  if (!hint.empty()) text += fmt::format(" ({})", hint);
  return printable(text);
}

ConfigurationError::ConfigurationError(std::vector<Diagnostic> diagnostics) : diagnostics_(std::move(diagnostics)) {
  for (const Diagnostic& diagnostic : diagnostics_) {
    if (!text_.empty()) text_ += '\n';
    text_ += diagnostic.to_string();
  }
}

ConfigurationError::ConfigurationError(std::string key_path, std::string message, std::string hint)
    : ConfigurationError(std::vector<Diagnostic>{Diagnostic{.severity = Severity::error,
                                                            .file = {},
                                                            .line = 0,
                                                            .column = 0,
                                                            .key_path = std::move(key_path),
                                                            .message = std::move(message),
                                                            .hint = std::move(hint)}}) {}

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) ++errors_;
  all_.push_back(std::move(diagnostic));
}

void Diagnostics::raise_if_errors() const {
  if (has_errors()) throw ConfigurationError(all_);
}

}  // namespace cairn::core
