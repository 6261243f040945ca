// What `cairn diff --trace` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/diff_trace.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_diff_trace_schema = "cairn.diff_trace/1";
constexpr int k_diff_indent = 2;

using core::to_seconds;

const Described<profile::ClassUse>& diff_class_use_keys() {
  using profile::ClassUse;
  static const Described<ClassUse> keys{
      {"count", count("kernels and transfers"), &ClassUse::count},
      {"time_s", amount("s, the sum of their durations"), [](const ClassUse& of) { return to_seconds(of.time); }},
      {"of_step_s",
       amount("s of the step that they account for: no instant counts twice, a transfer only where no "
              "computation hides it"),
       [](const ClassUse& of) { return to_seconds(of.counted); }}};
  return keys;
}

const Described<profile::KernelUse>& diff_kernel_use_keys() {
  using profile::KernelUse;
  static const Described<KernelUse> keys{
      {"name", text("of the kernel, operator or transfer"), &KernelUse::name},
      {"class", text("the part that it belongs to"), [](const KernelUse& of) { return profile::id(of.kind); }},
      {"count", count("how many ran"), &KernelUse::count},
      {"time_s", amount("s, the sum of their durations"), [](const KernelUse& of) { return to_seconds(of.time); }}};
  return keys;
}

struct DiffPart {
  const profile::Part& part;
  const profile::Difference& difference;
};

const Described<DiffPart>& diff_part_keys() {
  static const Described<DiffPart> keys{
      {"part", text("a class of kernels or transfers, or `host` or `wait`: idle until the host issues, or otherwise"),
       [](const DiffPart& of) { return of.part.id; }},
      {"group", or_null(text("computation, communication or copies; null: idleness")),
       [](const DiffPart& of) {
         return of.part.kind ? Json(profile::name(profile::group_of(*of.part.kind))) : Json();
       }},
      {"measured", described(diff_class_use_keys().schema(), "what the trace has of it"),
       [](const DiffPart& of) { return diff_class_use_keys().json(of.part.measured); }},
      {"predicted", described(diff_class_use_keys().schema(), "what the prediction has of it"),
       [](const DiffPart& of) { return diff_class_use_keys().json(of.part.predicted); }},
      {"time_difference_s", signed_amount("s, measured less predicted, of the sums of durations"),
       [](const DiffPart& of) { return to_seconds(of.part.time_difference()); }},
      {"difference_s",
       signed_amount("s, measured less predicted, of the step: the parts add up to result.difference_s"),
       [](const DiffPart& of) { return to_seconds(of.part.difference()); }},
      {"share", or_null(signed_amount("of the step's difference; null: there is none")), [](const DiffPart& of) {
         const core::Picoseconds whole = of.difference.difference();
         return whole == 0 ? Json() : Json(static_cast<double>(of.part.difference()) / static_cast<double>(whole));
       }}};
  return keys;
}

struct DiffStream {
  const profile::StreamUse& use;
  core::Picoseconds span;
};

const Described<DiffStream>& diff_stream_keys() {
  static const Described<DiffStream> keys{
      {"stream", text("its name"), [](const DiffStream& of) { return of.use.name; }},
      {"group", text("what most of its time goes to: computation, communication or copies"),
       [](const DiffStream& of) { return profile::name(of.use.group); }},
      {"count", count("kernels and transfers that ran on it"), [](const DiffStream& of) { return of.use.count; }},
      {"busy_s", amount("s of the step in which it does anything"),
       [](const DiffStream& of) { return to_seconds(of.use.busy); }},
      {"idle_s", amount("s of the step in which it does nothing"),
       [](const DiffStream& of) { return to_seconds(of.span - of.use.busy); }}};
  return keys;
}

Key<profile::Summary> summary_time(const char* name, const char* what,
                                   core::Picoseconds (*of)(const profile::Summary&)) {
  return {name, amount(what), [of](const profile::Summary& summary) { return to_seconds(of(summary)); }};
}

