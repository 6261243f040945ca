#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/splits.h"
#include "split_table.h"
#include "text_report.h"

namespace cairn::report {
namespace {

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
  void headline() {
    const splits::SplitAnswer& answer = of_.answer;
    out_ += wrapped(fmt::format("{}, batch {}, on {}: {}, {}", of_.graph, grouped(of_.batch),
                                counted(of_.rules.devices, "device", "devices"), flops(answer.best.cost),
                                answer.proven ? "and no splits cost less" : "the least found"),
                    "", "");
    line("{} data parallelism ({}), by PaSE's costs",
         against(answer.best.cost, answer.data_parallel, "less", "as much as"), flops(answer.data_parallel));
    if (!answer.proven) line("not proven: --method pase is exact");
  }

  void table() {
    std::vector<std::pair<std::string, std::string>> operators;
    for (std::size_t i = 0; i < of_.problem.operators.size(); ++i) {
      const splits::SplitOperator& op = of_.problem.operators[i];
      operators.emplace_back(op.name, split_text(op, op.splits[static_cast<std::size_t>(of_.answer.best.options[i])]));
    }
    constexpr std::size_t k_rows = 18;  // on one screen
    out_ += split_table(operators, "split", full_ ? std::nullopt : std::optional(k_rows));
  }

  const Splits& of_;
  bool full_;
};

}  // namespace

std::string text(const Splits& of, const TextStyle& style) { return SplitsText(of, style).make(); }

}  // namespace cairn::report
