// A list of tasks shared out over ranks that are all alike, before any of them runs, by one rule or by several side by
// side (partition/task_distribution.h has the rules and the bound).
//
//   name,cost
//   shells 0 0 0 0,120
//
// cost: a whole number >= 0 in any unit, the same for all; together up to partition::k_most_cost. name: for people; the
// column may be left out, and the fields of it. Tasks are in the order of the file, from 0 on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/partition/task_distribution.h"

namespace cairn::division {

inline constexpr std::size_t k_most_tasks = std::size_t{1} << 20;

struct TaskList {
  std::vector<std::string> names = {};  // empty where they have none
  std::vector<std::int64_t> costs = {};
};

// Of a table (CSV). Throws core::ConfigurationError with the lines of what is wrong in it.
TaskList read_tasks(const std::filesystem::path& file);

// The policies of partition::Policy, and the search for the least load.
enum class TaskRule : std::uint8_t { blocks, cyclic, least_blocks, longest_first, optimal };
std::span<const TaskRule> task_rules();
std::string_view name(TaskRule rule);  // "least-blocks"
std::vector<std::string> task_rule_names();
std::optional<TaskRule> task_rule_of(std::string_view name);

struct SharedTasks {
  TaskRule rule = TaskRule::blocks;
  std::vector<partition::Rank> rank = {};  // of every task
  partition::BalanceReport balance = {};
  std::int64_t at_least = 0;  // no rule leaves the rank that has most less than this
  bool proven() const { return balance.most == at_least; }
  // most / at_least, 1 where it is proven; nothing where tasks cost nothing.
  std::optional<double> over_least() const {
    if (at_least == 0) return std::nullopt;
    return static_cast<double>(balance.most) / static_cast<double>(at_least);
  }
};

// By each of these rules; what the search for the optimum proves is said of all. Errors: as partition::distribute.
std::vector<SharedTasks> share_tasks(std::span<const std::int64_t> costs, std::int64_t ranks,
                                     std::span<const TaskRule> rules);

}  // namespace cairn::division
