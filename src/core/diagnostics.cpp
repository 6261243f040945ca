#include "cairn/core/diagnostics.h"

#include <algorithm>
#include <numeric>
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

namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = 2 + word.size() / 4;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace cairn::core
