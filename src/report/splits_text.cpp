#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/splits.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_split_rows = 18;  // on one screen

std::string flops(double work) { return core::format(core::Flops::from_base(work), 4); }

// "n 4, k 8": the dimensions that are cut.
std::string split_text(const splits::SplitOperator& op, const splits::Split& split) {
  std::string words;
  for (std::size_t d = 0; d < split.size(); ++d)
    if (split[d] > 1) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", op.dims[d], split[d]);
  return words.empty() ? "whole" : words;
}

class SplitsText : TextReport {
 public:
  SplitsText(const Splits& of, const TextStyle& style) : TextReport(style.color), of_(of), full_(style.full) {}

  std::string make() {
    headline();
    line("");
    table();
    return std::move(out_);
  }

 private:
  struct Row {
    std::string operators;
    std::string split;
  };

  void headline() {
    const splits::SplitAnswer& answer = of_.answer;
    out_ += wrapped(fmt::format("{}, batch {}, on {}: {}, {}", of_.graph, grouped(of_.batch),
                                counted(of_.rules.devices, "device", "devices"), flops(answer.best.cost),
                                answer.proven ? "and no splits cost less" : "the least found"),
                    "", "");
    line("{:.3g} times less than data parallelism ({}), by PaSE's costs", answer.data_parallel / answer.best.cost,
         flops(answer.data_parallel));
    if (!answer.proven) line("not proven: --method pase is exact");
  }

  // One row per operator; where these are too many for a screen, one row for all operators of a split.
  std::vector<Row> rows() const {
    std::vector<Row> rows;
    const std::vector<splits::SplitOperator>& operators = of_.problem.operators;
    const bool together = !full_ && operators.size() > k_split_rows;
    std::vector<std::int64_t> more;  // operators of a row but the first
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const auto option = static_cast<std::size_t>(of_.answer.best.options[i]);
      Row row{.operators = operators[i].name, .split = split_text(operators[i], operators[i].splits[option])};
      const auto same =
          std::find_if(rows.begin(), rows.end(), [&](const Row& other) { return other.split == row.split; });
      if (together && same != rows.end()) {
        ++more[static_cast<std::size_t>(same - rows.begin())];
        continue;
      }
      rows.push_back(std::move(row));
      more.push_back(0);
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (more[i] > 0) rows[i].operators += fmt::format(" and {} more", grouped(more[i]));
    return rows;
  }

  void table() {
    std::vector<Row> all = rows();
    const std::size_t shown = full_ ? all.size() : std::min(all.size(), k_split_rows);
    std::size_t width = 8;
    for (std::size_t i = 0; i < shown; ++i) width = std::max(width, all[i].operators.size());
    line("  {:<{}}  split", "operator", width);
    for (std::size_t i = 0; i < shown; ++i) line("  {:<{}}  {}", all[i].operators, width, all[i].split);
    if (shown < all.size() || of_.problem.operators.size() > k_split_rows)
      line("  {}each operator by itself: --full",
           shown < all.size() ? counted(static_cast<std::int64_t>(all.size() - shown), "more split, ", "more splits, ")
                              : "");
  }

  const Splits& of_;
  bool full_;
};

}  // namespace

std::string text(const Splits& of, const TextStyle& style) { return SplitsText(of, style).make(); }

}  // namespace cairn::report
