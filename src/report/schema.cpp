#include "cairn/report/schema.h"

#include <utility>

#include "schema_parts.h"

#include "cairn/core/json_text.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

Json bounds() {
  const Json bound = or_null(amount("s; null: no such bound is implemented"));
  return object({{"compute", bound}, {"memory", bound}, {"network", bound}, {"together", bound}, {"best", bound}});
}

// Of a unit that overlapping work shares, as a stage sees it; none where nothing is shared.
Json unit_use() {
  return object({{"unit", text()},
                 {"stage", count()},
                 {"ranks", count()},
                 {"capacity", amount("of an instance, which so many ranks share: B/s; multiprocessors: how many")},
                 {"mean", ratio("of the capacity, over the step")},
                 {"peak", ratio("of the capacity, at any instant")}});
}

Json time_parts() {
  const Json s = amount("s");
  return object({{"compute", s},
                 {"recompute", s},
                 {"launch", s},
                 {"tp_exposed", s},
                 {"cp_exposed", s},
                 {"ep_exposed", s},
                 {"pp_exposed", s},
                 {"dp_exposed", s},
                 {"offload_exposed", s},
                 {"bubble", s},
                 {"optimizer", s},
                 {"host", s},
                 {"links_exposed", amount("s after all work, until links that overlapping transfers share have carried "
                                          "everything")},
                 {"other", s}});
}

Json bubble_parts() {
  return described(object({{"schedule", amount("s that the pipeline fills and drains")},
                           {"imbalance", amount("s that passes of other stages take longer than its own")},
                           {"transfers", amount("s that transfers of other stages take")},
                           {"ranks", amount("s that slower ranks of its group take")}}),
                   "time_s.bubble by what is awaited");
}

Json causes() {
  Json cause = described(
      text(),
      "a term of time_s but bubble and other; imbalance: more work than the average stage has, or a pass of another "
      "stage that takes longer than its own; schedule: the pipeline fills and drains; ranks: slower ranks of a group");
  return described(list_of(object({{"cause", std::move(cause)}, {"stage", count()}, {"time_s", amount("s")}})),
                   "the step by what it awaits, seen from limit.stage: longest first, adding up to the step; stage: "
                   "whose work, message or exchange it is");
}

Json memory() {
  const Json b = amount("bytes");
  const Json stage = object({{"allocated_peak", b},
                             {"reserved_peak", b},
                             {"device_peak", b},
                             {"parameters", b},
                             {"gradients", b},
                             {"optimizer", b},
                             {"activations", b},
                             {"workspace", b},
                             {"host", b},
                             {"storage", b},
                             {"phase", text()}});
  return object(
      {{"allocated_peak", b},
       {"reserved_peak", b},
       {"device_peak", b},
       {"capacity", amount("bytes of the device that processes can have")},
       {"headroom", Json{{"type", "number"}, {"description", "bytes of it that are left; negative: that are missing"}}},
       {"driver",
        amount("bytes of the device that are not in its capacity: the driver and error correction have them")},
       {"driver_source", Json{{"type", "string"}, {"description", "what that rests on"}}},
       {"parameters", b},
       {"gradients", b},
       {"optimizer", b},
       {"activations", b},
       {"workspace", b},
       {"host", amount("bytes of offloaded state and activations, at their most, in the memory of one node")},
       {"storage", amount("bytes of offloaded state and activations, at their most, on the drives of one node")},
       {"peak_at", object({{"stage", count()}, {"phase", text()}})},
       {"stages", list_of(stage)}});
}

