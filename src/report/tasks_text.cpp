#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/printable.h"
#include "cairn/report/tasks.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_rank_rows = 12;  // on one screen with the rest

class TasksText : TextReport {
 public:
  TasksText(const Tasks& of, const TextStyle& style) : TextReport(style.color), of_(of), full_(style.full) {}

  std::string make() {
    const std::vector<std::int64_t>& costs = of_.list.costs;
    out_ += wrapped(fmt::format("{} with a cost of {} on {}; no rule leaves the last rank less than {}",
                                counted(std::ssize(costs), "task", "tasks"),
                                grouped(std::accumulate(costs.begin(), costs.end(), std::int64_t{0})),
                                counted(of_.ranks, "rank", "ranks"), grouped(of_.at_least())),
                    "", "");
    line("");
    rules();
    line("");
    line("  most loaded: cost of the rank that ends last; balance: the average over it");
    line("  over least: it over what no rule leaves less than (first line)");
    if (of_.rules.size() == 1 || full_) ranks(of_.rules.back());
    return std::move(out_);
  }

 private:
  void rules() {
    std::size_t width = 11;
    for (const division::SharedTasks& each : of_.rules) width = std::max(width, grouped(each.balance.most).size());
    line("  {:<13}  {:>{}}  {:>7}  {:>7}  {:>10}", "rule", "most loaded", width, "balance", "idle", "over least");
    for (const division::SharedTasks& each : of_.rules)
      line("  {:<13}  {:>{}}  {:>7.3f}  {:>5.1f} %  {:>10}{}", division::name(each.rule), grouped(each.balance.most),
           width, each.balance.balance, 100.0 * each.balance.idle_share, over_least(each),
           each.proven() ? "  proven" : "");
  }

  static std::string over_least(const division::SharedTasks& of) {
    const std::optional<double> over = of.over_least();
    return over ? fmt::format("{:.3f}", *over) : "-";
  }

  // What each rank has of one rule.
  void ranks(const division::SharedTasks& shared) {
    line("");
    line("  {}", division::name(shared.rule));
    std::vector<std::vector<std::size_t>> tasks(static_cast<std::size_t>(of_.ranks));
    for (std::size_t i = 0; i < shared.rank.size(); ++i) tasks[static_cast<std::size_t>(shared.rank[i])].push_back(i);
    const std::size_t shown = full_ ? tasks.size() : std::min(tasks.size(), k_rank_rows);
    std::size_t width = 4;
    for (std::size_t i = 0; i < shown; ++i) width = std::max(width, grouped(shared.balance.load[i]).size());
    line("  {:>6}  {:>{}}  {:>9}  {}", "rank", "cost", width, "tasks", "which");
    for (std::size_t i = 0; i < shown; ++i)
      line("  {:>6}  {:>{}}  {:>9}  {}", i, grouped(shared.balance.load[i]), width, grouped(std::ssize(tasks[i])),
           which(tasks[i], 80 - (2 + 6 + 2 + width + 2 + 9 + 2)));
    if (shown < tasks.size()) line("  {} more ranks: --full", grouped(static_cast<std::int64_t>(tasks.size() - shown)));
  }

  // Their names, or their numbers in the file, as far as there is room.
  std::string which(const std::vector<std::size_t>& tasks, std::size_t room) const {
    constexpr std::string_view k_more = ", ..";
    std::string words;
    for (const std::size_t task : tasks) {
      std::string word = of_.list.names.empty() ? std::to_string(task) : core::printable(of_.list.names[task]);
      if (!words.empty()) word = ", " + word;
      if (!full_ && words.size() + word.size() + k_more.size() > room)
        return words.empty() ? std::string(k_more.substr(2)) : words + std::string(k_more);
      words += word;
    }
    return words;
  }

  const Tasks& of_;
  bool full_;
};

}  // namespace

std::string text(const Tasks& of, const TextStyle& style) { return TasksText(of, style).make(); }

}  // namespace cairn::report
