// What a placed network answers, key by key.
#include "cairn/config/read.h"
#include "cairn/core/json_text.h"
#include "cairn/report/placements.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_placements_schema = "cairn.placements/1";
constexpr int k_placements_indent = 2;

double part_s(const splits::PlacementRow& row, splits::Part part) { return core::to_seconds(row.times[part]); }

const Described<splits::PlacementRow>& placed_operator_keys() {
  using splits::Part;
  static const Described<splits::PlacementRow> keys{
      {"operator", text("its name"), [](const auto& row) { return row.name; }},
      {"placement", text("what each axis of the mesh does"), [](const auto& row) { return row.signature; }},
      {"time_s", amount("s, of all that follows"), [](const auto& row) { return core::to_seconds(row.times.total()); }},
      {"kernels_s", amount("s, of its kernels, forward and backward"),
       [](const auto& row) { return part_s(row, Part::kernels); }},
      {"parameter_gradients_s", amount("s, of bringing the gradients of its parameters to where these are kept"),
       [](const auto& row) { return part_s(row, Part::parameter_gradients); }},
      {"statistics_s", amount("s, of sums over rows that are split"),
       [](const auto& row) { return part_s(row, Part::statistics); }},
      {"border_s", amount("s, of making whole what leaves the network"),
       [](const auto& row) { return part_s(row, Part::border); }},
      {"boxing_s", amount("s, of changing the placement of what it reads, and of its gradients on their way back"),
       [](const auto& row) { return part_s(row, Part::boxing); }}};
  return keys;
}

const Described<Placements>& placements_document_keys() {
  static const Described<Placements> keys{
      {"schema", text(), [](const auto&) { return k_placements_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"cluster", text("its name"), [](const auto& of) { return of.cluster; }},
      {"time_s", amount("s, one training step without the update of the parameters"),
       [](const auto& of) { return core::to_seconds(of.time); }},
      {"time_ps", count("the same in picoseconds, exactly"), [](const auto& of) { return of.time; }},
      {"memory_bytes", amount("bytes of a device: parameters, gradients, Adam's state and saved tensors"),
       [](const auto& of) { return of.memory.base(); }},
      {"capacity_bytes", amount("bytes that a device has for that"), [](const auto& of) { return of.capacity.base(); }},
      {"fits", flag("whether it has"), [](const auto& of) { return of.fits(); }},
      {"method", or_null(text("how the placements were searched; null: they were given")),
       [](const auto& of) { return of.search ? Json(splits::name(of.search->method)) : Json(); }},
      {"proven", or_null(flag("whether no placements on this mesh take less")),
       [](const auto& of) { return of.search ? Json(of.search->answer.proven) : Json(); }},
      {"bound_s", or_null(amount("s, that nothing which fits takes less than, where memory decided")),
       [](const auto& of) {
         const bool bound = of.search && of.search->answer.bound;
         return bound ? Json(*of.search->answer.bound / core::k_picoseconds_per_second) : Json();
       }},
      {"data_parallel_time_s", or_null(amount("s, of splitting the batch alone")),
       [](const auto& of) {
         constexpr double k_second = core::k_picoseconds_per_second;
         return of.search ? Json(of.search->answer.data_parallel / k_second) : Json();
       }},
      {"operators", described(list_of(placed_operator_keys().schema()), "those of the forward pass, in order"),
       [](const auto& of) { return placed_operator_keys().list(of.answer.operators); }},
      {"strategy",
       described(Json{{"type", "object"}},
                 "what ran, as `cairn schema placements` describes it: cairn run --strategy-file "
                 "takes it, and this document, again"),
       [](const auto& of) { return Json::parse(config::to_json(of.strategy, -1)); }},
      {"assumptions", assumption_list(), [](const auto& of) { return of.assumptions; }},
      {"warnings", warning_list(), [](const auto& of) { return of.warnings; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Placements& of) {
  return core::json_text(placements_document_keys().json(of), k_placements_indent) + "\n";
}

std::string placements_schema() {
  return core::json_text(document(k_placements_schema, placements_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