Json result() {
  const Json s = amount("s");
  const Json b = amount("bytes");
  return object(
      {{"fits", described(flag(), "whether the fullest device's peak is within what processes can have of its memory")},
       {"tight", described(flag(), "it fits, with less than 5 % of the capacity to spare")},
       {"iteration_time_s", s},
       {"interval", described(or_null(object({{"p10", s}, {"p90", s}, {"basis", text()}})),
                              "step times that nine in ten steps exceed or stay below, and what that rests on; null "
                              "where nothing says how sure the time is")},
       {"tokens_per_s", amount("1/s")},
       {"tokens_per_s_per_gpu", amount("1/s")},
       {"model_flops", amount("FLOP of the whole job: 3 x forward, attention counted full; of a window, the pairs less "
                              "than its width apart")},
       {"model_flops_causal", amount("FLOP, unmasked attention pairs only")},
       {"model_flop_per_s_per_gpu", amount("FLOP/s")},
       {"mfu", ratio("model_flops over what the dense peak would do; below 2 x mfu_causal")},
       {"mfu_causal", ratio("model_flops_causal over what the dense peak would do")},
       {"hfu", ratio("of the dense peak, what is executed: with recomputation, without the pairs that kernels skip")},
       {"peak",
        described(object({{"type", text()}, {"flop_per_s", amount("FLOP/s")}}),
                  "dense, of one accelerator, in the fastest number format that the step's contractions run in")},
       {"time_s", described(time_parts(), "by instant of the rank that ends last; they add up to the step")},
       {"bubble_s", bubble_parts()},
       {"stages",
        described(list_of(object({{"stage", count()}, {"time_s", s}})),
                  "s of the step in which the stage's computation does not stand still for other stages")},
       {"causes", causes()},
       {"limit", described(object({{"stage", count()}, {"cause", text()}, {"sentence", text()}}),
                           "the stage that the others wait for, the largest of its causes, and that in words")},
       {"communication_bytes", object_of(object({{"sent", b}, {"received", b}, {"scale_up", b}, {"scale_out", b}}))},
       {"expert_exchange",
        or_null(object({{"ranks", count()},
                        {"ranks_per_domain", count()},
                        {"bytes", amount("bytes of one rank in the plan's largest exchange with experts")},
                        {"levels", count()},
                        {"one_level_s", amount("s of that exchange over all ranks at once")},
                        {"two_levels_s", amount("s across domains first, then inside")},
                        {"equal_bytes", or_null(amount("bytes below which two levels are faster"))}}))},
       {"memory_bytes", memory()},
       {"why_not",
        described(
            or_null(object({{"term", text()},
                            {"stage", count()},
                            {"over_by_bytes", b},
                            {"changes",
                             described(list_of(object({{"settings", described(list_of(text()), "as --set takes them")},
                                                       {"time_s", amount("s of the step with them")},
                                                       {"memory_bytes", amount("bytes of the fullest device then")}})),
                                       "of one setting, or of two where neither is enough alone, with which it fits; "
                                       "the fastest first")}})),
            "of a step that does not fit: the largest part of the memory, on which stage, by how much it is too much, "
            "and what would make it fit; null where it fits")},
       {"lower_bounds_s", described(object({{"plan", bounds()}, {"problem", bounds()}}),
                                    "s that no execution goes below: of this plan, and of any plan for the problem")},
       {"floors",
        described(
            object_of(object({{"bytes", amount("bytes over the step: of kernels those to and from device memory")},
                              {"floor_bytes", amount("bytes that the pieces, each on its own, must move")},
                              {"time_s", amount("s of all pieces, overlapped ones included")},
                              {"floor_s", amount("s that no execution of the pieces goes below")}})),
            "by kind of kernel and by network: what its pieces move and take, beside the least they must")},
       {"analytic", or_null(object({{"iteration_time_s", s}}))},
       {"event", or_null(object({{"iteration_time_s", s}, {"events", count()}, {"units", list_of(unit_use())}}))},
       {"parameters", object({{"total", count()}, {"active", count()}})},
       {"cost",
        or_null(object({{"usd_per_step", or_null(amount("USD"))}, {"joule_per_step", or_null(amount("J"))}}))}});
}

