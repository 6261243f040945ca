// What `cairn sweep` answers, key by key.
#include <cmath>

#include "cairn/core/json_text.h"
#include "cairn/report/rows.h"
#include "cairn/report/sweep.h"
#include "diagnostic_keys.h"
#include "run_keys.h"
#include "search_words.h"
#include "sweep_words.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_sweep_schema = "cairn.sweep/1";

struct SweepPoint {
  const sweep::Point& point;
  RunFigures figures;
};

Key<SweepPoint> sweep_figure(const char* label, Json what, double RunFigures::*value) {
  return {label, std::move(what), [value](const SweepPoint& of) { return of.figures.*value; }};
}

const Described<SweepPoint>& sweep_point_keys() {
  static const Described<SweepPoint> keys{
      {"fits", flag("whether the fullest device's peak is within what processes can have of its memory"),
       [](const auto& of) { return of.point.prediction.fits; }},
      sweep_figure("iteration_time_s", amount("s of one step, by the analytic engine"), &RunFigures::time_s),
      sweep_figure("tokens_per_s", amount("1/s: tokens of the global batch over the time of a step"),
                   &RunFigures::tokens_per_s),
      sweep_figure("tokens_per_s_per_gpu", amount("1/s: that over the number of accelerators"),
                   &RunFigures::tokens_per_s_per_gpu),
      {"gpus", count("accelerators of the cluster"), [](const auto& of) { return of.point.gpus; }},
      {"seq_len", count("tokens of a sequence"), [](const auto& of) { return of.point.seq_len; }},
      {"training_tokens",
       amount("tokens of a training in batches of this size that reaches what training.tokens reach in small ones, or "
              "the tokens that are best for the model; by scaling laws (arXiv 2404.10102, 2001.08361)"),
       [](const auto& of) { return of.point.training_tokens; }},
      {"training_time_s", amount("s that it takes"),
       [](const auto& of) { return of.point.worth(search::Objective::time_to_train).value(); }},
      sweep_figure("mfu", ratio("model FLOPs over what the dense peak would do, as in cairn.run/1"), &RunFigures::mfu),
      sweep_figure("mfu_causal", ratio("the same of unmasked attention pairs only"), &RunFigures::mfu_causal),
      {"memory_bytes", amount("bytes of the fullest device at its peak"),
       [](const auto& of) { return of.point.prediction.memory.device_peak; }},
      {"capacity_bytes", amount("bytes that processes can have of a device's memory"),
       [](const auto& of) { return of.point.prediction.memory.capacity; }},
      {"lower_bound_s", or_null(amount("s that no execution of this plan goes below; null: nothing is proved")),
       [](const auto& of) { return nullable(of.point.prediction.plan_bounds.best_s()); }},
      {"gap", or_null(ratio("of the step to that bound, less 1; null: nothing is proved")),
       [](const auto& of) { return nullable(sweep_gap(of.point)); }},
      {"limit",
       described(limit_keys().schema(),
                 "the stage that the others wait for, the largest of its causes, and that in words"),
       [](const auto& of) { return limit_keys().json(limit(of.point.prediction)); }},
      {"usd_per_step", or_null(amount("USD of all accelerators for the time of a step; null: no price is known")),
       [](const auto& of) { return nullable(of.figures.usd_per_step); }},
      {"joule_per_step", or_null(amount("J that all nodes draw in a step")),
       [](const auto& of) { return nullable(of.figures.joule_per_step); }},
      {"warnings", warning_list(), [](const auto& of) { return of.point.warnings; }}};
  return keys;
}

