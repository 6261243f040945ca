#include "split_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "text_report.h"

namespace cairn::report {
namespace {

struct SplitRow {
  std::string operators;
  std::string split;
  std::int64_t more = 0;  // operators of the row but the first
};

class SplitTable : TextReport {
 public:
  SplitTable() : TextReport(false) {}

  std::string make(const std::vector<std::pair<std::string, std::string>>& operators, std::string_view split,
                   std::optional<std::size_t> most) {
    const bool together = most && operators.size() > *most;
    std::vector<SplitRow> rows;
    for (const auto& [name, text] : operators) {
      const auto same = std::ranges::find(rows, text, &SplitRow::split);
      if (together && same != rows.end())
        ++same->more;
      else
        rows.push_back({.operators = name, .split = text});
    }
    const std::size_t shown = std::min(rows.size(), most.value_or(rows.size()));
    std::size_t width = 8;
    for (SplitRow& row : rows)
      if (row.more > 0) row.operators += fmt::format(" and {} more", grouped(row.more));
    for (std::size_t i = 0; i < shown; ++i) width = std::max(width, rows[i].operators.size());
    line("  {:<{}}  {}", "operator", width, split);
    for (std::size_t i = 0; i < shown; ++i) line("  {:<{}}  {}", rows[i].operators, width, rows[i].split);
    if (together)
      line("  {}each operator by itself: --full",
           shown < rows.size()
               ? counted(static_cast<std::int64_t>(rows.size() - shown), "more split, ", "more splits, ")
               : "");
    return std::move(out_);
  }
};

}  // namespace

std::string split_table(const std::vector<std::pair<std::string, std::string>>& operators, std::string_view split,
                        std::optional<std::size_t> most) {
  return SplitTable().make(operators, split, most);
}

std::string against(double found, double other, std::string_view less, std::string_view equal) {
  if (found == other) return std::string(equal);
  constexpr double k_in_percent = 1.1, k_whole = 100.0;  // factors from which, or up to which, that is read best
  const double factor = std::max(found / other, other / found);
  const std::string times =
      factor < k_whole ? fmt::format("{:.3g} times", factor) : grouped(std::llround(std::min(factor, 1e15))) + " times";
  if (found > other) return fmt::format("{} {}", times, equal);
  if (factor < k_in_percent) return fmt::format("{:.2g} % {} than", 100.0 * (1.0 - found / other), less);
  return fmt::format("{} {} than", times, less);
}

}  // namespace cairn::report
