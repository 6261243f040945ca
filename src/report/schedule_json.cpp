#include "schedule_json.h"

#include <nlohmann/json.hpp>

#include "cairn/core/json_text.h"
#include "cairn/swarm/swarm.h"
#include "long_list.h"

namespace cairn::report {
namespace {

using Json = nlohmann::ordered_json;
using pipeline::Fraction;

Json exact(const std::vector<Fraction>& values) {
  Json list = Json::array();
  for (const Fraction& value : values) list.push_back(to_string(value));
  return list;
}
Json numbers(const std::vector<Fraction>& values, double scale = 1.0) {
  Json list = Json::array();
  for (const Fraction& value : values) list.push_back(value.value() * scale);
  return list;
}

Json times_json(const ScheduleAnswer& answer) {
  const pipeline::ExactTimes& times = answer.times;
  const auto amount = [&](const Fraction& time) { return Json(time.value() * answer.seconds_per_unit()); };
  Json json{{"unit", answer.unit ? "s" : ""},
            {"forward", amount(times.forward)},
            {"input_gradient", amount(times.input_gradient)},
            {"weight_gradient", amount(times.weight_gradient)},
            {"forward_backward", nullptr},
            {"p2p", amount(times.delay)}};
  if (times.forward_backward) json["forward_backward"] = amount(*times.forward_backward);
  json["stages"] = Json::array();
  for (const ScheduleAnswer::StageTimes& stage : answer.stage_times)
    json["stages"].push_back({{"forward", stage.forward_s}, {"backward", stage.backward_s}});
  return json;
}

Json result_json(const ScheduleAnswer& answer, const ScheduleFigures& f) {
  const double s = answer.seconds_per_unit();
  Json json{{"makespan", f.makespan.value() * s},
            {"span", f.span.value() * s},
            {"idle", numbers(f.idle, s)},
            {"bubble_fraction", f.bubble.value()},
            {"peak_activations",
             {{"release_at_b", numbers(f.peak_release_at_b)}, {"release_at_w", numbers(f.peak_release_at_w)}}},
            {"weight_copies", f.weight_copies},
            {"weight_versions", f.weight_versions},
            {"gradient_delays", f.gradient_delays},
            {"messages_relative_to_1f1b", f.messages},
            {"span_lower_bound", nullptr},
            {"steady_state", nullptr},
            {"fill", nullptr},
            {"exact",
             {{"makespan", to_string(f.makespan)},
              {"span", to_string(f.span)},
              {"idle", exact(f.idle)},
              {"peak_activations",
               {{"release_at_b", exact(f.peak_release_at_b)}, {"release_at_w", exact(f.peak_release_at_w)}}}}}};
  if (answer.steady)
    json["steady_state"] = {{"micro_batch", answer.steady->value() * s}, {"bubble_fraction", f.steady_bubble}};
  if (answer.span_lower_bound) json["span_lower_bound"] = answer.span_lower_bound->value() * s;
  if (answer.filling)
    json["fill"] = {{"refresh_interval", answer.filling->interval},
                    {"utilisation_before", answer.filling->utilisation_before},
                    {"utilisation", answer.filling->utilisation},
                    {"work_over_bubble", answer.filling->work_over_bubble},
                    {"step", answer.run.in_units(answer.filling->step).value() * s}};
  return json;
}

Json schedule_json(const ScheduleAnswer& answer) {
  const pipeline::Schedule& schedule = answer.run.schedule;
  return {{"kind", schedule.kind},
          {"stages", schedule.stages},
          {"micro_batches", schedule.micro_batches / schedule.pieces},
          {"chunks", schedule.chunks},
          {"pieces", schedule.pieces},
          {"times", times_json(answer)}};
}

Json document(const char* schema, const Tool& tool) {
  return {{"schema", schema}, {"tool", {{"version", tool.version}, {"build", tool.build}}}};
}

}  // namespace

Json schedule_document(const ScheduleAnswer& answer, const ScheduleFigures& figures, const Tool& tool) {
  Json json = document("cairn.schedule/1", tool);
  json["schedule"] = schedule_json(answer);
  json["result"] = result_json(answer, figures);
  json["assumptions"] = answer.assumptions;
  return json;
}

void write_json(const ScheduleAnswer& answer, const Tool& tool, const Sink& sink) {
  Json document = schedule_document(answer, figures(answer), tool);
  document["result"]["operations"] = Json::array();
  const pipeline::ExactRun& run = answer.run;
  Json operation;
  write_long_list(
      document, "operations", run.order.steps.size(),
      [&](std::size_t i) -> const Json& {
        const pipeline::SweepStep& step = run.order.steps[i];
        operation["device"] = run.order.row_device[step.device];
        operation["kind"] = pipeline::name(step.operation.phase);
        operation["micro_batch"] = step.operation.micro_batch;
        operation["chunk"] = step.operation.chunk;
        operation["start"] = run.in_units(run.result.start[i]).value() * answer.seconds_per_unit();
        operation["end"] = run.in_units(run.result.end[i]).value() * answer.seconds_per_unit();
        if (step.operation.joined)
          operation["joined_with_next"] = true;
        else
          operation.erase("joined_with_next");
        return operation;
      },
      sink);
}

std::string json(std::span<const ScheduleAnswer> answers, const Tool& tool, int indent) {
  Json json = document("cairn.schedule-comparison/1", tool);
  json["schedules"] = Json::array();
  for (const ScheduleAnswer& answer : answers)
    json["schedules"].push_back({{"schedule", schedule_json(answer)},
                                 {"result", result_json(answer, figures(answer))},
                                 {"assumptions", answer.assumptions}});
  return core::json_text(json, indent);
}

std::string schedule_kinds_json(const Tool& tool, int indent) {
  Json json = document("cairn.schedule-kinds/1", tool);
  json["kinds"] = Json::array();
  for (const pipeline::Generator& kind : pipeline::generators())
    json["kinds"].push_back({{"kind", std::string(kind.kind)},
                             {"summary", std::string(kind.summary)},
                             {"options", pipeline::option_names(kind)},
                             {"splits_backward", kind.splits},
                             {"goldens", kind.goldens},
                             {"source", std::string(kind.source)}});
  json["kinds"].push_back({{"kind", std::string(swarm::k_kind)},
                           {"summary", std::string(swarm::k_summary)},
                           {"options", swarm::option_names()},
                           {"splits_backward", false},
                           {"goldens", true},
                           {"source", std::string(swarm::k_source)}});
  return core::json_text(json, indent);
}

}  // namespace cairn::report