const Described<sweep::Row>& sweep_search_keys() {
  using sweep::Row;
  static const Described<Row> keys{
      {"strategy", text("the best layout, as `strategy` of an experiment takes it; empty: nothing fits"),
       [](const Row& of) {
         const auto& settings = of.searched->settings;
         return settings.empty() ? std::string() : strategy_text(settings);
       }},
      {"settings", described(object_of(text()), "the same, key by key"),
       [](const Row& of) {
         Json all = Json::object();
         for (const auto& [key, value] : of.searched->settings) all[key] = value;
         return all;
       }},
      {"points", count("of the space: combinations of values"), [](const Row& of) { return of.searched->points; }},
      {"computed", count("plans whose time was computed"), [](const Row& of) { return of.searched->evaluated; }},
      {"lower_bound_s", or_null(amount("s that no layout of the space goes below; null: nothing is proven")),
       [](const Row& of) {
         return of.searched->lower_bound ? Json(core::to_seconds(*of.searched->lower_bound)) : Json();
       }},
      {"gap", or_null(ratio("of the best layout to that bound, less 1; null: nothing is proven")),
       [](const Row& of) { return nullable(sweep_search_gap(of)); }},
      {"complete", flag("whether the whole space was searched; false: it was stopped"),
       [](const Row& of) { return of.searched->complete; }}};
  return keys;
}

struct SweepErrors {
  const std::vector<core::Diagnostic>& all;
};
const Described<SweepErrors>& sweep_error_keys() {
  static const Described<SweepErrors> keys{
      {"diagnostics", described(list_of(diagnostic_keys().schema()), "everything that is wrong, as in cairn.error/1"),
       [](const auto& of) { return diagnostic_keys().list(of.all); }}};
  return keys;
}

struct SweepRow {
  const sweep::Answer& answer;
  const sweep::Row& row;
};
const Described<SweepRow>& sweep_row_keys() {
  static const Described<SweepRow> keys{
      {"values", described(object_of(text()), "what each varied key is, as --set takes it"),
       [](const SweepRow& of) {
         Json all = Json::object();
         for (std::size_t i = 0; i < of.row.values.size(); ++i) all[of.answer.variations[i].key] = of.row.values[i];
         return all;
       }},
      {"result", or_null(described(sweep_point_keys().schema(), "what was predicted; null: see error")),
       [](const SweepRow& of) {
         return of.row.point
                    ? sweep_point_keys().json({.point = *of.row.point, .figures = sweep_figures(*of.row.point)})
                    : Json();
       }},
      {"search", or_null(described(sweep_search_keys().schema(), "what the search found; null: none was asked for")),
       [](const SweepRow& of) { return of.row.searched ? sweep_search_keys().json(of.row) : Json(); }},
      {"error", or_null(described(sweep_error_keys().schema(), "why there is no result; null: there is one")),
       [](const SweepRow& of) {
         return of.row.errors.empty() ? Json() : sweep_error_keys().json({.all = of.row.errors});
       }}};
  return keys;
}

const Described<sweep::Variation>& sweep_variation_keys() {
  static const Described<sweep::Variation> keys{
      {"key", text("its key path in the experiment"), &sweep::Variation::key},
      {"values", texts("that it takes, as --set takes them"), &sweep::Variation::values}};
  return keys;
}

std::string_view sweep_unit(config::Dimension dimension) {
  switch (dimension) {
    case config::Dimension::seconds:
      return "s";
    case config::Dimension::flops_per_second:
      return "FLOP/s";
    case config::Dimension::hertz:
      return "1/s";
    default:
      return "byte/s";
  }
}

const Described<sweep::Elasticity>& elasticity_keys() {
  using sweep::Elasticity;
  static const Described<Elasticity> keys{
      {"key",
       text("the figure: a key of the experiment and what it names; calibration.times: of the software of kernels and "
            "transfers, all together; calibration.channels: of trees between domains"),
       &Elasticity::figure},
      {"value", or_null(amount("what it is, in `unit`; null: it stands for several")),
       [](const Elasticity& of) { return nullable(of.value); }},
      {"unit", text("byte/s, FLOP/s, 1/s or s"), [](const Elasticity& of) { return sweep_unit(of.dimension); }},
      {"elasticity", signed_amount("d ln T / d ln x of the step time T, the mean of both sides"),
       [](const Elasticity& of) { return of.central(); }},
      {"below", signed_amount("the same towards smaller figures"), &Elasticity::below},
      {"above", signed_amount("the same towards larger ones"), &Elasticity::above},
      {"kinked", flag("whether the two sides differ by more than 1 %: something else begins to decide here"),
       [](const Elasticity& of) { return of.kinked(); }}};
  return keys;
}