// A file that the answer rests on.
Json source() {
  const auto said = [](const char* what) { return Json{{"type", "string"}, {"description", what}}; };
  return object({{"kind", said("a kind of `cairn config list`")},
                 {"name", text()},
                 {"file", said("from its configuration folder on, or from the experiment's; its bare name if it lies elsewhere")},
                 {"hash", said("sha256: and what sha256sum prints for the file")}});
}

constexpr int k_schema_indent = 2;

}  // namespace
}  // namespace schema

std::string run_schema() {
  return document("cairn.run/1", object({{"schema", text()},
                                         {"tool", object({{"version", text()}, {"build", text()}})},
                                         {"experiment", Json{{"type", "object"}}},
                                         {"result", result()},
                                         {"sources", list_of(source())},
                                         {"assumptions", list_of(text())},
                                         {"warnings", list_of(text())}}))
      .dump(k_schema_indent);
}

namespace schema {
namespace {

Json bound_of_layer() {
  const Json b = amount("bytes");
  const Json flops = amount("FLOP");
  const Json operators =
      object({{"name", text()},
              {"class", text()},
              {"phase", text()},
              {"flops", flops},
              {"alone_bytes", b},
              {"lower_bytes", b},
              {"method", text()},
              {"time_s", or_null(amount("s"))},
              {"mue", or_null(ratio("of the least time of its data movement to its predicted time"))}});
  return object(
      {{"name", text()},
       {"count", count()},
       {"flops", flops},
       {"separate_bytes", b},
       {"unfused_bytes", b},
       {"fused_rows_bytes", b},
       {"fused_bytes", b},
       {"layout_copies_bytes", object({{"written", b}, {"chosen", b}})},
       {"layouts", object_of(text())},
       {"lower_bytes", b},
       {"method", text()},
       {"classes", object_of(object({{"flops", flops},
                                     {"lower_bytes", b},
                                     {"time_s", or_null(amount("s"))},
                                     {"mue", or_null(ratio("data-movement utilisation"))}}))},
       {"groups",
        list_of(
            object({{"operators", list_of(count())}, {"bytes", b}, {"chip_bytes", b}, {"tiles", object_of(count())}}))},
       {"operators", list_of(operators)}});
}

}  // namespace
}  // namespace schema

std::string bound_schema() {
  const Json words = Json{{"type", "integer"}, {"minimum", 0}, {"description", "words"}};
  Json body = object({{"schema", text()},
                      {"tool", object({{"version", text()}, {"build", text()}})},
                      {"what", text()},
                      {"fast", words},
                      {"game", text()},
                      {"lower", words},
                      {"upper", or_null(words)},
                      {"exact", or_null(words)},
                      {"loads", or_null(words)},
                      {"stores", or_null(words)},
                      {"method", text()},
                      {"upper_method", or_null(text())},
                      {"assumptions", list_of(text())},
                      {"format", text()},
                      {"lower_bytes", amount("bytes")},
                      {"upper_bytes", or_null(amount("bytes"))},
                      {"operations", amount("FLOP, or computed vertices of a graph")},
                      {"intensity", or_null(amount("FLOP/B: operations over lower_bytes"))},
                      {"balance", or_null(amount("FLOP/B of the machine"))},
                      {"asymptotic", list_of(text())},
                      {"parts", list_of(object({{"what", text()}, {"words", Json{{"type", "integer"}}}}))},
                      {"bounds", list_of(object({{"method", text()}, {"words", words}, {"games", text()}}))}});
  body["properties"]["machine"] = object({{"name", text()}, {"lower_s", amount("s")}});
  body["properties"]["layers"] = list_of(bound_of_layer());
  body["properties"]["levels"] = list_of(object({{"name", text()},
                                                 {"units", count()},
                                                 {"fast", words},
                                                 {"words", words},
                                                 {"method", text()},
                                                 {"lower_s", or_null(amount("s"))}}));
  body["properties"]["devices"] =
      object({{"devices", amount("1")},
              {"counted", text()},
              {"words", amount("words")},
              {"method", text()},
              {"premise", text()},
              {"algorithms", object_of(amount("words"))},
              {"left_out", object_of(object({{"words", amount("words")}, {"reason", text()}}))}});
  body["properties"]["devices"]["properties"]["memory_words"] = amount("words that a device holds");
  body["properties"]["devices"]["properties"]["total"] = amount("words received by all devices together");
  body["properties"]["moves"] = object({{"file", text()},
                                        {"moves", count()},
                                        {"words", or_null(words)},
                                        {"loads", or_null(words)},
                                        {"stores", or_null(words)},
                                        {"peak", or_null(words)},
                                        {"illegal", or_null(object({{"line", count()}, {"reason", text()}}))}});
  const Json side = object({{"lower", words},
                            {"method", text()},
                            {"exact", or_null(words)},
                            {"upper", or_null(words)},
                            {"assumptions", list_of(text())}});
  body["properties"]["nodes"] =
      object({{"nodes", count()}, {"most_values_each", count()}, {"received", side}, {"busiest", side}});
  body["properties"]["network"] =
      object({{"name", text()}, {"bytes_per_s", amount("B/s, of one device, each way")}, {"lower_s", amount("s")}});
  body["properties"]["locality"] = list_of(object({{"fast", words}, {"before", words}, {"after", words}}));
  return core::json_text(document("cairn.bound/1", std::move(body)), k_schema_indent);
}

