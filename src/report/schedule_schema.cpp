// What `cairn schedule` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/schema.h"
#include "schema_parts.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

// Times are seconds where units were given, else the unit of bare numbers.
Json time(const char* what) { return amount(std::string("s, or the unit of bare times: ") + what); }

Json swarm_result() {
  const Json peer = object({{"speed", amount("of a peer that takes the given times: 1")},
                            {"stage", or_null(count("that it serves at first; null: it joins later"))},
                            {"busy", time("in which it worked")},
                            {"lost", time("of work that failures undid")}});
  const Json move = object({{"peer", count("that moved, from 0")},
                            {"from", count("the stage that it left")},
                            {"to", count("the stage that it went to")},
                            {"time", time("when")}});
  return described(object({{"utilisation", ratio("share of what all peers could do")},
                           {"failures", count("of peers")},
                           {"sent_again", count("messages whose peer had failed")},
                           {"peers", described(list_of(peer), "one by one")},
                           {"moves", described(list_of(move), "between stages, in order of time")}}),
                   "of a swarm only: its peers");
}

Json peak_activations(const Json& sets, const char* what) {
  return described(object({{"release_at_b", described(sets, "by device, where the input gradient frees them")},
                           {"release_at_w", described(sets, "by device, where the weight gradient frees them")}}),
                   what);
}

Json times() {
  return described(object({{"unit", text("s, or nothing for bare numbers")},
                           {"forward", time("forward of a micro-batch on a full stage")},
                           {"input_gradient", time("its input gradient")},
                           {"weight_gradient", time("its weight gradient")},
                           {"forward_backward", or_null(time("a forward joined with a backward; null: their sum"))},
                           {"p2p", time("a message between neighbours")},
                           {"stages", described(list_of(object({{"forward", time("of a micro-batch")},
                                                                {"backward", time("of a micro-batch")}})),
                                                "of an experiment: of each stage")}}),
                   "what the operations take");
}

Json result_of_schedule() {
  const Json sets = list_of(amount("micro-batches of a full stage"));
  const Json exact = object({{"makespan", text("as above")},
                             {"span", text("as above")},
                             {"idle", texts("as above")},
                             {"peak_activations", peak_activations(list_of(text()), "as above")}});
  const Json fill = object({{"refresh_interval", count("steps that one round of the work takes")},
                            {"utilisation_before", ratio("share of the makespan in which devices compute")},
                            {"utilisation", ratio("share of the step, with the work done")},
                            {"work_over_bubble", ratio("the work over the idle time of a step")},
                            {"step", time("one step with the work done")}});
  Json result =
      object({{"makespan", time("from the first operation to the last")},
              {"span", time("of the device that is at work longest")},
              {"idle", described(list_of(time("of one device")), "by device: makespan less its work")},
              {"bubble_fraction", ratio("share of the makespan in which the most idle device waits")},
              {"peak_activations", peak_activations(sets, "micro-batches whose activations a device holds at most")},
              {"weight_copies", count("copies of the model in the pipeline")},
              {"weight_versions", described(list_of(count()),
                                            "versions of its weights that a device keeps for gradients to be taken "
                                            "with those of their forward, by device")},
              {"gradient_delays",
               described(list_of(count()),
                         "updates between the forward of a micro-batch and its gradient, at most, by device")},
              {"messages_relative_to_1f1b", ratio("messages over those of 1f1b")},
              {"span_lower_bound", or_null(time("that no order goes below; null: none was asked"))},
              {"steady_state",
               described(or_null(object({{"micro_batch", time("from one micro-batch to the next")},
                                         {"bubble_fraction", ratio("share in which the most idle device waits")}})),
                         "where micro-batch follows micro-batch without end; null: it is not known")},
              {"fill", described(or_null(fill), "with --fill: work done in the bubbles")},
              {"exact", described(exact, "the same as fractions a/b")}});
  result["properties"]["swarm"] = swarm_result();
  return described(result, "what the schedule comes to");
}

// What is said of every schedule, also where several stand side by side.
Json schedule_members() {
  const Json schedule = object({{"kind", text("as `cairn schedule --list` has it")},
                                {"stages", count("devices in the pipeline")},
                                {"micro_batches", count("of one iteration")},
                                {"chunks", count("virtual stages of a device")},
                                {"pieces", count("that a micro-batch is cut into")},
                                {"times", times()}});
  return object({{"schedule", described(schedule, "what was asked")},
                 {"result", result_of_schedule()},
                 {"assumptions", assumption_list()}});
}

}  // namespace
}  // namespace schema

std::string schedule_schema() {
  Json operation = object({{"device", count("from 0; of a swarm the peer")},
                           {"kind", text("forward, backward, input-gradient, weight-gradient, ...")},
                           {"micro_batch", count("from 0")},
                           {"chunk", count("of the device, from 0")},
                           {"start", time("when it begins")},
                           {"end", time("when it ends")}});
  operation["properties"]["joined_with_next"] = described(Json{{"const", true}}, "where two run as one");
  operation["properties"]["stage"] = count("of a swarm, whose peers change theirs");
  operation["properties"]["lost"] = described(Json{{"const", true}}, "of a swarm, where the peer failed");
  Json body = object({{"schema", text()}, {"tool", tool()}});
  const Json members = schedule_members();
  body["properties"].update(members["properties"]);
  for (const Json& key : members["required"]) body["required"].push_back(key);
  body["properties"]["result"]["properties"]["operations"] =
      described(list_of(operation), "everything that devices do, in an order in which it can be done");
  body["properties"]["result"]["required"].push_back("operations");
  return core::json_text(document("cairn.schedule/1", std::move(body)), k_schema_indent);
}

std::string schedule_comparison_schema() {
  return core::json_text(
      document("cairn.schedule-comparison/1",
               object({{"schema", text()},
                       {"tool", tool()},
                       {"schedules", described(list_of(schedule_members()), "the shortest makespan first")}})),
      k_schema_indent);
}

}  // namespace cairn::report
