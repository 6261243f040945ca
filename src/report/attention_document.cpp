// What `cairn attention` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/attention.h"
#include "cairn/sequence/other_scheme.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

using attention::BoundRatio;
using attention::Comparison;
using attention::LinkLoad;
using attention::Passes;
using attention::Proof;
using attention::Way;

constexpr const char* k_attention_schema = "cairn.attention/1";
constexpr const char* k_attention_comparison_schema = "cairn.attention-comparison/1";
constexpr const char* k_attention_schemes_schema = "cairn.attention-schemes/1";

const Described<sequence::Grid>& attention_grid_keys() {
  using sequence::Grid;
  static const Described<Grid> keys{
      {"head_ranks", count("ranks that split heads"), &Grid::head_ranks},
      {"heads_inner", flag("whether consecutive ranks split heads; false: they share tokens"), &Grid::heads_inner},
      {"rows", count("rows of ranks that share tokens, of a 2-d scheme; else 1"), &Grid::rows},
      {"columns", count("ranks of a row; of other schemes all that share tokens"), &Grid::columns},
      {"window", count("ranks of an inner ring, of a double ring; else 1"), &Grid::window},
      {"layout", text("which tokens a rank owns: contiguous, striped or zigzag"),
       [](const Grid& grid) { return sequence::name(grid.layout); }}};
  return keys;
}

Json both_passes(const Json& each, std::string_view what) {
  return described(object({{"forward", described(each, "in the forward pass [B]")},
                           {"backward", described(each, "in the backward pass [B]")}}),
                   what);
}

const Described<Proof>& attention_proof_keys() {
  static const Described<Proof> keys{
      {"grid", text("that ran"), [](const Proof& proof) { return sequence::text(proof.grid); }},
      {"tokens", count("that it shared"), [](const Proof& proof) { return proof.problem.tokens; }},
      {"heads", count("of queries"), [](const Proof& proof) { return proof.problem.heads; }},
      {"pairs", count("of queries and keys computed, of all heads"), &Proof::pairs},
      {"largest_error", ratio("of results and gradients against dense attention, over the largest magnitude"),
       &Proof::largest_error},
      {"fault", or_null(text("the first thing that is wrong; null: it computes attention")),
       [](const Proof& proof) { return nullable(proof.fault); }}};
  return keys;
}

const Described<LinkLoad>& attention_link_keys() {
  static const Described<LinkLoad> keys{
      {"level", text("of the network, by its name"), [](const LinkLoad& load) { return load.level; }},
      {"links", count("ports of its units; of more ports than accelerators each accelerator's count as one"),
       &LinkLoad::links},
      {"busiest_bytes", count("B of the link that carries most, in the direction that does"), &LinkLoad::busiest},
      {"mean_bytes", amount("B of a link on average"), &LinkLoad::mean},
      {"over_mean", ratio("the one over the other; 1 where the level carries nothing"),
       [](const LinkLoad& load) { return load.over_mean(); }}};
  return keys;
}

template <class Value>
auto of_standing(Value value) {
  return [value](const Way& of) { return of.stands() ? Json(value(of)) : Json(); };
}
Key<Way> bytes_key(const char* name, const char* what, Passes<std::int64_t> Way::*bytes) {
  const Json each = or_null(count("B"));
  return {name, both_passes(each, what), [bytes](const Way& of) {
            const Passes<std::int64_t>& moved = of.*bytes;
            return of.stands() ? Json{{"forward", moved.forward}, {"backward", moved.backward}}
                               : Json{{"forward", nullptr}, {"backward", nullptr}};
          }};
}
Json seconds_of(const Way& way) {
  const auto time = [&](core::Picoseconds value) { return way.stands() ? Json(core::to_seconds(value)) : Json(); };
  return {{"forward", time(way.time.forward)},
          {"backward", time(way.time.backward)},
          {"compute", time(way.compute)},
          {"exposed", time(way.exposed())}};
}