namespace schema {
namespace {

Json topology() {
  const Json s = amount("s");
  const Json level = object({{"name", text()},
                             {"kind", text()},
                             {"domains", count()},
                             {"units", count()},
                             {"ports_per_unit", count()},
                             {"port_bytes_per_s", amount("bytes/s")},
                             {"switches", count()},
                             {"diameter", count()},
                             {"bisection_fraction", ratio("of what half of the ports inject")},
                             {"routing", or_null(text())},
                             {"seed", or_null(count())}});
  return object(
      {{"schema", text()},
       {"tool", object({{"version", text()}, {"build", text()}})},
       {"name", text()},
       {"endpoints", count()},
       {"switches", count()},
       {"diameter", count()},
       {"injection_bytes_per_s", amount("bytes/s of one endpoint, one direction")},
       {"bisection_fraction", ratio("of what half of the endpoints inject")},
       {"alltoall_fraction", ratio("of injection, routes spread evenly")},
       {"allreduce_fraction", ratio("amount / time over injection")},
       {"deadlock_free", flag()},
       {"routed", or_null(object({{"alltoall_fraction", ratio("of injection, under the routes as they are")},
                                  {"longest_links", count()},
                                  {"mean_links", amount("links, over all pairs")}}))},
       {"cost_usd", or_null(amount("USD"))},
       {"bill", or_null(object(
                    {{"prices", text()}, {"switches", count()}, {"short_cables", count()}, {"long_cables", count()}}))},
       {"levels", list_of(level)},
       {"flows", or_null(object({{"count", count()},
                                 {"sharing", text()},
                                 {"makespan_s", s},
                                 {"first_finish_s", s},
                                 {"mean_finish_s", s},
                                 {"finish_s", list_of(s)}}))},
       {"assumptions", list_of(text())},
       {"warnings", list_of(text())}});
}

Json swarm_result(const Json& time) {
  const Json peer = object({{"speed", amount("of a peer that takes the given times")},
                            {"stage", or_null(count())},
                            {"busy", time},
                            {"lost", time}});
  const Json move = object({{"peer", count()}, {"from", count()}, {"to", count()}, {"time", time}});
  return object({{"utilisation", ratio("of what all peers could do")},
                 {"failures", count()},
                 {"sent_again", count()},
                 {"peers", list_of(peer)},
                 {"moves", list_of(move)}});
}


// What is said of every schedule, also where several stand side by side.
Json schedule_members() {
  const Json time = amount("s, or the unit of bare times");
  const Json sets = list_of(amount("micro-batches of a full stage, by device"));
  const Json exact_sets = list_of(text());
  const Json times = object({{"unit", text()},
                             {"forward", time},
                             {"input_gradient", time},
                             {"weight_gradient", time},
                             {"forward_backward", or_null(time)},
                             {"p2p", time},
                             {"stages", list_of(object({{"forward", time}, {"backward", time}}))}});
  const Json exact =
      object({{"makespan", text()},
              {"span", text()},
              {"idle", list_of(text())},
              {"peak_activations", object({{"release_at_b", exact_sets}, {"release_at_w", exact_sets}})}});
  const Json fill = object({{"refresh_interval", count()},
                            {"utilisation_before", ratio("of the makespan")},
                            {"utilisation", ratio("of the step")},
                            {"work_over_bubble", ratio("idle time of a step")},
                            {"step", time}});
  Json result =
      object({{"makespan", time},
              {"span", time},
              {"idle", list_of(time)},
              {"bubble_fraction", ratio("of the makespan")},
              {"peak_activations", object({{"release_at_b", sets}, {"release_at_w", sets}})},
              {"weight_copies", count()},
              {"weight_versions", list_of(count())},
              {"gradient_delays", list_of(count())},
              {"messages_relative_to_1f1b", ratio("messages of 1f1b")},
              {"span_lower_bound", or_null(time)},
              {"steady_state",
               or_null(object({{"micro_batch", time}, {"bubble_fraction", ratio("of the most idle device")}}))},
              {"fill", or_null(fill)},
              {"exact", exact}});
  result["properties"]["swarm"] = swarm_result(time);
  const Json schedule = object({{"kind", text()},
                                {"stages", count()},
                                {"micro_batches", count()},
                                {"chunks", count()},
                                {"pieces", count()},
                                {"times", times}});
  return object({{"schedule", schedule}, {"result", result}, {"assumptions", list_of(text())}});
}

}  // namespace
}  // namespace schema