const Described<profile::Summary>& diff_side_keys() {
  using profile::Summary;
  static const Described<Summary> keys{
      summary_time("step_s", "s of the step", [](const Summary& of) { return of.span; }),
      summary_time("computation_s", "s in which any computation runs", [](const Summary& of) { return of.busy[0]; }),
      summary_time("communication_s", "s in which any transfer between ranks runs",
                   [](const Summary& of) { return of.busy[1]; }),
      summary_time("hidden_s", "s of these in which computation runs as well",
                   [](const Summary& of) { return of.busy[1] - of.exposed[1]; }),
      summary_time("exposed_s", "s of these in which none does", [](const Summary& of) { return of.exposed[1]; }),
      summary_time("copies_s", "s in which copies from or to the host run",
                   [](const Summary& of) { return of.busy[2]; }),
      summary_time("idle_s", "s in which nothing runs on the device", [](const Summary& of) { return of.idle(); }),
      summary_time("host_s", "s of these until the host has issued what comes next",
                   [](const Summary& of) { return of.host; }),
      {"streams", described(list_of(diff_stream_keys().schema()), "of the device, each on its own"),
       [](const Summary& of) {
         Json all = Json::array();
         for (const profile::StreamUse& each : of.streams)
           all.push_back(diff_stream_keys().json({.use = each, .span = of.span}));
         return all;
       }},
      {"kernels", described(list_of(diff_kernel_use_keys().schema()), "every name once, the longest first"),
       [](const Summary& of) { return diff_kernel_use_keys().list(of.kernels); }}};
  return keys;
}

const Described<profile::StepTimes>& diff_step_keys() {
  using profile::StepTimes;
  static const Described<StepTimes> keys{
      {"name", text("of its annotation; empty: the whole trace"), &StepTimes::name},
      {"time_s", amount("s from its first kernel to that of the next step"),
       [](const StepTimes& of) { return static_cast<double>(of.end - of.start) * 1e-9; }}};
  return keys;
}

const Described<TraceDifference>& diff_trace_keys() {
  static const Described<TraceDifference> keys{
      {"file", text("its name, without folders"), [](const auto& of) { return of.trace.file; }},
      {"rank", or_null(count("of the job; null: the trace does not say")),
       [](const auto& of) { return nullable(of.trace.rank); }},
      {"ranks", or_null(count("of the job; null: the trace does not say")),
       [](const auto& of) { return nullable(of.trace.ranks); }},
      {"device", described(Json{{"type", "integer"}}, "that the kernels ran on"),
       [](const auto& of) { return of.trace.device; }},
      {"steps", described(list_of(diff_step_keys().schema()), "that are annotated and have kernels"),
       [](const auto& of) { return diff_step_keys().list(of.steps); }},
      {"step", text("the one that is compared: asked for, or the median by length"),
       [](const auto& of) { return of.steps[of.chosen].name; }}};
  return keys;
}

const Described<TraceDifference>& diff_result_keys() {
  static const Described<TraceDifference> keys{
      {"sentence", text("the answer in words"), [](const auto& of) { return sentence(of); }},
      {"measured_s", amount("s of the measured step"),
       [](const auto& of) { return to_seconds(of.difference.measured.span); }},
      {"predicted_s", amount("s of the predicted step"),
       [](const auto& of) { return to_seconds(of.difference.predicted.span); }},
      {"difference_s", signed_amount("s, measured less predicted"),
       [](const auto& of) { return to_seconds(of.difference.difference()); }},
      {"parts", described(list_of(diff_part_keys().schema()), "of both steps, the largest difference first"),
       [](const auto& of) {
         Json all = Json::array();
         for (const profile::Part& each : of.difference.parts)
           all.push_back(diff_part_keys().json({.part = each, .difference = of.difference}));
         return all;
       }},
      {"measured", described(diff_side_keys().schema(), "the measured step"),
       [](const auto& of) { return diff_side_keys().json(of.difference.measured); }},
      {"predicted", described(diff_side_keys().schema(), "the predicted step"),
       [](const auto& of) { return diff_side_keys().json(of.difference.predicted); }},
      {"unmatched",
       described(list_of(diff_kernel_use_keys().schema()),
                 "measured kernels whose names fit no class, the longest first"),
       [](const auto& of) { return diff_kernel_use_keys().list(of.difference.unmatched); }}};
  return keys;
}

const Described<TraceDifference>& diff_document_keys() {
  static const Described<TraceDifference> keys{
      {"schema", text(), [](const auto&) { return k_diff_trace_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"experiment", text("the name of the one that was predicted"), [](const auto& of) { return of.experiment; }},
      {"stage", count("of the pipeline, from 0, that the trace is compared with"),
       [](const auto& of) { return of.stage; }},
      {"trace", described(diff_trace_keys().schema(), "what was measured"),
       [](const auto& of) { return diff_trace_keys().json(of); }},
      {"result", described(diff_result_keys().schema(), "how the two differ"),
       [](const auto& of) { return diff_result_keys().json(of); }},
      {"warnings", texts("what makes the comparison less than it could be"),
       [](const auto& of) { return of.warnings; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const TraceDifference& answer) {
  return core::json_text(diff_document_keys().json(answer), k_diff_indent) + "\n";
}

std::string diff_trace_schema() {
  return core::json_text(document(k_diff_trace_schema, diff_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
