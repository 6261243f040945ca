// What `cairn schedule` answers: a pipeline schedule's figures as JSON (cairn.schedule/1) and as text with a picture of
// who does what when; several side by side; all kinds that there are.
//
//   1f1b, 2 stages, 2 micro-batches
//   makespan 9   bubble 33.3 %   longest device 9   activations 2 1
// Of one that is too long for the lines of a terminal the picture shows the beginning and the end.
//   0  |F0 F1    B0----B1----|
//   1  |   F0 B0----F1 B1----|
// A row of the picture is a device, left to right is time. An operation is a letter, its micro-batch and a line to its
// end, or a stretch in its kind's colour with the micro-batch in it.
//
//   bubble = idle / makespan of the device that is idle most
//   longest device = the longest that any takes from its first start to its last end: what an iteration takes where
//   devices that are done begin the next
//   activations in micro-batches of a full 1/stages of the model, the most at once
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/core/quantity.h"
#include "cairn/pipeline/exact_run.h"
#include "cairn/pipeline/filling.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct ScheduleAnswer {
  pipeline::ExactRun run = {};
  pipeline::ExactTimes times = {};
  std::optional<core::Seconds> unit = std::nullopt;  // of the times; absent: none
  double seconds_per_unit() const { return unit ? unit->base() : 1.0; }
  // Of the longest device, that no order under the kind's memory limit can beat; for kinds that search.
  std::optional<pipeline::Fraction> span_lower_bound = std::nullopt;
  // Of one more micro-batch, for pipelines that are never emptied between updates.
  std::optional<pipeline::Fraction> steady = std::nullopt;
  struct StageTimes {
    double forward_s = 0.0;
    double backward_s = 0.0;  // whole
  };
  std::vector<StageTimes> stage_times = {};                 // of stages that differ; `times` are those of the first
  std::optional<pipeline::Filling> filling = std::nullopt;  // where work for the bubbles was given
  std::vector<std::string> assumptions = {};
};

// Where a text goes, part by part.
using Sink = std::function<void(std::string_view)>;

// Operations may be millions: their texts are held a few at a time.
void write_json(const ScheduleAnswer& answer, const Tool& tool, const Sink& sink);
std::string text(const ScheduleAnswer& answer, const TextStyle& style = {});
std::string svg(const ScheduleAnswer& answer);
// Several under the same times: a row each.
std::string json(std::span<const ScheduleAnswer> answers, const Tool& tool, int indent = 2);
std::string text(std::span<const ScheduleAnswer> answers, const TextStyle& style = {});

// Every kind: what it takes, whether it splits backwards, whether its figures are tested against published ones.
std::string schedule_kinds_json(const Tool& tool, int indent = 2);
std::string schedule_kinds_text(const TextStyle& style = {});

}  // namespace cairn::report