std::string schedule_schema() {
  const Json time = amount("s, or the unit of bare times");
  Json operation = object({{"device", count()},
                           {"kind", text()},
                           {"micro_batch", count()},
                           {"chunk", count()},
                           {"start", time},
                           {"end", time}});
  operation["properties"]["joined_with_next"] = {{"const", true}};  // where two run as one
  operation["properties"]["stage"] = count();                       // of a swarm, whose peers change theirs
  operation["properties"]["lost"] = {{"const", true}};              // of a swarm, where the peer failed
  Json body = object({{"schema", text()}, {"tool", tool()}});
  const Json members = schedule_members();
  body["properties"].update(members["properties"]);
  for (const Json& key : members["required"]) body["required"].push_back(key);
  body["properties"]["result"]["properties"]["operations"] = list_of(operation);
  body["properties"]["result"]["required"].push_back("operations");
  return core::json_text(document("cairn.schedule/1", std::move(body)), k_schema_indent);
}

std::string schedule_comparison_schema() {
  return core::json_text(
      document("cairn.schedule-comparison/1",
               object({{"schema", text()}, {"tool", tool()}, {"schedules", list_of(schedule_members())}})),
      k_schema_indent);
}

std::string topology_schema() { return core::json_text(document("cairn.topology/1", topology()), k_schema_indent); }

std::string topology_comparison_schema() {
  return document("cairn.topology-comparison/1", object({{"schema", text()}, {"networks", list_of(topology())}}))
      .dump(k_schema_indent);
}

std::string error_schema() {
  const Json diagnostic = object({{"severity", text()},
                                  {"file", text()},
                                  {"line", count()},
                                  {"column", count()},
                                  {"key_path", text()},
                                  {"message", text()},
                                  {"hint", text()}});
  return document("cairn.error/1",
                  object({{"schema", text()}, {"line", or_null(count())}, {"diagnostics", list_of(diagnostic)}}))
      .dump(k_schema_indent);
}

}  // namespace cairn::report
