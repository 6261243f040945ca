#include "cairn/report/schema.h"

#include <string>

#include "schema_parts.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

Json bounds() {
  const auto bound = [](const char* of) {
    return or_null(amount(std::string("s ") + of + "; null: no such bound is implemented"));
  };
  return object({{"compute", bound("of the longest path on which only contractions take time, at the dense peak")},
                 {"memory", bound("that the least traffic of the busiest stage with device memory takes")},
                 {"network", bound("of the longest path on which only transfers take time, the least they must")},
                 {"together", bound("of the longest path on which kernels and transfers take the least they must")},
                 {"best", bound("of the largest of these")}});
}

// Of a unit that overlapping work shares, as a stage sees it; none where nothing is shared.
Json unit_use() {
  return object({{"unit", text("a link, port or memory that overlapping work shares")},
                 {"stage", count("of the pipeline, from 0, that uses it")},
                 {"ranks", count("ranks that share one of these units")},
                 {"capacity", amount("of an instance, which so many ranks share: B/s; multiprocessors: how many")},
                 {"mean", ratio("of the capacity, over the step")},
                 {"peak", ratio("of the capacity, at any instant")}});
}

Json time_parts() {
  Json result = object({});
  for (const char* label : {"compute", "recompute", "launch", "tp_exposed", "cp_exposed", "ep_exposed", "pp_exposed",
                            "dp_exposed", "offload_exposed", "bubble", "optimizer", "host", "links_exposed", "other"}) {
    result["properties"][label] = amount("s. " + meaning(label));
    result["required"].push_back(label);
  }
  return described(
      result,
      "s of the step on the rank that ends last, each instant under one label; they add up to iteration_time_s");
}

Json bubble_parts() {
  return described(object({{"schedule", amount("s that the pipeline fills and drains")},
                           {"imbalance", amount("s that passes of other stages take longer than its own")},
                           {"transfers", amount("s that transfers of other stages take")},
                           {"ranks", amount("s that slower ranks of its group take")}}),
                   "time_s.bubble by what is awaited");
}

Json causes() {
  const Json cause = text(
      "a term of time_s but bubble and other; imbalance: more work than the average stage has, or a pass of another "
      "stage that takes longer than its own; schedule: the pipeline fills and drains; ranks: slower ranks of a group");
  return described(
      list_of(
          object({{"cause", cause}, {"stage", count("of the pipeline, from 0")}, {"time_s", amount("s of the step")}})),
      "the step by what it awaits, seen from limit.stage: longest first, adding up to the step; stage: "
      "whose work, message or exchange it is");
}

Json memory() {
  const auto bytes = [](const char* label) { return amount("bytes. " + meaning(label)); };
  const Json phase = text("what runs there at that instant, in words");
  const Json stage = object({{"allocated_peak", bytes("allocated_peak")},
                             {"reserved_peak", bytes("reserved_peak")},
                             {"device_peak", bytes("device_peak")},
                             {"parameters", bytes("parameters")},
                             {"gradients", bytes("gradients")},
                             {"optimizer", bytes("optimizer")},
                             {"activations", bytes("activations")},
                             {"workspace", bytes("workspace")},
                             {"host", amount("bytes that this stage keeps in the memory of one node")},
                             {"storage", amount("bytes that this stage keeps on the drives of one node")},
                             {"phase", phase}});
  Json result =
      object({{"allocated_peak", bytes("allocated_peak")},
              {"reserved_peak", bytes("reserved_peak")},
              {"device_peak", bytes("device_peak")},
              {"capacity", bytes("capacity")},
              {"headroom", signed_amount("bytes. " + meaning("headroom"))},
              {"driver", bytes("driver")},
              {"driver_source", text("what the driver's share rests on")},
              {"parameters", bytes("parameters")},
              {"gradients", bytes("gradients")},
              {"optimizer", bytes("optimizer")},
              {"activations", bytes("activations")},
              {"workspace", bytes("workspace")},
              {"host", amount("bytes of offloaded state and activations, at their most, in the memory of one node")},
              {"storage", amount("bytes of offloaded state and activations, at their most, on the drives of one node")},
              {"peak_at", described(object({{"stage", count("from 0")}, {"phase", phase}}),
                                    "where and when the device's peak is")},
              {"stages", described(list_of(stage), "the same for each stage, at its own peak")}});
  return described(result, "of one device of the fullest stage, at its peak");
}

