#include "cairn/report/calibration.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cairn/core/assert.h"
#include "cairn/core/format_units.h"
#include "cairn/core/json_text.h"
#include "cairn/core/nullable.h"
#include "calibration_words.h"

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
  for (const auto& [name, range] : record.ranges) {
    const auto show = [&, bytes = name == "bytes"](double value) {
      return bytes ? core::format(core::Bytes::from_base(value)) : fmt::format("{:.6g}", value);
    };
    fmt::format_to(std::back_inserter(text), "{}{} {} to {}", text.empty() ? "" : ", ", name, show(range.least),
                   show(range.largest));
  }
  return text;
}

// The shown parameters of a family: name, value with its unit, what it is.
void append_parameters(const FamilyResult& family, std::string& out) {
  auto to = std::back_inserter(out);
  for (const auto& [key, value] : family.parameters) {
    const ParameterWords* words = words_for(key);
    CAIRN_ASSERT(words != nullptr);
    fmt::format_to(to, "  {:29} {:<17} {}\n", words->name, parameter_text(value, words->unit), words->meaning);
  }
}

constexpr std::string_view k_glossary =
    "what the columns say\n"
    "  error      predicted / measured - 1; median and p90 (nine rows in ten come nearer) of its size, bias: its "
    "median\n"
    "             with the sign, + where predictions are too long\n"
    "  in sample  over the rows that the parameters were fitted to\n"
    "  left out   over the same rows, each predicted by a fit that saw no row of its group: what to expect of others\n"
    "  measured   from the least to the largest; prices outside are extrapolated, and plans that meet them say so\n";

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
  result["skipped"] = core::nullable<Json>(family.skipped);
  return result;
}

}  // namespace

std::string text(const calibrate::Result& result) {
  std::string out = fmt::format("calibration of {}\n\n", result.accelerator);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{:24} {:>6}  {:^26}  {:^26}\n", "", "", "error in sample", "error left out");
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
    append_parameters(family, out);
    if (family.record.left_out) fmt::format_to(to, "  groups left out: {}\n", family.record.left_out_by);
    if (family.at_bound.empty()) continue;
    std::vector<std::string> bound;
    for (const std::string& each : family.at_bound) bound.push_back(in_words(each));
    fmt::format_to(to, "  at a bound, so not determined by these rows: {}\n", fmt::join(bound, "; "));
  }
  if (!result.dropped.empty()) out += "\nrows that take no part\n";
  for (const calibrate::DroppedRows& each : result.dropped) fmt::format_to(to, "  {:>6}  {}\n", each.rows, each.reason);
  return out + "\n" + std::string(k_glossary);
}

std::string json(const calibrate::Result& result) {
  Json families = Json::array();
  for (const FamilyResult& family : result.families) families.push_back(family_json(family));
  Json warnings = Json::array();
  for (const core::Diagnostic& warning : result.warnings) warnings.push_back(warning.to_string());
  Json dropped = Json::array();
  for (const calibrate::DroppedRows& each : result.dropped)
    dropped.push_back({{"rows", each.rows}, {"reason", each.reason}});
  const Json document{{"schema", "cairn.calibrate/1"},
                      {"gpu", result.accelerator},
                      {"families", std::move(families)},
                      {"dropped", std::move(dropped)},
                      {"warnings", std::move(warnings)}};
  return core::json_text(document, k_indent) + "\n";
}

}  // namespace cairn::report