const Described<Way>& attention_way_keys() {
  const auto time = [](const char* what) { return or_null(amount(what)); };
  static const Described<Way> keys{
      {"name", text("of the scheme, as --scheme takes it"), [](const auto& of) { return of.scheme->name; }},
      {"grid", described(attention_grid_keys().schema(), "how ranks stand"),
       [](const auto& of) { return attention_grid_keys().json(of.grid); }},
      {"feasible", flag("whether it can share this attention"), [](const auto& of) { return of.stands(); }},
      {"reason", or_null(text("why it cannot; null: it can, and what is null below is there")),
       [](const auto& of) { return nullable(of.refusal); }},
      bytes_key("bytes_sent_per_gpu", "of the rank that sends most, payload", &Way::sent),
      bytes_key("bytes_received_per_gpu", "of the rank that receives most, payload", &Way::received),
      {"messages_per_gpu", or_null(count("that a rank sends, both passes")),
       of_standing([](const Way& way) { return way.messages; })},
      {"time_s",
       described(object({{"forward", time("s of the forward pass")},
                         {"backward", time("s of the backward pass; 0: it was not asked for")},
                         {"compute", time("s of both in which kernels run")},
                         {"exposed", time("s of both in which computation waits")}}),
                 "of the operator alone, by the analytic engine"),
       [](const auto& of) { return seconds_of(of); }},
      {"memory_bytes_per_gpu", or_null(count("B of Q, K, V, O, log-sum-exp, their gradients and all buffers")),
       of_standing([](const Way& way) { return way.memory; })},
      {"balance", or_null(ratio("mean over the most of the pairs that ranks compute")),
       of_standing([](const Way& way) { return way.balance; })},
      {"link_loads",
       or_null(described(list_of(attention_link_keys().schema()),
                         "both passes, inner to outer, messages straight from source to destination; null: of more "
                         "than 64 ranks, of what cannot be, or of a grid that is not its scheme's best")),
       [](const Way& of) { return of.links.empty() ? Json() : attention_link_keys().list(of.links); }},
      {"ratio_to_lower_bound", or_null(ratio("bytes received over the lower bound, forward; null: see bound_premise")),
       [](const auto& of) { return nullable(of.bound.forward.ratio); }},
      {"bound_premise", text("what that bound takes for granted, or why there is no ratio"),
       [](const auto& of) { return of.bound.forward.premise; }},
      {"backward_ratio_to_lower_bound", or_null(ratio("the same of the backward pass")),
       [](const auto& of) { return nullable(of.bound.backward.ratio); }},
      {"backward_bound_premise", text("likewise; empty: that pass was not asked for"),
       [](const auto& of) { return of.bound.backward.premise; }},
      {"proof", or_null(described(attention_proof_keys().schema(), "with --prove: its lists run on few tokens")),
       [](const auto& of) { return of.proof ? attention_proof_keys().json(*of.proof) : Json(); }}};
  return keys;
}

struct AttentionDocument {
  const AttentionAnswer& answer;
  const Comparison& comparison;
  const Tool& tool;
  const sequence::Problem& problem() const { return comparison.problem; }
};