Json result() {
  const Json volume = object({{"sent", amount("bytes that the rank sends in a step")},
                              {"received", amount("bytes that it receives")},
                              {"scale_up", amount("bytes of those sent that stay inside a domain")},
                              {"scale_out", amount("bytes of those sent that leave it")}});
  Json all = object(
      {{"fits", flag("whether the fullest device's peak is within what processes can have of its memory")},
       {"tight", flag("it fits, with less than 5 % of the capacity to spare")},
       {"iteration_time_s", amount("s of one step: forward and backward of the global batch, and the update")},
       {"interval", described(or_null(object({{"p10", amount("s that nine in ten steps exceed")},
                                              {"p90", amount("s that nine in ten steps stay below")},
                                              {"basis", text("what says so")}})),
                              "step times that nine in ten steps exceed or stay below, and what that rests on; null "
                              "where nothing says how sure the time is")},
       {"tokens_per_s", amount("1/s: tokens of the global batch over the time of a step")},
       {"tokens_per_s_per_gpu", amount("1/s: that over the number of accelerators")},
       {"model_flops", amount("FLOP of the whole job: 3 x forward, attention counted full; of a window, the pairs less "
                              "than its width apart")},
       {"model_flops_causal", amount("FLOP, unmasked attention pairs only")},
       {"model_flop_per_s_per_gpu",
        amount("FLOP/s: model_flops over the time of a step and the number of accelerators")},
       {"mfu", ratio("model_flops over what the dense peak would do; below 2 x mfu_causal")},
       {"mfu_causal", ratio("model_flops_causal over what the dense peak would do")},
       {"hfu", ratio("of the dense peak, what is executed: with recomputation, without the pairs that kernels skip")},
       {"peak",
        described(object({{"type", text("a number format, such as bf16")},
                          {"flop_per_s", amount("FLOP/s by the data sheet")}}),
                  "dense, of one accelerator, in the fastest number format that the step's contractions run in")},
       {"time_s", time_parts()},
       {"bubble_s", bubble_parts()},
       {"stages",
        described(list_of(object({{"stage", count("of the pipeline, from 0")},
                                  {"time_s", amount("s in which its computation does not wait for other stages")}})),
                  "s of the step in which the stage's computation does not stand still for other stages")},
       {"causes", causes()},
       {"limit", described(object({{"stage", count("from 0: the one that the others wait for")},
                                   {"cause", text("the largest of its causes")},
                                   {"sentence", text("both in words")}}),
                           "the stage that the others wait for, the largest of its causes, and that in words")},
       {"communication_bytes", described(object_of(volume),
                                         "by tp, cp, ep, dp, pp, etp and edp, of the rank that sends most of it; "
                                         "offload, storage: copies to (sent) and from (received) the host and drives")},
       {"expert_exchange",
        described(or_null(object({{"ranks", count("that exchange tokens")},
                                  {"ranks_per_domain", count("of them in one domain")},
                                  {"bytes", amount("bytes of one rank in the plan's largest exchange with experts")},
                                  {"levels", count("1: all ranks at once, 2: across domains first, then inside")},
                                  {"one_level_s", amount("s of that exchange over all ranks at once")},
                                  {"two_levels_s", amount("s across domains first, then inside")},
                                  {"equal_bytes", or_null(amount("bytes below which two levels are faster"))}})),
                  "how tokens travel to experts and back; null where there are none, or all are on one rank")},
       {"memory_bytes", memory()},
       {"why_not",
        described(
            or_null(object(
                {{"term", text("a key of memory_bytes")},
                 {"stage", count("from 0")},
                 {"over_by_bytes", amount("bytes above the capacity")},
                 {"changes",
                  described(
                      list_of(object({{"settings", described(list_of(text("one KEY=VALUE")), "as --set takes them")},
                                      {"time_s", amount("s of the step with them")},
                                      {"memory_bytes", amount("bytes of the fullest device then")}})),
                      "of one setting, or of two where neither is enough alone, with which it fits; the fastest "
                      "first")}})),
            "of a step that does not fit: the largest part of the memory, on which stage, by how much it is too much, "
            "and what would make it fit; null where it fits")},
       {"lower_bounds_s",
        described(
            object({{"plan", described(bounds(), "of this layout: no execution of it takes less")},
                    {"problem", described(bounds(), "of the batch on this cluster: no layout of it takes less")}}),
            "s that no execution goes below: of this plan, and of any plan for the problem")},
       {"floors",
        described(
            object_of(object({{"bytes", amount("bytes over the step: of kernels those to and from device memory")},
                              {"floor_bytes", amount("bytes that the pieces, each on its own, must move")},
                              {"time_s", amount("s of all pieces, overlapped ones included")},
                              {"floor_s", amount("s that no execution of the pieces goes below")}})),
            "by kind of kernel and by network: what its pieces move and take, beside the least they must")},
       {"analytic", described(or_null(object({{"iteration_time_s", amount("s of one step")}})),
                              "what the evaluation without simulation says; null: it was not asked")},
       {"event",
        described(or_null(object({{"iteration_time_s", amount("s of one step")},
                                  {"events", count("that were simulated")},
                                  {"units", described(list_of(unit_use()),
                                                      "how busy shared units are; none where nothing is shared")}})),
                  "what the simulation says; null: it was not asked")},
       {"parameters", described(object({{"total", count("parameters of the model")},
                                        {"active", count("of them that one token passes")}}),
                                "how large the model is")},
       {"cost",
        described(
            or_null(object(
                {{"usd_per_step",
                  or_null(amount("USD of all accelerators for the time of a step; null: no price is known"))},
                 {"joule_per_step", or_null(amount("J that all nodes draw in a step; null: no power is known"))}})),
            "what a step costs; null: neither is known")},
       {"training",
        described(or_null(object({{"tokens", amount("as the experiment names them")},
                                  {"time_s", amount("s of so many steps, without restarts and checkpoints")},
                                  {"gpu_hours", amount("hours of all accelerators")},
                                  {"usd", or_null(amount("USD of them; null: no price is known"))}})),
                  "the whole training; null: the experiment names no training.tokens")}});
  return described(all, "what was predicted");
}

// A file that the answer rests on.
Json source() {
  return object(
      {{"kind", text("a kind of `cairn config list`")},
       {"name", text("the bare name, as configurations refer to it")},
       {"file", text("from its configuration folder on, or from the experiment's; its bare name if it lies elsewhere")},
       {"hash", text("sha256: and what sha256sum prints for the file")}});
}

}  // namespace
}  // namespace schema

std::string run_schema() {
  return document("cairn.run/1",
                  object({{"schema", text()},
                          {"tool", tool()},
                          {"experiment",
                           described(Json{{"type", "object"},
                                          {"properties", {{"name", text("shown in reports")}}},
                                          {"additionalProperties", Json::object()}},
                                     "the experiment as it was run, with every default: cairn run takes it again")},
                          {"result", result()},
                          {"sources", described(list_of(source()), "the files that the answer rests on")},
                          {"assumptions", assumption_list()},
                          {"warnings", warning_list()}}))
      .dump(k_schema_indent);
}

}  // namespace cairn::report
