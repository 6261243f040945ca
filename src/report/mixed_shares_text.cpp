#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "mixed_shares_rows.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_group_rows = 10;  // on one screen with the rest

std::string share_bytes(std::int64_t bytes) { return core::format(core::Bytes::from_base(static_cast<double>(bytes))); }

class MixedSharesText : TextReport {
 public:
  MixedSharesText(const MixedSharesReport& of, const TextStyle& style)
      : TextReport(style.color), of_(of), full_(style.full) {}

  std::string make() {
    const division::MixedShares& answer = of_.answer;
    if (!answer.best) return none();
    out_ += wrapped(fmt::format("{}: {} a step of {} on {} of {}", of_.experiment, shown_time(answer.best->step_time),
                                counted(answer.problem.samples, "sequence", "sequences"),
                                counted(std::ssize(answer.best->ranks), "accelerator", "accelerators"),
                                counted(std::ssize(of_.groups), "kind", "kinds")),
                    "", "");
    line("{} of computing, {} of gathering and reducing", shown_time(answer.best->compute_time),
         shown_time(answer.best->collective_time));
    line("{}", answer.even ? "even shares take " + shown_time(answer.even->step_time) : "even shares do not fit");
    line("");
    table();
    line("");
    line("  compute: forward and backward of its slowest rank; memory: of its fullest");
    rests_on(answer.warnings, answer.assumptions, full_);
    return std::move(out_);
  }

 private:
  std::string none() {
    out_ += wrapped(fmt::format("{}: no shares of {} and {} of state fit", of_.experiment,
                                counted(of_.answer.problem.samples, "sequence", "sequences"),
                                share_bytes(of_.answer.problem.state)),
                    "", "");
    line("give more accelerators, recompute, or fewer sequences");
    return std::move(out_);
  }

  static std::string range(const std::string& least, const std::string& most) {
    return least == most ? least : least + ".." + most;
  }

  void table() {
    const std::vector<GroupRow> rows = group_rows(of_);
    const std::size_t shown = full_ ? rows.size() : std::min(rows.size(), k_group_rows);
    line("  {:<18}  {:>5}  {:>9}  {:>18}  {:>9}  {:>8}", "accelerator", "ranks", "sequences", "state", "compute",
         "memory");
    for (std::size_t i = 0; i < shown; ++i) {
      const GroupRow& row = rows[i];
      line("  {:<18}  {:>5}  {:>9}  {:>18}  {:>9}  {:>8}", clipped(row.accelerator, 18), grouped(row.ranks),
           range(std::to_string(row.least_samples), std::to_string(row.most_samples)),
           range(share_bytes(row.least_state), share_bytes(row.most_state)), shown_time(row.compute),
           share_bytes(row.memory));
    }
    if (shown < rows.size()) line("  {} more kinds: --full", rows.size() - shown);
  }

  const MixedSharesReport& of_;
  bool full_;
};

}  // namespace

std::string text(const MixedSharesReport& of, const TextStyle& style) { return MixedSharesText(of, style).make(); }

}  // namespace cairn::report
