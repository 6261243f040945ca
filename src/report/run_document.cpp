// What `cairn run` answers, key by key.
#include <cmath>

#include "cairn/config/read.h"
#include "cairn/core/assert.h"
#include "cairn/core/json_text.h"
#include "cairn/numerics/format.h"
#include "cairn/report/run.h"
#include "cairn/report/schema.h"
#include "run_keys.h"
#include "run_words.h"

namespace cairn::report {

using namespace schema;

namespace schema {

const Described<Limit>& limit_keys() {
  static const Described<Limit> keys{{"stage", count("from 0: the one that the others wait for"), &Limit::stage},
                                     {"cause", text("the largest of its causes"), &Limit::cause},
                                     {"sentence", text("both in words"), &Limit::sentence}};
  return keys;
}

namespace {

constexpr const char* k_run_schema = "cairn.run/1";

bool all_finite(const Json& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>());
  if (!value.is_structured()) return true;
  for (const Json& each : value)
    if (!all_finite(each)) return false;
  return true;
}

// A run, and what is computed of it for several keys.
struct RunAnswer {
  const Run& run;
  RunFigures figures;
  models::ParameterCount parameters;
  const predict::Prediction& prediction() const { return run.result.prediction; }
};

struct StageTime {
  std::size_t stage = 0;
  double time_s = 0.0;
};

const Described<StageTime>& stage_time_keys() {
  static const Described<StageTime> keys{
      {"stage", count("of the pipeline, from 0"), &StageTime::stage},
      {"time_s", amount("s in which its computation does not wait for other stages"), &StageTime::time_s}};
  return keys;
}

Json stage_times(const RunAnswer& of) {
  std::vector<StageTime> all;
  for (const core::Picoseconds time : of.prediction().causes.stages)
    all.push_back({.stage = all.size(), .time_s = core::to_seconds(time)});
  return stage_time_keys().list(all);
}

const Described<predict::Volume>& volume_keys() {
  using predict::Volume;
  static const Described<Volume> keys{
      {"sent", amount("bytes that the rank sends in a step"), &Volume::sent},
      {"received", amount("bytes that it receives"), &Volume::received},
      {"scale_up", amount("bytes of those sent that stay inside a domain"), &Volume::scale_up},
      {"scale_out", amount("bytes of those sent that leave it"), &Volume::scale_out}};
  return keys;
}

Json communication_bytes(const RunAnswer& of) {
  Json result = Json::object();
  for (std::size_t i = 0; i < program::k_axes; ++i) {
    const auto axis = static_cast<program::Axis>(i);
    const program::Program& program = of.run.job.program();
    const bool sends = axis == program::Axis::expert ? program.expert_mesh.size(axis) > 1 : program.mesh.size(axis) > 1;
    const predict::Volume& moved = of.prediction().volumes[i];
    if (sends || moved.sent != 0.0) result[std::string(program::label(axis))] = volume_keys().json(moved);
  }
  // Between a rank's own memories: no network.
  const auto copied = [&](const char* label, double sent, double received) {
    if (sent + received > 0.0) result[label] = volume_keys().json({.sent = sent, .received = received});
  };
  const predict::Copies& copies = of.prediction().copies;
  copied("offload", copies.to_host, copies.to_device);
  copied("storage", copies.to_storage, copies.from_storage);
  return result;
}

const Described<RunAnswer>& peak_keys() {
  static const Described<RunAnswer> keys{
      {"type", text("a number format, such as bf16"),
       [](const auto& of) { return numerics::name(of.run.job.peak().format); }},
      {"flop_per_s", amount("FLOP/s by the data sheet"), [](const auto& of) { return of.run.job.peak().rate.base(); }}};
  return keys;
}

const Described<RunAnswer>& parameter_keys() {
  static const Described<RunAnswer> keys{
      {"total", count("parameters of the model"), [](const auto& of) { return of.parameters.total; }},
      {"active", count("of them that one token passes"), [](const auto& of) { return of.parameters.active; }}};
  return keys;
}

const Described<RunAnswer>& cost_keys() {
  static const Described<RunAnswer> keys{
      {"usd_per_step", or_null(amount("USD of all accelerators for the time of a step; null: no price is known")),
       [](const auto& of) { return nullable(of.figures.usd_per_step); }},
      {"joule_per_step", or_null(amount("J that all nodes draw in a step; null: no power is known")),
       [](const auto& of) { return nullable(of.figures.joule_per_step); }}};
  return keys;
}

const Described<RunAnswer>& analytic_keys() {
  static const Described<RunAnswer> keys{{"iteration_time_s", amount("s of one step"), [](const auto& of) {
                                            return core::to_seconds(of.prediction().analytic.time);
                                          }}};
  return keys;
}

Json no_interval(const RunAnswer& of) {
  const experiment::RunIntervals& all = of.run.result.intervals;
  if (all.time) return {};
  return all.none.empty() ? Json("too few runs were measured") : Json(all.none);
}

const Described<RunAnswer>& lower_bound_keys() {
  static const Described<RunAnswer> keys{
      {"plan", described(bounds_keys().schema(), "of this layout: no execution of it takes less"),
       [](const auto& of) { return bounds_keys().json(of.prediction().plan_bounds); }},
      {"problem", described(bounds_keys().schema(), "of the batch on this cluster: no layout of it takes less"),
       [](const auto& of) { return bounds_keys().json(of.prediction().problem_bounds); }}};
  return keys;
}

Json floors_by_class(const RunAnswer& of) {
  Json result = Json::object();
  for (const predict::ClassFloor& row : of.prediction().class_floors) result[row.label] = class_floor_keys().json(row);
  return result;
}

// What is not there is null.
template <class T>
Json json_or_null(const Described<T>& keys, const std::optional<T>& value) {
  return value ? keys.json(*value) : Json();
}

const Described<experiment::Effect>& effect_keys() {
  using experiment::Effect;
  static const Described<Effect> keys{
      {"alternative", text("what may be otherwise, as it reads after \"if\""), &Effect::alternative},
      {"change_s", signed_amount("s of the step then, less s of the step"), &Effect::change_s}};
  return keys;
}

// A figure of the step.
Key<RunAnswer> figure(const char* label, Json what, double RunFigures::*value) {
  return {label, std::move(what), [value](const RunAnswer& of) { return of.figures.*value; }};
}

const Described<RunAnswer>& step_keys() {
  static const Described<RunAnswer> keys{
      {"fits", flag("whether the fullest device's peak is within what processes can have of its memory"),
       [](const auto& of) { return of.prediction().fits; }},
      {"tight", flag("it fits, with less than 5 % of the capacity to spare"),
       [](const auto& of) { return of.prediction().fits && predict::tight(of.prediction().memory); }},
      figure("iteration_time_s", amount("s of one step: forward and backward of the global batch, and the update"),
             &RunFigures::time_s),
      {"interval",
       described(or_null(time_interval_keys().schema()),
                 "step times that nine in ten steps exceed or stay below, and what that rests on; null where nothing "
                 "says how sure the time is"),
       [](const auto& of) { return of.run.result.intervals.time ? time_interval_keys().json(of.run) : Json(); }},
      {"no_interval", or_null(text("why interval is null; null: it is not")), no_interval},
      figure("tokens_per_s", amount("1/s: tokens of the global batch over the time of a step"),
             &RunFigures::tokens_per_s),
      figure("tokens_per_s_per_gpu", amount("1/s: that over the number of accelerators"),
             &RunFigures::tokens_per_s_per_gpu),
      {"model_flops",
       amount("FLOP of the whole job: 3 x forward, attention counted full; of a window, the pairs less than its width "
              "apart"),
       [](const auto& of) { return of.prediction().model_flops; }},
      {"model_flops_causal", amount("FLOP, unmasked attention pairs only"),
       [](const auto& of) { return of.prediction().model_flops_causal; }},
      figure("model_flop_per_s_per_gpu",
             amount("FLOP/s: model_flops over the time of a step and the number of accelerators"),
             &RunFigures::model_flop_per_s_per_gpu),
      figure("mfu", ratio("model_flops over what the dense peak would do; below 2 x mfu_causal"), &RunFigures::mfu),
      figure("mfu_causal", ratio("model_flops_causal over what the dense peak would do"), &RunFigures::mfu_causal),
      figure("hfu",
             ratio("of the dense peak, what is executed: with recomputation, without the pairs that kernels skip"),
             &RunFigures::hfu),
      {"peak",
       described(peak_keys().schema(),
                 "dense, of one accelerator, in the fastest number format that the step's contractions run in"),
       [](const auto& of) { return peak_keys().json(of); }},
      {"time_s",
       described(time_keys().schema(),
                 "s of the step on the rank that ends last, each instant under one label; they add up to "
                 "iteration_time_s"),
       [](const auto& of) { return time_keys().json(of.prediction().breakdown); }},
      {"bubble_s", described(bubble_keys().schema(), "time_s.bubble by what is awaited"),
       [](const auto& of) { return bubble_keys().json(of.prediction().causes.bubble); }},
      {"stages",
       described(list_of(stage_time_keys().schema()),
                 "s of the step in which the stage's computation does not stand still for other stages"),
       stage_times},
      {"causes",
       described(
           list_of(cause_keys().schema()),
           "the step by what it awaits, seen from limit.stage: longest first, adding up to the step; stage: whose "
           "work, message or exchange it is"),
       [](const auto& of) { return cause_keys().list(of.prediction().causes.parts); }},
      {"limit",
       described(limit_keys().schema(),
                 "the stage that the others wait for, the largest of its causes, and that in words"),
       [](const auto& of) { return limit_keys().json(limit(of.prediction())); }},
      {"communication_bytes",
       described(object_of(volume_keys().schema()),
                 "by tp, cp, ep, dp, pp, etp and edp, of the rank that sends most of it; offload, storage: copies to "
                 "(sent) and from (received) the host and drives"),
       communication_bytes},
      {"expert_exchange",
       described(or_null(expert_exchange_keys().schema()),
                 "how tokens travel to experts and back; null where there are none, or all are on one rank"),
       [](const auto& of) { return json_or_null(expert_exchange_keys(), of.prediction().expert_exchange); }},
      {"memory_bytes", described(memory_keys().schema(), "of one device of the fullest stage, at its peak"),
       [](const auto& of) { return memory_keys().json(of.run); }},
      {"why_not",
       described(or_null(why_not_keys().schema()),
                 "of a step that does not fit: the largest part of the memory, on which stage, by how much it is too "
                 "much, and what would make it fit; null where it fits"),
       [](const auto& of) { return json_or_null(why_not_keys(), of.run.result.why_not); }},
      {"lower_bounds_s",
       described(lower_bound_keys().schema(),
                 "s that no execution goes below: of this plan, and of any plan for the problem"),
       [](const auto& of) { return lower_bound_keys().json(of); }},
      {"floors",
       described(object_of(class_floor_keys().schema()),
                 "by kind of kernel and by network: what its pieces move and take, beside the least they must"),
       floors_by_class},
      {"analytic",
       described(or_null(analytic_keys().schema()),
                 "what the evaluation without simulation says; null: it was not asked"),
       [](const auto& of) { return of.prediction().analytic.time > 0 ? analytic_keys().json(of) : Json(); }},
      {"event", described(or_null(event_keys().schema()), "what the simulation says; null: it was not asked"),
       [](const auto& of) { return json_or_null(event_keys(), of.prediction().event); }},
      {"parameters", described(parameter_keys().schema(), "how large the model is"),
       [](const auto& of) { return parameter_keys().json(of); }},
      {"cost", described(or_null(cost_keys().schema()), "what a step costs; null: neither is known"),
       [](const auto& of) {
         return of.figures.usd_per_step || of.figures.joule_per_step ? cost_keys().json(of) : Json();
       }},
      {"training",
       described(or_null(training_keys().schema()),
                 "the whole training; null: the experiment names no training.tokens"),
       [](const auto& of) { return json_or_null(training_keys(), of.figures.training); }},
      Key<RunAnswer>("timeline", timeline_schema(),
                     [](const RunAnswer& of) { return of.run.timeline ? timeline(of.run) : Json(); })
          .left_out(),
      Key<RunAnswer>(
          "effects",
          described(list_of(effect_keys().schema()),
                    "by how much the step time changes where something uncertain is otherwise, the largest "
                    "first; inside pages alone"),
          [](const RunAnswer& of) { return of.run.timeline ? effect_keys().list(of.run.result.effects) : Json(); })
          .left_out(),
      Key<RunAnswer>("in_words",
                     texts("what the report for people begins with: the machine, and the plan; inside pages alone"),
                     [](const RunAnswer& of) {
                       return of.run.timeline ? Json::array({machine_words(of.run), plan_words(of.run)}) : Json();
                     })
          .left_out(),
      Key<RunAnswer>("measured",
                     described(measured_keys().schema(), "a measured step (--measured) against the predicted one"),
                     [](const RunAnswer& of) {
                       return of.run.measured != nullptr ? measured_keys().json(*of.run.measured) : Json();
                     })
          .left_out()};
  return keys;
}

// A file that the answer rests on.
struct Source {
  const config::SourceFile& file;
  const experiment::Job& job;
};

const Described<Source>& source_keys() {
  static const Described<Source> keys{
      {"kind", text("a kind of `cairn config list`"), [](const auto& of) { return of.file.kind; }},
      {"name", text("the bare name, as configurations refer to it"), [](const auto& of) { return of.file.name(); }},
      {"file", text("from its configuration folder on, or from the experiment's; its bare name if it lies elsewhere"),
       [](const auto& of) { return of.file.portable(of.job.home()); }},
      {"hash", text("sha256: and what sha256sum prints for the file"),
       [](const auto& of) { return "sha256:" + of.file.sha256; }}};
  return keys;
}

Json source_list(const experiment::Job& job) {
  Json result = Json::array();
  for (const config::SourceFile& each : job.sources().all())
    result.push_back(source_keys().json({.file = each, .job = job}));
  return result;
}

const Described<RunAnswer>& run_keys() {
  static const Described<RunAnswer> keys{
      {"schema", text(), [](const auto&) { return k_run_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.run.tool); }},
      {"experiment",
       described(Json{{"type", "object"},
                      {"properties", {{"name", text("shown in reports")}}},
                      {"additionalProperties", Json::object()}},
                 "the experiment as it was run, with every default: cairn run takes it again"),
       [](const auto& of) {
         return Json::parse(config::to_json(of.run.job.written_out(experiment::Naming::by_name), -1));
       }},
      {"result", described(step_keys().schema(), "what was predicted"),
       [](const auto& of) { return step_keys().json(of); }},
      {"sources", described(list_of(source_keys().schema()), "the files that the answer rests on"),
       [](const auto& of) { return source_list(of.run.job); }},
      {"assumptions", assumption_list(), [](const auto& of) { return of.run.result.assumptions; }},
      {"warnings", warning_list(), [](const auto& of) { return of.run.job.warnings(); }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Run& run, int indent) {
  const Json document =
      run_keys().json({.run = run,
                       .figures = figures(run),
                       .parameters = models::count_parameters(run.job.transformer(), run.job.model())});
  CAIRN_ASSERT(all_finite(document));
  return core::json_text(document, indent);
}

std::string run_schema() { return document(k_run_schema, run_keys().schema()).dump(k_schema_indent); }

}  // namespace cairn::report
