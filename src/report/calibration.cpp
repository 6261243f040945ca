#include "cairn/report/calibration.h"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cairn/core/json_text.h"

namespace cairn::report {
namespace {

using Json = nlohmann::ordered_json;
using calibrate::FamilyResult;

constexpr double k_percent = 100.0;
constexpr int k_indent = 2;

std::string share(double fraction) { return fmt::format("{:.1f} %", k_percent * fraction); }
std::string signed_share(double fraction) { return fmt::format("{:+.1f} %", k_percent * fraction); }

std::string cells(const std::optional<cost::FitScores>& scores) {
  if (!scores) return fmt::format("{:>8} {:>8} {:>8}", "-", "-", "-");
  return fmt::format("{:>8} {:>8} {:>8}", share(scores->median), share(scores->p90), signed_share(scores->bias));
}

std::string ranges_text(const cost::FitRecord& record) {
  std::string text;
  for (const auto& [name, range] : record.ranges)
    fmt::format_to(std::back_inserter(text), "{}{} {:.6g}..{:.6g}", text.empty() ? "" : ", ", name, range.least,
                   range.largest);
  return text;
}

std::string label(const FamilyResult& family) { return fmt::format("{} {}", family.kind, family.type); }

Json scores_json(const cost::FitScores& scores) {
  return {{"median", scores.median}, {"p90", scores.p90}, {"bias", scores.bias}};
}

Json family_json(const FamilyResult& family) {
  Json parameters = Json::object(), ranges = Json::object();
  for (const auto& [name, value] : family.parameters) parameters[name] = value;
  for (const auto& [name, range] : family.record.ranges) ranges[name] = {range.least, range.largest};
  Json result{{"kind", family.kind}, {"type", family.type}, {"rows", family.record.rows}, {"parameters", parameters}};
  result["at_bound"] = family.at_bound;
  result["in_sample"] = family.skipped ? Json(nullptr) : scores_json(family.record.in_sample);
  result["left_out"] = nullptr;
  if (family.record.left_out) {
    result["left_out"] = Json{{"by", family.record.left_out_by}};
    result["left_out"].update(scores_json(*family.record.left_out));
  }
  result["residuals"] = family.skipped ? Json(nullptr)
                                       : Json{{"p10", family.record.residual_p10},
                                              {"p50", family.record.residual_p50},
                                              {"p90", family.record.residual_p90}};
  result["ranges"] = ranges;
  result["skipped"] = family.skipped ? Json(*family.skipped) : Json(nullptr);
  return result;
}

Json any_of(Json first, Json second) { return Json{{"anyOf", Json::array({std::move(first), std::move(second)})}}; }
Json numbers_of(std::initializer_list<const char*> names) {
  Json result{{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const char* name : names) {
    result["properties"][name] = Json{{"type", "number"}};
    result["required"].push_back(name);
  }
  return result;
}

}  // namespace

std::string text(const calibrate::Result& result) {
  std::string out = fmt::format("calibration of {}\n\n", result.accelerator);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{:24} {:>6}  {:^26}  {:^26}\n", "", "", "in sample", "left out");
  fmt::format_to(to, "{:24} {:>6}  {:>8} {:>8} {:>8}  {:>8} {:>8} {:>8}  {}\n", "family", "rows", "median", "p90",
                 "bias", "median", "p90", "bias", "measured");
  for (const FamilyResult& family : result.families) {
    if (family.skipped) {
      fmt::format_to(to, "{:24} {:>6}  not fitted: {}\n", label(family), family.record.rows, *family.skipped);
      continue;
    }
    fmt::format_to(to, "{:24} {:>6}  {}  {}  {}\n", label(family), family.record.rows, cells(family.record.in_sample),
                   cells(family.record.left_out), ranges_text(family.record));
  }
  for (const FamilyResult& family : result.families) {
    if (family.skipped) continue;
    fmt::format_to(to, "\n{}\n", label(family));
    for (const auto& [name, value] : family.parameters) fmt::format_to(to, "  {:22} {:.4g}\n", name, value);
    if (family.record.left_out) fmt::format_to(to, "  left out: {}\n", family.record.left_out_by);
    if (!family.at_bound.empty())
      fmt::format_to(to, "  at a bound, so not determined by these rows: {}\n", fmt::join(family.at_bound, ", "));
  }
  return out;
}

std::string json(const calibrate::Result& result) {
  Json families = Json::array();
  for (const FamilyResult& family : result.families) families.push_back(family_json(family));
  Json warnings = Json::array();
  for (const core::Diagnostic& warning : result.warnings) warnings.push_back(warning.to_string());
  const Json document{{"schema", "cairn.calibrate/1"},
                      {"gpu", result.accelerator},
                      {"families", std::move(families)},
                      {"warnings", std::move(warnings)}};
  return core::json_text(document, k_indent) + "\n";
}

std::string calibrate_schema() {
  const Json null{{"type", "null"}};
  const Json text_type{{"type", "string"}};
  Json left_out = numbers_of({"median", "p90", "bias"});
  left_out["properties"]["by"] = text_type;
  Json family{{"type", "object"}, {"properties", Json::object()}};
  family["properties"] = {
      {"kind", text_type},
      {"type", text_type},
      {"rows", {{"type", "integer"}}},
      {"parameters", {{"type", "object"}, {"additionalProperties", {{"type", "number"}}}, {"description", "SI units"}}},
      {"at_bound", {{"type", "array"}, {"items", text_type}, {"description", "parameters the rows do not determine"}}},
      {"in_sample", any_of(numbers_of({"median", "p90", "bias"}), null)},
      {"left_out", any_of(left_out, null)},
      {"residuals", any_of(numbers_of({"p10", "p50", "p90"}), null)},
      {"ranges",
       {{"type", "object"},
        {"additionalProperties",
         {{"type", "array"}, {"items", {{"type", "number"}}}, {"minItems", 2}, {"maxItems", 2}}},
        {"description", "least and largest measured, by dimension"}}},
      {"skipped", any_of(text_type, null)}};
  family["required"] = {"kind", "type", "rows", "parameters", "in_sample", "left_out", "ranges"};
  const Json document{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "cairn.calibrate/1"},
                      {"type", "object"},
                      {"properties",
                       {{"schema", {{"const", "cairn.calibrate/1"}}},
                        {"gpu", text_type},
                        {"families", {{"type", "array"}, {"items", family}}},
                        {"warnings", {{"type", "array"}, {"items", text_type}}}}},
                      {"required", {"schema", "gpu", "families"}}};
  return core::json_text(document, k_indent);
}

}  // namespace cairn::report