const Described<sweep::Elasticities>& elasticities_keys() {
  using sweep::Elasticities;
  static const Described<Elasticities> keys{
      {"iteration_time_s", amount("s of a step of the experiment without the variations"),
       [](const Elasticities& of) { return core::to_seconds(of.time); }},
      {"headroom_bytes",
       signed_amount("bytes of a device's memory that this plan leaves free; its time does not depend on the capacity"),
       &Elasticities::headroom},
      {"relative_step", ratio("by which each figure was changed, up and down"),
       [](const Elasticities&) { return sweep::k_step; }},
      {"sum",
       signed_amount("of the elasticities to rates less those to times: -1 but for what does not scale with them"),
       [](const Elasticities& of) { return of.sum(); }},
      {"figures", described(list_of(elasticity_keys().schema()), "the greatest first"),
       [](const Elasticities& of) { return elasticity_keys().list(of.figures); }}};
  return keys;
}

const Described<Sweep>& sweep_document_keys() {
  static const Described<Sweep> keys{
      {"schema", text(), [](const auto&) { return k_sweep_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"experiment", text("its name"), [](const auto& of) { return of.answer.experiment; }},
      {"objective", text("what the best row has most or least of"),
       [](const auto& of) { return search::name(of.objective); }},
      {"vary", described(list_of(sweep_variation_keys().schema()), "the slowest first"),
       [](const auto& of) { return sweep_variation_keys().list(of.answer.variations); }},
      {"complete", flag("whether all rows are there; false: it was stopped"),
       [](const auto& of) { return of.answer.complete; }},
      {"best", or_null(count("the best of the rows that fit, from 0; null: none fits")),
       [](const auto& of) { return nullable(of.answer.best); }},
      {"rows", described(list_of(sweep_row_keys().schema()), "one for each combination of values"),
       [](const auto& of) {
         Json all = Json::array();
         for (const sweep::Row& row : of.answer.rows)
           all.push_back(sweep_row_keys().json({.answer = of.answer, .row = row}));
         return all;
       }},
      {"elasticities",
       or_null(described(elasticities_keys().schema(),
                         "of the step time of the experiment without the variations; null: see no_elasticities")),
       [](const auto& of) {
         return of.answer.elasticities ? elasticities_keys().json(*of.answer.elasticities) : Json();
       }},
      {"no_elasticities",
       or_null(described(sweep_error_keys().schema(),
                         "why there are none: that experiment has no plan; null: there are, or it was stopped")),
       [](const auto& of) {
         return of.answer.no_elasticities.empty() ? Json()
                                                  : sweep_error_keys().json({.all = of.answer.no_elasticities});
       }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Sweep& of, int indent) { return core::json_text(sweep_document_keys().json(of), indent) + "\n"; }

std::string sweep_schema() {
  return core::json_text(document(k_sweep_schema, sweep_document_keys().schema()), k_schema_indent);
}

std::string csv(const Sweep& of) {
  Rows table = rows(json(of));
  Record header;
  for (const sweep::Variation& each : of.answer.variations) header.push_back(each.key);
  header.insert(header.end(), table.columns.begin(), table.columns.end());
  header.emplace_back("error");
  std::string lines = csv_line(header);
  for (std::size_t i = 0; i < table.records.size(); ++i) {
    const sweep::Row& row = of.answer.rows[i];
    Record record = row.values;
    record.insert(record.end(), table.records[i].begin(), table.records[i].end());
    record.push_back(row.errors.empty() ? std::string() : row.errors.front().to_string());
    lines += csv_line(record);
  }
  return lines;
}

}  // namespace cairn::report
