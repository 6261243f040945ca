// What `cairn bound` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/schema.h"
#include "schema_parts.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

Json words(const char* what) {
  return Json{{"type", "integer"}, {"minimum", 0}, {"description", std::string("words ") + what}};
}
Json mue() {
  return or_null(ratio("share of the least time of its data movement in its predicted time; null: no calibration"));
}
Json predicted() {
  return or_null(amount("s that calibrated kernels take; null: no accelerator was named, or it has no calibration"));
}

Json operator_of_layer() {
  return object({{"name", text("of the operator")},
                 {"class", text("contraction, normalisation, elementwise or data movement")},
                 {"phase", text("forward or backward")},
                 {"flops", amount("FLOP of one execution")},
                 {"alone_bytes", amount("bytes that it moves on its own, in its best tiles")},
                 {"lower_bytes", amount("bytes that it must move on its own")},
                 {"method", text("how the bound was proved")},
                 {"time_s", predicted()},
                 {"mue", mue()}});
}

Json layer() {
  const Json kind = object({{"flops", amount("FLOP of operators of this class")},
                            {"lower_bytes", amount("bytes that they must move")},
                            {"time_s", predicted()},
                            {"mue", mue()}});
  const Json group = object({{"operators", described(list_of(count()), "places in `operators`, from 0")},
                             {"bytes", amount("bytes that the group moves")},
                             {"chip_bytes", amount("bytes held on the chip at the fullest moment")},
                             {"tiles", described(object_of(count()), "extents of a tile by dimension")}});
  return object({{"name", text("of the class of layers")},
                 {"count", count("layers of this class in the model")},
                 {"flops", amount("FLOP of one such layer")},
                 {"separate_bytes", amount("bytes that the operators must move when each goes through memory")},
                 {"unfused_bytes", amount("bytes that they move so, each in its best tiles")},
                 {"fused_rows_bytes", amount("bytes with operators fused that are no contractions")},
                 {"fused_bytes", amount("bytes with contractions fused, too")},
                 {"layout_copies_bytes",
                  described(object({{"written", amount("bytes of copies between layouts as they are written")},
                                    {"chosen", amount("bytes with layouts chosen to copy least")}}),
                            "what changing the order of dimensions in memory costs")},
                 {"layouts", described(object_of(text()), "the chosen order of dimensions, by tensor")},
                 {"lower_bytes", amount("bytes that any execution of the layer must move")},
                 {"method", text("how that bound was proved")},
                 {"classes", described(object_of(kind), "the same by class of operator")},
                 {"groups", described(list_of(group), "operators that are fused with one another")},
                 {"operators", described(list_of(operator_of_layer()), "one by one")}});
}

// Of a graph on several nodes.
Json side(const char* what) {
  return described(object({{"lower", words("at least")},
                           {"method", text("how that was proved")},
                           {"exact", or_null(words("where the search found them; null: it was not asked, or gave up"))},
                           {"upper", or_null(words("of the best play known; null: none is"))},
                           {"assumptions", assumption_list()}}),
                   what);
}

Json devices() {
  Json result = object({{"devices", amount("devices that share the work")},
                        {"counted", text("whether words are those sent and received together, or each way")},
                        {"words", amount("words that some device must move")},
                        {"method", text("how that was proved")},
                        {"premise", text("under which it holds")},
                        {"algorithms", described(object_of(amount("words of each device")),
                                                 "known ones that work under the premise, by name")},
                        {"left_out", described(object_of(object({{"words", amount("words of each device")},
                                                                 {"reason", text("why it is left out")}})),
                                               "known ones that do not, by name")}});
  result["properties"]["memory_words"] = amount("words that a device holds");
  result["properties"]["total"] = amount("words received by all devices together");
  return described(result, "with --devices: what some of them must exchange");
}

