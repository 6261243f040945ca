#include "cairn/division/tasks.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "cairn/measure/csv.h"
#include "cairn/partition/chain_cut.h"

namespace cairn::division {
namespace {

struct NamedRule {
  TaskRule rule;
  std::string_view name;
};
constexpr std::array k_named_rules{NamedRule{TaskRule::blocks, "blocks"}, NamedRule{TaskRule::cyclic, "cyclic"},
                                   NamedRule{TaskRule::least_blocks, "least-blocks"},
                                   NamedRule{TaskRule::longest_first, "longest-first"},
                                   NamedRule{TaskRule::optimal, "optimal"}};
constexpr std::array k_all_task_rules{TaskRule::blocks, TaskRule::cyclic, TaskRule::least_blocks,
                                      TaskRule::longest_first, TaskRule::optimal};

partition::Policy policy_of(TaskRule rule) {
  switch (rule) {
    case TaskRule::blocks:
      return partition::Policy::block;
    case TaskRule::cyclic:
      return partition::Policy::cyclic;
    case TaskRule::least_blocks:
      return partition::Policy::least_maximum_blocks;
    default:
      return partition::Policy::longest_first;
  }
}

// The column of that name; the number of columns where there is none.
std::size_t column(const measure::CsvTable& table, std::string_view name) {
  return static_cast<std::size_t>(std::find(table.header.begin(), table.header.end(), name) - table.header.begin());
}

void check_header(const measure::CsvTable& table, core::Diagnostics& diagnostics) {
  for (const std::string& each : table.header)
    if (each != "cost" && each != "name")
      diagnostics.add(core::Diagnostic::at_line(table.file, 1, fmt::format("unknown column {}", core::quoted(each)),
                                                "the columns are name and cost"));
  if (column(table, "cost") == table.header.size())
    diagnostics.add(core::Diagnostic::at_line(table.file, 1, "no column cost", "add it to the header: name,cost"));
}

// A whole number that no 64 bits hold.
bool is_too_large(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos && !config::parse_whole(text);
}

}  // namespace

TaskList read_tasks(const std::filesystem::path& file) {
  const measure::CsvTable table = measure::read_csv(file);
  core::Diagnostics diagnostics;
  check_header(table, diagnostics);
  diagnostics.raise_if_errors();
  const std::size_t cost = column(table, "cost");
  const std::size_t name = column(table, "name");
  const auto wrong = [&](int line, std::string message, std::string hint) {
    diagnostics.add(core::Diagnostic::at_line(table.file, line, std::move(message), std::move(hint)));
  };
  TaskList result;
  std::int64_t sum = 0;
  for (const measure::CsvRecord& record : table.records) {
    const std::string& given = record.fields[cost];
    const auto value = config::parse_whole(given);
    if (is_too_large(given) || value.value_or(0) > partition::k_most_cost - sum)
      wrong(record.line, fmt::format("cost: all up to this one add up to more than {}", partition::k_most_cost),
            "give all costs in a larger unit, 12500000 ns as 12500 us, without the unit");
    else if (!value || *value < 0)
      wrong(record.line, fmt::format("cost: expected a whole number >= 0, found {}", core::quoted(given)),
            "give all costs in a smaller unit, 12.5 ms as 12500 us, without the unit");
    else
      sum += *value;
    if (result.costs.size() == k_most_tasks)
      wrong(record.line, fmt::format("more than {} tasks", k_most_tasks), "join those that belong together");
    if (diagnostics.error_count() >= core::k_shown_errors || result.costs.size() == k_most_tasks) break;
    result.costs.push_back(value.value_or(0));
    if (name < table.header.size()) result.names.push_back(record.fields[name]);
  }
  if (table.records.empty()) wrong(1, "no tasks", "give a line for each task below the header");
  diagnostics.raise_if_errors();
  return result;
}

std::span<const TaskRule> task_rules() { return k_all_task_rules; }

std::string_view name(TaskRule rule) { return k_named_rules[static_cast<std::size_t>(rule)].name; }

std::vector<std::string> task_rule_names() {
  std::vector<std::string> names;
  for (const NamedRule& each : k_named_rules) names.emplace_back(each.name);
  return names;
}

std::optional<TaskRule> task_rule_of(std::string_view name) {
  for (const NamedRule& each : k_named_rules)
    if (each.name == name) return each.rule;
  return std::nullopt;
}

namespace {

SharedTasks by_rule(std::span<const std::int64_t> costs, std::int64_t ranks, TaskRule rule) {
  SharedTasks result{.rule = rule};
  if (rule == TaskRule::optimal) {
    partition::ExactDistribution exact = partition::distribute_exactly(costs, ranks);
    result.rank = std::move(exact.rank);
    result.at_least = exact.at_least;
  } else {
    result.rank = partition::distribute(costs, ranks, policy_of(rule));
    result.at_least = partition::least_possible_load(costs, ranks);
  }
  result.balance = partition::balance_report(costs, result.rank, ranks);
  return result;
}

}  // namespace

std::vector<SharedTasks> share_tasks(std::span<const std::int64_t> costs, std::int64_t ranks,
                                     std::span<const TaskRule> rules) {
  std::vector<SharedTasks> all;
  std::int64_t at_least = 0;
  for (const TaskRule rule : rules) {
    all.push_back(by_rule(costs, ranks, rule));
    at_least = std::max(at_least, all.back().at_least);
  }
  for (SharedTasks& each : all) each.at_least = at_least;
  return all;
}

}  // namespace cairn::division
