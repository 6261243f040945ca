// What `cairn partition --tasks` answers, key by key.
#include <numeric>

#include "cairn/core/json_text.h"
#include "cairn/report/tasks.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_tasks_schema = "cairn.tasks/1";
constexpr int k_tasks_indent = 2;

const Described<division::SharedTasks>& shared_tasks_keys() {
  static const Described<division::SharedTasks> keys{
      {"rule", text("by which tasks were shared out"), [](const auto& of) { return division::name(of.rule); }},
      {"most", count("cost of the rank that has most"), [](const auto& of) { return of.balance.most; }},
      {"mean", amount("cost of a rank on average"), [](const auto& of) { return of.balance.mean; }},
      {"balance", ratio("mean over most; 1 where tasks cost nothing"),
       [](const auto& of) { return of.balance.balance; }},
      {"idle_share", ratio("of all ranks' time until the last one ends"),
       [](const auto& of) { return of.balance.idle_share; }},
      {"over_least", or_null(ratio("most over at_least; null: tasks cost nothing")),
       [](const auto& of) { return nullable(of.over_least()); }},
      {"proven", flag("whether no rule gives a smaller most"), [](const auto& of) { return of.proven(); }},
      {"load", described(list_of(count()), "cost of each rank"), [](const auto& of) { return of.balance.load; }},
      {"rank", described(list_of(count()), "the rank of each task, in the order of the file"),
       [](const auto& of) { return of.rank; }}};
  return keys;
}

const Described<Tasks>& tasks_document_keys() {
  static const Described<Tasks> keys{
      {"schema", text(), [](const auto&) { return k_tasks_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"tasks", count("how many there are"), [](const auto& of) { return of.list.costs.size(); }},
      {"cost", count("of all tasks together"),
       [](const auto& of) { return std::accumulate(of.list.costs.begin(), of.list.costs.end(), std::int64_t{0}); }},
      {"ranks", count("that tasks are shared out over"), [](const auto& of) { return of.ranks; }},
      {"at_least",
       count("no way of sharing tasks out gives the rank that has most less than this: by the costs alone, or as far "
             "as the rule optimal has proven"),
       [](const auto& of) { return of.at_least(); }},
      {"rules", described(list_of(shared_tasks_keys().schema()), "what each rule makes of the tasks"),
       [](const auto& of) { return shared_tasks_keys().list(of.rules); }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Tasks& of) { return core::json_text(tasks_document_keys().json(of), k_tasks_indent) + "\n"; }

std::string tasks_schema() {
  return core::json_text(document(k_tasks_schema, tasks_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