Json moves() {
  return described(object({{"file", text("that was verified")},
                           {"moves", count("moves in it")},
                           {"words", or_null(words("that the play moves; null: it is not legal"))},
                           {"loads", or_null(words("loaded of them"))},
                           {"stores", or_null(words("stored of them"))},
                           {"peak", or_null(words("of fast memory in use at most"))},
                           {"illegal", described(or_null(object({{"line", count("of the file, from 1")},
                                                                 {"reason", text("what the game forbids")}})),
                                                 "the first move that is not allowed; null: all are")}}),
                   "with --moves: a play that was followed");
}

// Those that depend on what was asked.
void add_optional(Json& properties) {
  properties["machine"] = described(
      object({{"name", text("of the accelerator")}, {"lower_s", amount("s that its memory takes for lower_bytes")}}),
      "with --accelerator: its device memory");
  properties["layers"] = described(list_of(layer()), "with --model: its layers, each class once");
  properties["levels"] = described(
      list_of(object({{"name", text("of the memory")},
                      {"units", count("of them on the chip")},
                      {"fast", words("that it and what lies below it hold")},
                      {"words", words("that cross the link above it at least, at the busiest unit")},
                      {"method", text("how that was proved")},
                      {"lower_s", or_null(amount("s that the link takes for them; null: its bandwidth is unknown"))}})),
      "with --accelerator: every level of its memory, from outside to inside");
  properties["devices"] = devices();
  properties["moves"] = moves();
  properties["nodes"] =
      described(object({{"nodes", count("that the graph is spread over")},
                        {"most_values_each", count("values that one of them may compute")},
                        {"received", side("by all nodes together, with memories that hold everything")},
                        {"busiest", side("in and out of one node with --fast words")}}),
                "with --devices, of a graph");
  properties["network"] = described(object({{"name", text("of the cluster")},
                                            {"bytes_per_s", amount("B/s, of one device, each way")},
                                            {"lower_s", amount("s that its links take for what a device must move")}}),
                                    "with --cluster: the links between devices");
  properties["locality"] = described(list_of(object({{"fast", words("of fast memory")},
                                                     {"before", words("moved in the order of the trace")},
                                                     {"after", words("moved in the better order")}})),
                                     "with --locality: memories of many sizes");
}

}  // namespace
}  // namespace schema

std::string bound_schema() {
  Json body = object(
      {{"schema", text()},
       {"tool", tool()},
       {"what", text("the computation, as it was asked for")},
       {"fast", words("of fast memory; 0: none matters")},
       {"game", text("the rules: RBW computes every value once, HK allows recomputation; _slide: a result may replace "
                     "an operand")},
       {"lower", words("that any execution moves between slow and fast memory, loads and stores together")},
       {"upper", or_null(words("that the best execution known moves; null: none is known"))},
       {"exact", or_null(words("that the cheapest of all executions moves; null: it was not asked, or not found"))},
       {"loads", or_null(words("loaded by the best execution known"))},
       {"stores", or_null(words("stored by it"))},
       {"method", text("how `lower` was proved")},
       {"upper_method", or_null(text("how `upper` is attained"))},
       {"assumptions", assumption_list()},
       {"format", text("the number format of a word")},
       {"lower_bytes", amount("bytes of `lower`")},
       {"upper_bytes", or_null(amount("bytes of `upper`"))},
       {"operations", amount("FLOP, or computed vertices of a graph")},
       {"intensity", or_null(amount("FLOP/B: operations over lower_bytes"))},
       {"balance", or_null(amount("FLOP/B of the machine: below it memory limits; null: no accelerator was named"))},
       {"asymptotic", texts("the leading term for large sizes, of each contraction")},
       {"parts",
        described(
            list_of(object({{"what", text("is counted")},
                            {"words", Json{{"type", "integer"}, {"description", "words, which may be taken off"}}}})),
            "what `lower` is made of")},
       {"bounds", described(list_of(object({{"method", text("how it was proved")},
                                            {"words", words("that it says are moved at least")},
                                            {"games", text("in which it holds")}})),
                            "every bound at hand; `lower` is the largest")}});
  add_optional(body["properties"]);
  return core::json_text(document("cairn.bound/1", std::move(body)), k_schema_indent);
}

}  // namespace cairn::report
