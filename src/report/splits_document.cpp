// What `cairn search --method` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/splits.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_splits_schema = "cairn.splits/1";
constexpr int k_splits_indent = 2;

// One entry per operator, under its name.
template <class Value>
Json by_operator(const Splits& of, Value value) {
  Json all = Json::object();
  for (std::size_t i = 0; i < of.problem.operators.size(); ++i) all[of.problem.operators[i].name] = value(i);
  return all;
}

Json split_of(const Splits& of, std::size_t i) {
  const auto option = static_cast<std::size_t>(of.answer.best.options[i]);
  Json factors = Json::array();
  for (const std::int64_t each : of.problem.operators[i].splits[option]) factors.push_back(each);
  return factors;
}

const Described<Splits>& splits_document_keys() {
  static const Described<Splits> keys{
      {"schema", text(), [](const auto&) { return k_splits_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"network", text("the graph whose operators are split"), [](const auto& of) { return of.graph; }},
      {"batch", count("samples of a step"), [](const auto& of) { return of.batch; }},
      {"devices", count("that operators are split over"), [](const auto& of) { return of.rules.devices; }},
      {"method", text("how it was searched"), [](const auto& of) { return splits::name(of.method); }},
      {"flop_per_word", amount("FLOP done in the time of one word's transfer"),
       [](const auto& of) { return of.rules.flop_per_word; }},
      {"least_extent", count("no part is shorter along a dimension that is split"),
       [](const auto& of) { return of.rules.least_extent; }},
      {"cost", amount("FLOP, transfers as the FLOP that could be done meanwhile"),
       [](const auto& of) { return of.answer.best.cost; }},
      {"proven", flag("whether no splits cost less"), [](const auto& of) { return of.answer.proven; }},
      {"data_parallel_cost", amount("FLOP, of splitting the batch alone"),
       [](const auto& of) { return of.answer.data_parallel; }},
      {"most_combinations", amount("combinations of splits that the exact search looks at for one operator"),
       [](const auto& of) { return of.answer.effort.most_combinations; }},
      {"strategy", described(object_of(list_of(count())), "into how many parts each dimension of an operator is cut"),
       [](const auto& of) { return by_operator(of, [&](std::size_t i) { return split_of(of, i); }); }},
      {"iteration_space", described(object_of(list_of(text())), "names of the dimensions of each operator"),
       [](const auto& of) {
         return by_operator(of, [&](std::size_t i) { return Json(of.problem.operators[i].dims); });
       }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Splits& of) { return core::json_text(splits_document_keys().json(of), k_splits_indent) + "\n"; }

std::string splits_schema() {
  return core::json_text(document(k_splits_schema, splits_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