const Described<AttentionDocument>& attention_document_keys() {
  static const Described<AttentionDocument> keys{
      {"schema", text(), [](const auto&) { return k_attention_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"cluster", text("its name"), [](const auto& of) { return of.answer.cluster; }},
      {"accelerator", text("its name"), [](const auto& of) { return of.answer.accelerator; }},
      {"kernel", text("that computes attention"), [](const auto& of) { return of.answer.kernel; }},
      {"gpus", count("of the cluster"), [](const auto& of) { return of.comparison.gpus; }},
      {"tensor_ranks", count("that split heads for a whole layer"),
       [](const auto& of) { return of.comparison.tensor_ranks; }},
      {"context_ranks", count("that share each sequence"),
       [](const auto& of) { return of.comparison.gpus / of.comparison.tensor_ranks; }},
      {"tokens", count("of each sequence"), [](const auto& of) { return of.problem().tokens; }},
      {"sequences", count("that each context group has at once"),
       [](const auto& of) { return of.problem().sequences; }},
      {"heads", count("of queries, of one context group"), [](const auto& of) { return of.problem().heads; }},
      {"kv_heads", count("of keys and values, of one context group"),
       [](const auto& of) { return of.problem().kv_heads; }},
      {"head_dim", count("elements of a head"), [](const auto& of) { return of.problem().head_dim; }},
      {"fp32_gradients", flag("whether dQ, dK and dV travel in fp32, not in 16 bits"),
       [](const auto& of) { return of.problem().wire.gradient > 2; }},
      {"causal", flag("whether queries see no later keys"),
       [](const auto& of) { return of.problem().mask == sequence::Mask::causal; }},
      {"lower_bound_bytes",
       both_passes(amount("B"), "that a rank receives at the least, on average, where the premises hold"),
       [](const auto& of) {
         return Json{{"forward", of.comparison.bound_bytes.forward}, {"backward", of.comparison.bound_bytes.backward}};
       }},
      {"schemes",
       described(list_of(attention_way_keys().schema()),
                 "every scheme in every grid, the fastest first; behind them those that cannot"),
       [](const auto& of) { return attention_way_keys().list(of.comparison.ways); }},
      {"assumptions", assumption_list(), [](const auto& of) { return of.comparison.assumptions; }},
      {"warnings", warning_list(), [](const auto& of) { return of.comparison.warnings; }}};
  return keys;
}

const Described<sequence::Scheme>& attention_scheme_keys() {
  using sequence::Scheme;
  static const Described<Scheme> keys{
      {"name", text("as --scheme takes it"), [](const Scheme& of) { return of.name; }},
      {"summary", text("what it does, in a line"), [](const Scheme& of) { return of.summary; }},
      {"splits_heads", flag("whether its grids may have ranks that split heads"), &Scheme::splits_heads},
      {"source", text("where it comes from"), [](const Scheme& of) { return of.source; }}};
  return keys;
}

const Described<sequence::OtherScheme>& other_scheme_keys() {
  using sequence::OtherScheme;
  static const Described<OtherScheme> keys{
      {"name", text("of the scheme"), [](const OtherScheme& of) { return of.name; }},
      {"computes", text("what is shared"), [](const OtherScheme& of) { return of.computes; }},
      {"summary", text("what it does, in a line"), [](const OtherScheme& of) { return of.summary; }},
      {"source", text("where it comes from"), [](const OtherScheme& of) { return of.source; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const AttentionAnswer& answer, const Tool& tool, int indent) {
  const auto document = [&](const Comparison& point) {
    return attention_document_keys().json({.answer = answer, .comparison = point, .tool = tool});
  };
  if (answer.points.size() == 1) return core::json_text(document(answer.points.front()), indent);
  Json all{{"schema", k_attention_comparison_schema}, {"points", Json::array()}};
  for (const Comparison& point : answer.points) all["points"].push_back(document(point));
  return core::json_text(all, indent);
}

std::string attention_schema() {
  return core::json_text(document(k_attention_schema, attention_document_keys().schema()), k_schema_indent);
}

std::string attention_comparison_schema() {
  const Json point = document(k_attention_schema, attention_document_keys().schema());
  return core::json_text(
      document(k_attention_comparison_schema,
               object({{"schema", text()}, {"points", described(list_of(point), "by GPUs, then by tokens")}})),
      k_schema_indent);
}

std::string attention_schemes_json(const Tool& tool) {
  return core::json_text(Json{{"schema", k_attention_schemes_schema},
                              {"tool", made_by(tool)},
                              {"schemes", attention_scheme_keys().list(sequence::schemes())},
                              {"others", other_scheme_keys().list(sequence::other_schemes())}},
                         k_schema_indent);
}

std::string attention_schemes_schema() {
  return core::json_text(
      document(k_attention_schemes_schema,
               object({{"schema", text()},
                       {"tool", tool()},
                       {"schemes", described(list_of(attention_scheme_keys().schema()),
                                             "every scheme of sharing attention there is")},
                       {"others", described(list_of(other_scheme_keys().schema()),
                                            "schemes that share something else, and are not compared")}})),
      k_schema_indent);
}

}  // namespace cairn::report
