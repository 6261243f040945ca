#include "cairn/division/tasks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"

namespace cairn::division {
namespace {

std::filesystem::path file_of(const std::string& text) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "cairn_division_tasks.csv";
  std::ofstream(file) << text;
  return file;
}

std::string complaint(const std::string& text) {
  try {
    read_tasks(file_of(text));
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

// The least largest load of all ways of giving each task to a rank.
std::int64_t brute_force(const std::vector<std::int64_t>& costs, std::size_t task, std::vector<std::int64_t>& load) {
  if (task == costs.size()) return *std::max_element(load.begin(), load.end());
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t& each : load) {
    each += costs[task];
    best = std::min(best, brute_force(costs, task + 1, load));
    each -= costs[task];
  }
  return best;
}

TEST_CASE("Tasks are read with their names, or without") {
  const TaskList named = read_tasks(file_of("name,cost\nab,3\n\"c, d\",0\n"));
  CHECK(named.names == std::vector<std::string>{"ab", "c, d"});
  CHECK(named.costs == std::vector<std::int64_t>{3, 0});
  const TaskList bare = read_tasks(file_of("cost\n7\n"));
  CHECK(bare.names.empty());
  CHECK(bare.costs == std::vector<std::int64_t>{7});
}

TEST_CASE("What is wrong with a list of tasks is told with its line") {
  CHECK(complaint("name,cost\na,1.5\n").find(":2:") != std::string::npos);
  CHECK(complaint("name,cost\na,1.5\n").find("whole number") != std::string::npos);
  CHECK(complaint("name,cost\na,1\nb,-2\n").find(":3:") != std::string::npos);
  CHECK(complaint("name,price\na,1\n").find("price") != std::string::npos);
  CHECK(complaint("name\na\n").find("no column cost") != std::string::npos);
  CHECK(complaint("name,cost\n").find("no tasks") != std::string::npos);
  // A cost that no 64 bits hold, and two that together are too much.
  for (const char* const text : {"cost\n5\n99999999999999999999\n", "cost\n2305843009213693951\n1\n"}) {
    CHECK(complaint(text).find(":3:") != std::string::npos);
    CHECK(complaint(text).find("larger unit") != std::string::npos);
  }
  CHECK(complaint("cost\n2305843009213693951\n0\n").empty());
}

// By hand: 5 4 3 3 3 on two ranks. Blocks: 5 + 4 + 3 = 12. Cyclic: 5 + 3 + 3 = 11. Best blocks: 5 + 4 = 9 and 9.
// Longest first: 5 + 3 and 4 + 3 + 3 = 10. Nothing is below 18 / 2 = 9.
TEST_CASE("Five tasks on two ranks by each rule") {
  const std::vector<std::int64_t> costs{5, 4, 3, 3, 3};
  const std::vector<SharedTasks> shared = share_tasks(costs, 2, task_rules());
  std::vector<std::int64_t> most;
  for (const SharedTasks& each : shared) {
    most.push_back(each.balance.most);
    CHECK(each.at_least == 9);
    CHECK(each.proven() == (each.balance.most == 9));
    CHECK(each.over_least() == static_cast<double>(each.balance.most) / 9.0);
  }
  CHECK(most == std::vector<std::int64_t>{12, 11, 9, 10, 9});
}

TEST_CASE("The optimum is that of all distributions, and no rule is below it") {
  core::Random random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int64_t> costs;
    const auto tasks = 1 + random.below(8);
    for (std::uint64_t i = 0; i < tasks; ++i) costs.push_back(static_cast<std::int64_t>(random.below(30)));
    const auto ranks = static_cast<std::int64_t>(1 + random.below(3));
    std::vector<std::int64_t> load(static_cast<std::size_t>(ranks));
    const std::int64_t least = brute_force(costs, 0, load);
    for (const SharedTasks& each : share_tasks(costs, ranks, task_rules())) {
      CHECK(each.balance.most >= least);
      CHECK(each.at_least == least);
      if (each.rule == TaskRule::optimal) CHECK(each.balance.most == least);
    }
  }
}

// 2 2 2 on two ranks: 3 each by their sum, 4 since one rank has two of them.
TEST_CASE("How far a rule is from the least is told of what is proven, and not where tasks cost nothing") {
  for (const SharedTasks& each : share_tasks(std::vector<std::int64_t>{2, 2, 2}, 2, task_rules()))
    CHECK(each.over_least() == 1.0);
  for (const SharedTasks& each : share_tasks(std::vector<std::int64_t>{0, 0}, 2, task_rules())) {
    CHECK_FALSE(each.over_least());
    CHECK(each.proven());
  }
}

TEST_CASE("Every rule has a name of its own") {
  for (const TaskRule rule : task_rules()) CHECK(task_rule_of(name(rule)) == rule);
  CHECK(task_rule_names().size() == task_rules().size());
  CHECK_FALSE(task_rule_of("best"));
}

}  // namespace
}  // namespace cairn::division
