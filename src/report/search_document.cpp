// What `cairn search` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/search.h"
#include "described.h"
#include "search_words.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_search_schema = "cairn.search/1";

Json search_settings(const SearchSettings& settings) {
  Json all = Json::object();
  for (const auto& [key, value] : settings) all[key] = value;
  return all;
}

struct SearchPlan {
  const search::Plan& plan;
  const Search& search;
  SearchFigures figures;
};
SearchPlan search_plan(const search::Plan& plan, const Search& of) {
  return {.plan = plan, .search = of, .figures = search_figures(of, core::to_seconds(plan.time))};
}

const Described<SearchPlan>& search_plan_keys() {
  static const Described<SearchPlan> keys{
      {"point", count("its number in the space"), [](const SearchPlan& of) { return of.plan.point; }},
      {"strategy", text("its settings, as `strategy` of an experiment takes them"),
       [](const SearchPlan& of) { return strategy_text(of.plan.settings); }},
      {"settings", described(object_of(text()), "the same, key by key"),
       [](const SearchPlan& of) { return search_settings(of.plan.settings); }},
      {"time_s", amount("s of a step, by the analytic engine"),
       [](const SearchPlan& of) { return core::to_seconds(of.plan.time); }},
      {"contended_time_s",
       or_null(amount("s of a step by the event engine where transfers that overlap share links; null: not simulated")),
       [](const SearchPlan& of) { return of.plan.contended ? Json(core::to_seconds(*of.plan.contended)) : Json(); }},
      {"memory_bytes", amount("bytes of the fullest device"),
       [](const SearchPlan& of) { return of.plan.memory_bytes; }},
      {"gpus", count("accelerators of the cluster"),
       [](const SearchPlan& of) { return of.search.machine.network.gpus(); }},
      {"tokens_per_s_per_gpu", amount("tokens/s of one accelerator"),
       [](const SearchPlan& of) { return of.figures.tokens_per_s_per_gpu; }},
      {"usd_per_step", or_null(amount("USD of all accelerators for a step; null: no price is known")),
       [](const SearchPlan& of) { return nullable(of.figures.usd_per_step); }},
      {"joule_per_step", amount("J that all nodes draw in a step"),
       [](const SearchPlan& of) { return of.figures.joule_per_step; }}};
  return keys;
}
Json search_plans(const std::vector<search::Plan>& plans, const Search& of) {
  Json all = Json::array();
  for (const search::Plan& plan : plans) all.push_back(search_plan_keys().json(search_plan(plan, of)));
  return all;
}

const Described<search::Axis>& search_axis_keys() {
  static const Described<search::Axis> keys{
      {"key", text("of the strategy"), &search::Axis::key},
      {"values", texts("that it takes, in the order of points"), [](const search::Axis& of) {
         Json values = Json::array();
         for (const search::AxisValue& value : of.values) values.push_back(value.text);
         return values;
       }}};
  return keys;
}

const Described<search::Refusal>& search_refusal_keys() {
  using search::Refusal;
  static const Described<Refusal> keys{
      {"kind", text("unfit (memory), illegal (settings), or excluded (by a condition)"),
       [](const Refusal& of) { return search::name(of.kind); }},
      {"reason", text("memory, the key that is wrong, or the condition"), &Refusal::reason},
      {"count", count("points that are so"), &Refusal::count},
      {"nearest", text("what the nearest of them lacks, or what one of them says; empty for conditions"),
       &Refusal::nearest},
      {"settings", described(object_of(text()), "of that point; none for conditions"),
       [](const Refusal& of) { return search_settings(of.settings); }}};
  return keys;
}

const Described<Search>& search_space_keys() {
  using search::CellKind;
  const auto points = [](CellKind kind) {
    return [kind](const Search& of) { return of.answer.counts[static_cast<std::size_t>(kind)]; };
  };
  static const Described<Search> keys{
      {"points", count("of the space: combinations of values"), [](const Search& of) { return of.answer.points; }},
      {"evaluated", count("points whose time is known, and which fit as far as tensors go"),
       points(CellKind::evaluated)},
      {"pruned", count("points that a bound proves no faster than what was found"), points(CellKind::pruned)},
      {"unfit", count("points that need more memory than there is"), points(CellKind::unfit)},
      {"illegal", count("points whose settings contradict one another, the model or the machine"),
       points(CellKind::illegal)},
      {"excluded", count("points that a condition leaves out"), points(CellKind::excluded)},
      {"collapsed", count("of these points, plans that are the same as another"),
       [](const Search& of) { return of.answer.collapsed; }},
      {"computed", count("plans whose time was computed"), [](const Search& of) { return of.answer.evaluated; }},
      {"axes",
       described(list_of(search_axis_keys().schema()), "the slowest first: point 0 has the first value of each"),
       [](const Search& of) { return search_axis_keys().list(of.space.axes); }},
      {"conditions", texts("that plans must meet"),
       [](const Search& of) {
         Json all = Json::array();
         for (const search::Condition& each : of.space.conditions) all.push_back(each.expression.text());
         return all;
       }},
      {"infeasible",
       described(list_of(search_refusal_keys().schema()), "why points are no plans, the most frequent first"),
       [](const Search& of) { return search_refusal_keys().list(of.answer.refusals); }}};
  return keys;
}

