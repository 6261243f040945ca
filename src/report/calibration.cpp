#include "cairn/report/calibration.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cairn/core/json_text.h"
#include "cairn/core/format_units.h"

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

// What a parameter is, by its name in the calibration file; collectives name the protocol in front.
enum class Unit : std::uint8_t { none, seconds, bytes_per_second, share };
struct Meaning {
  std::string_view name;
  Unit unit;
  std::string_view text;
};
constexpr std::array k_meanings{
    Meaning{"tensor_efficiency", Unit::share, "of the peak of the matrix units"},
    Meaning{"memory_efficiency", Unit::share, "of the memory's bandwidth"},
    Meaning{"efficiency", Unit::share, "of the memory's bandwidth"},
    Meaning{"exp_efficiency", Unit::share, "of the rate of exponentials"},
    Meaning{"launch_floor", Unit::seconds, "least time of a framework's call"},
    Meaning{"gap", Unit::seconds, "from a kernel to the next"},
    Meaning{"start", Unit::seconds, "what the first launch waits for; not kept"},
    Meaning{"quantise_passes", Unit::none, "passes over the input that its quantisation takes"},
    Meaning{"step_floor", Unit::seconds, "shortest step along K"},
    Meaning{"operand_bandwidth", Unit::bytes_per_second, "of operands into one multiprocessor that is not hidden"},
    Meaning{"epilogue", Unit::none, "share of the writing that the main loop does not hide"},
    Meaning{"overlap_exponent", Unit::none, "overlap of compute and memory; 1: none"},
    Meaning{"droop", Unit::none, "extra time of long compute-bound kernels, at most"},
    Meaning{"split_cost", Unit::seconds, "of a product split along K: the second kernel"},
    Meaning{"tile_overhead", Unit::seconds, "of filling and draining the pipeline for a tile"},
    Meaning{"row", Unit::seconds, "of a row of queries"},
    Meaning{"tail", Unit::none, "weight of the longest query tile, which finishes last"},
    Meaning{"query_traffic", Unit::none, "times that queries are read"},
    Meaning{"kv_traffic", Unit::none, "times that keys and values are read"},
    Meaning{"pass", Unit::seconds, "of a pass over keys"},
    Meaning{"low_latency", Unit::seconds, "of short messages: the protocol of low latency (LL)"},
    Meaning{"low_bandwidth", Unit::bytes_per_second, "likewise, of one rank"},
    Meaning{"middle_latency", Unit::seconds, "of middling messages: the protocol between (LL128)"},
    Meaning{"middle_bandwidth", Unit::bytes_per_second, "likewise, of one rank"},
    Meaning{"simple_latency", Unit::seconds, "of long messages: the simple protocol"},
    Meaning{"simple_bandwidth", Unit::bytes_per_second, "likewise, of one rank"},
    Meaning{"simple_ramp", Unit::none, "s per square root of a byte, until the links are full"}};

std::string parameter_text(const std::string& name, double value) {
  const auto* known =
      std::find_if(k_meanings.begin(), k_meanings.end(), [&](const Meaning& each) { return each.name == name; });
  if (known == k_meanings.end()) return fmt::format("{:.4g}", value);
  const auto shown = [&] {
    switch (known->unit) {
      case Unit::seconds:
        return core::format(core::Seconds::from_base(value));
      case Unit::bytes_per_second:
        return core::format(core::BytesPerSecond::from_base(value));
      case Unit::share:
        return share(value);
      case Unit::none:
        break;
    }
    return fmt::format("{:.4g}", value);
  };
  return fmt::format("{:<14} {}", shown(), known->text);
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
    for (const auto& [name, value] : family.parameters)
      fmt::format_to(to, "  {:22} {}\n", name, parameter_text(name, value));
    if (family.record.left_out) fmt::format_to(to, "  left out: {}\n", family.record.left_out_by);
    if (!family.at_bound.empty())
      fmt::format_to(to, "  at a bound, so not determined by these rows: {}\n", fmt::join(family.at_bound, ", "));
  }
  if (!result.dropped.empty()) out += "\nrows that take no part\n";
  for (const calibrate::DroppedRows& each : result.dropped) fmt::format_to(to, "  {:>6}  {}\n", each.rows, each.reason);
  return out;
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
