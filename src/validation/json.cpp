#include <nlohmann/json.hpp>

#include "cairn/core/json_text.h"
#include "cairn/core/nullable.h"
#include "cairn/program/mesh.h"
#include "cairn/validation/validate.h"

namespace cairn::validation {
namespace {

using core::nullable;
using Json = nlohmann::ordered_json;
constexpr int k_indent = 2;

Json band(const Band& band) {
  if (!band.mean && !band.max) return nullptr;
  return {{"mean", nullable<Json>(band.mean)}, {"max", nullable<Json>(band.max)}};
}

Json causes(const FamilyResult& result) {
  Json all = Json::array();
  for (const ResidualCause& cause : result.causes) {
    Json groups = Json::array();
    for (const CauseGroup& group : cause.groups)
      groups.push_back({{"value", group.value}, {"rows", group.rows}, {"median", group.median}});
    all.push_back({{"setting", cause.setting}, {"explained", cause.explained}, {"groups", std::move(groups)}});
  }
  return all;
}

Json layouts(const std::optional<LayoutChoice>& choice) {
  if (!choice) return nullptr;
  Json questions = Json::array();
  for (const LayoutQuestion& each : choice->questions)
    questions.push_back({{"gpus", each.gpus},
                         {"rows", each.rows},
                         {"chosen", each.chosen},
                         {"fastest", each.fastest},
                         {"rank", each.rank},
                         {"regret", each.regret},
                         {"pairs", each.pairs},
                         {"concordant", each.concordant},
                         {"discordant", each.discordant}});
  return {{"questions", std::move(questions)},
          {"mean_regret", choice->mean_regret},
          {"max_regret", choice->max_regret},
          {"kendall_tau", nullable<Json>(choice->tau)}};
}

Json family(const FamilyResult& result) {
  Json skipped = Json::array();
  for (const SkippedRow& row : result.skipped) skipped.push_back({{"line", row.line}, {"reason", row.reason}});
  const auto error = [&](double ErrorSummary::*part) { return nullable<Json>(result.errors, part); };
  return {{"name", result.name},
          {"rows", result.rows},
          {"timed", result.timed},
          {"skipped", std::move(skipped)},
          {"mape", error(&ErrorSummary::mape)},
          {"median", error(&ErrorSummary::median)},
          {"p90", error(&ErrorSummary::p90)},
          {"max", error(&ErrorSummary::max)},
          {"bias", error(&ErrorSummary::bias)},
          {"spearman", nullable<Json>(result.spearman)},
          {"outcomes", result.outcomes},
          {"false_fit", result.false_fit},
          {"false_oom", result.false_oom},
          {"memory_median", nullable<Json>(result.memory_median)},
          {"baseline_mape", nullable<Json>(result.baseline, &ConstantRate::mape)},
          {"baseline_flop_per_s_per_gpu", nullable<Json>(result.baseline, &ConstantRate::rate)},
          {"interval_coverage", nullable<Json>(result.coverage)},
          {"interval_width", nullable<Json>(result.interval_width)},
          {"left_out_by", nullable<Json>(result.next, &NextError::by)},
          {"left_out_mape", nullable<Json>(result.next, &NextError::mape)},
          {"slope_per_doubling", nullable<Json>(result.slope)},
          {"causes", causes(result)},
          {"layouts", layouts(result.layouts)},
          {"band", band(result.band)},
          {"passed", nullable<Json>(result.passed)}};
}

Json interval_score(const IntervalScore& score) {
  return {{"family", score.family},
          {"rows", score.rows},
          {"coverage", score.coverage},
          {"width", score.width},
          {"median_error", score.median_error},
          {"chance", score.chance}};
}

Json sharing(const SharingScore& score) {
  return {{"scheme", score.scheme},        {"rows", score.rows},      {"mape", score.errors.mape},
          {"median", score.errors.median}, {"max", score.errors.max}, {"bias", score.errors.bias}};
}

Json parts(const predict::Breakdown& breakdown) {
  const auto exposed = [&](program::Axis axis) {
    return core::to_seconds(breakdown.exposed[static_cast<std::size_t>(axis)]);
  };
  return {{"compute", core::to_seconds(breakdown.compute)}, {"recompute", core::to_seconds(breakdown.recompute)},
          {"launch", core::to_seconds(breakdown.launch)},   {"tp_exposed", exposed(program::Axis::tensor)},
          {"cp_exposed", exposed(program::Axis::context)},  {"ep_exposed", exposed(program::Axis::expert)},
          {"pp_exposed", exposed(program::Axis::pipeline)}, {"dp_exposed", exposed(program::Axis::data)},
          {"bubble", core::to_seconds(breakdown.bubble)},   {"optimizer", core::to_seconds(breakdown.optimizer)},
          {"host", core::to_seconds(breakdown.host)},       {"links_exposed", core::to_seconds(breakdown.links)},
          {"other", core::to_seconds(breakdown.other)}};
}

Json row(const ValidatedRow& row) {
  return {{"family", row.family},
          {"line", row.line},
          {"run", row.label},
          {"status", name(row.status)},
          {"measured_s", nullable<Json>(row.measured_s)},
          {"predicted_s", row.predicted_s},
          {"error", nullable<Json>(row.error)},
          {"time_s", parts(row.breakdown)},
          {"attention_sharing", row.sharing.empty() ? Json(nullptr) : Json(row.sharing)},
          {"fits", row.fits},
          {"measured_bytes", nullable<Json>(row.measured_bytes)},
          {"predicted_bytes", row.predicted_bytes},
          {"memory_error", nullable<Json>(row.memory_error)},
          {"inside_interval", nullable<Json>(row.left_out, &LeftOut::covered)},
          {"doubt", row.doubt.empty() ? Json(nullptr) : Json(row.doubt)},
          {"corrections", row.corrections},
          {"warnings", row.warnings}};
}

}  // namespace

std::string json(const Report& report) {
  Json families = Json::array();
  for (const FamilyResult& result : report.families) families.push_back(family(result));
  Json rows = Json::array();
  for (const ValidatedRow& each : report.rows) rows.push_back(row(each));
  Json intervals = Json::array();
  for (const IntervalScore& each : report.scores) intervals.push_back(interval_score(each));
  Json shared = Json::array();
  for (const SharingScore& each : report.sharing) shared.push_back(sharing(each));
  const Json document = {{"schema", "cairn.validate/1"},           {"ideal", report.ideal},
                         {"families", std::move(families)},        {"intervals", std::move(intervals)},
                         {"attention_sharing", std::move(shared)}, {"rows", std::move(rows)}};
  return core::json_text(document, k_indent) + "\n";
}

}  // namespace cairn::validation