const Described<Search>& search_certificate_keys() {
  static const Described<Search> keys{
      {"lower_bound_s",
       or_null(amount("s that no step of a plan of this space is below; null: none is legal and fits")),
       [](const Search& of) {
         const auto& bound = of.answer.verdict.lower_bound;
         return bound ? Json(core::to_seconds(*bound)) : Json();
       }},
      {"gap", or_null(ratio("of the best step to that bound, less 1; null: nothing is proven")),
       [](const Search& of) { return nullable(search_gap(of.answer)); }},
      {"complete", flag("whether the whole space was searched; false: it was stopped"),
       [](const Search& of) { return of.answer.complete; }},
      {"defect", text("of the cells, as the checker finds it; empty: they are the whole space"),
       [](const Search& of) { return of.answer.verdict.defect; }},
      {"cells",
       described(list_of(tuple_of({count("the first point"), count("points in a row"), text("what was found of them"),
                                   or_null(amount("s, no plan of them is faster; null where they are no plans"))})),
                 "[first point, points, kind, bound_s]"),
       [](const Search& of) {
         Json all = Json::array();
         for (const search::Cell& cell : of.answer.certificate) {
           const bool plans = cell.kind == search::CellKind::evaluated || cell.kind == search::CellKind::pruned;
           all.push_back(Json::array(
               {cell.first, cell.count, search::name(cell.kind), plans ? Json(core::to_seconds(cell.bound)) : Json()}));
         }
         return all;
       }}};
  return keys;
}

const Described<sweep::Extent::Tried>& search_tried_keys() {
  using Tried = sweep::Extent::Tried;
  static const Described<Tried> keys{{"size", count("accelerators, or tokens of a sequence"), &Tried::size},
                                     {"fits", flag("whether there is a layout that fits"), &Tried::fits},
                                     {"why", text("it does not; else empty"), &Tried::why}};
  return keys;
}

const Described<sweep::Extent>& search_extent_keys() {
  using sweep::Extent;
  static const Described<Extent> keys{
      {"size",
       or_null(count("accelerators, or tokens of a sequence, of the experiment that was searched; null: no layout fits "
                     "at any size, and the experiment is as it was")),
       [](const Extent& of) { return of.size > 0 ? Json(of.size) : Json(); }},
      {"overrides", texts("KEY=VALUE, that make the experiment of this size"), &Extent::overrides},
      {"complete", flag("whether all sizes were tried that had to be; false: it was stopped"), &Extent::complete},
      {"tried", described(list_of(search_tried_keys().schema()), "in order"),
       [](const Extent& of) { return search_tried_keys().list(of.tried); }}};
  return keys;
}

const Described<Search>& search_document_keys() {
  static const Described<Search> keys{
      {"schema", text(), [](const auto&) { return k_search_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"experiment", text("its name"), [](const auto& of) { return of.experiment; }},
      {"method", text("how it was searched"), [](const auto&) { return "branch-and-bound"; }},
      {"objective", text("what the best has most or least of"),
       [](const auto& of) { return search::name(of.objective); }},
      {"capacity_bytes", amount("bytes of a device's memory that processes can have"),
       [](const auto& of) { return of.machine.accelerator.value.process_memory().base(); }},
      Key<Search>{"extent",
                  described(search_extent_keys().schema(),
                            "of an objective that asks how small or how large the experiment may be; else left out"),
                  [](const auto& of) { return of.extent ? search_extent_keys().json(*of.extent) : Json(); }}
          .left_out(),
      {"best", or_null(described(search_plan_keys().schema(), "of the whole space; null: no plan fits")),
       [](const auto& of) {
         const auto& top = of.answer.top;
         return top.empty() ? Json() : search_plan_keys().json(search_plan(top.front(), of));
       }},
      {"top",
       described(
           list_of(search_plan_keys().schema()),
           "of each kind of plan the best, the fastest first; plans of a kind have degrees, micro-batch, schedule "
           "and recomputation in common"),
       [](const auto& of) { return search_plans(of.answer.top, of); }},
      {"pareto",
       described(list_of(search_plan_keys().schema()),
                 "of the plans that were evaluated those that none beats in both time and memory, the fastest first"),
       [](const auto& of) { return search_plans(of.answer.pareto, of); }},
      {"space", described(search_space_keys().schema(), "what was searched"),
       [](const auto& of) { return search_space_keys().json(of); }},
      {"certificate", described(search_certificate_keys().schema(), "why none is better"),
       [](const auto& of) { return search_certificate_keys().json(of); }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Search& of, int indent) {
  return core::json_text(search_document_keys().json(of), indent) + "\n";
}

std::string search_schema() {
  return core::json_text(document(k_search_schema, search_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
