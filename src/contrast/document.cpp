// What a result document says of its step.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "cairn/contrast/difference.h"
#include "cairn/core/diagnostics.h"

namespace cairn::contrast {
namespace {

using config::Node;
using core::Picoseconds;

constexpr std::string_view k_run_document = "cairn.run/1";

[[noreturn]] void fail(const config::Place& place, const std::string& key, const std::string& message,
                       const std::string& hint) {
  throw core::ConfigurationError({config::error_at(place, key, message, hint)});
}

const Node& below(const Node& node, const std::string& path, std::string_view key) {
  const Node* found = node.find(key);
  if (found == nullptr)
    fail(node.place, config::join_path(path, key), "is missing in this result",
         "give the whole document that cairn run --json wrote");
  return *found;
}

Picoseconds time_at(const Node& node, const std::string& path) {
  char* end = nullptr;
  const double seconds = node.is_scalar() && !node.quoted ? std::strtod(node.text.c_str(), &end) : -1.0;
  const bool whole = end != nullptr && *end == '\0' && end != node.text.c_str();
  if (!whole || !(seconds >= 0.0 && seconds * core::k_picoseconds_per_second < static_cast<double>(core::k_reach)))
    fail(node.place, path, fmt::format("{} is no time of a step in seconds", config::quote(node.text)),
         "give the document as cairn run --json wrote it");
  return core::to_picoseconds(seconds);
}

}  // namespace

std::optional<Recorded> recorded(const Node& node) {
  const Node* schema = node.find("schema");
  if (schema == nullptr) return std::nullopt;
  if (schema->text != k_run_document)
    fail(schema->place, "schema", fmt::format("a document of kind {}", config::quote(schema->text)),
         "compare experiments, or results of cairn run --json");
  (void)below(node, {}, "experiment");
  const Node& result = below(node, {}, "result");
  Recorded told{.time = time_at(below(result, "result", "iteration_time_s"), "result.iteration_time_s")};
  if (const Node* analytic = result.find("analytic"); analytic != nullptr && analytic->is_map())
    told.analytic =
        time_at(below(*analytic, "result.analytic", "iteration_time_s"), "result.analytic.iteration_time_s");
  const Node& terms = below(result, "result", "time_s");
  Picoseconds sum = 0;
  for (std::size_t i = 0; i + 1 < k_terms.size(); ++i) {
    const std::string path = config::join_path("result.time_s", k_terms[i]);
    // Documents of versions that had no such term leave it out.
    if (const Node* term = terms.find(k_terms[i])) told.terms[i] = time_at(*term, path);
    sum += told.terms[i];
    if (sum > core::k_reach) fail(terms.place, "result.time_s", "terms of more than simulated time reaches", "");
  }
  told.terms.back() = told.time - sum;
  return told;
}

}  // namespace cairn::contrast
