#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/core/printable.h"
#include "cairn/report/sweep.h"
#include "run_words.h"
#include "search_words.h"
#include "sweep_words.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_sweep_rows = 40;  // without --full
constexpr std::size_t k_sweep_value_width = 24;
constexpr double k_sweep_told = 5e-4;  // elasticities below it are told with --full

std::string amount_text(const sweep::Elasticity& of) {
  if (!of.value) return {};
  switch (of.dimension) {
    case config::Dimension::seconds:
      return core::format(core::Seconds::from_base(*of.value));
    case config::Dimension::flops_per_second:
      return core::format(core::FlopsPerSecond::from_base(*of.value));
    case config::Dimension::hertz:
      return core::format(core::Hertz::from_base(*of.value));
    default:
      return core::format(core::BytesPerSecond::from_base(*of.value));
  }
}

class SweepText : TextReport {
 public:
  SweepText(const Sweep& of, const TextStyle& style)
      : TextReport(style.color), of_(of), answer_(of.answer), full_(style.full) {
    for (const sweep::Variation& each : answer_.variations) headers_.push_back(core::printable(short_name(each.key)));
    for (std::size_t i = 0; i < headers_.size(); ++i) {
      std::size_t width = headers_[i].size();
      for (const sweep::Row& row : answer_.rows) width = std::max(width, row.values[i].size());
      widths_.push_back(std::min(width, std::max(headers_[i].size(), k_sweep_value_width)));
    }
  }

  std::string make() {
    headline();
    best_layout();
    one_length();
    table();
    failures();
    elasticities();
    return std::move(out_);
  }

 private:
  // The shortest end of a key path that no other varied key ends in.
  std::string short_name(const std::string& key) const {
    for (std::size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1)) {
      const std::string_view end = std::string_view(key).substr(dot);
      const auto alike = std::count_if(answer_.variations.begin(), answer_.variations.end(),
                                       [&](const sweep::Variation& each) { return each.key.ends_with(end); });
      if (alike == 1) return key.substr(dot + 1);
    }
    return key;
  }

  static std::string training(const sweep::Point& point) {
    return days(point.worth(search::Objective::time_to_train).value());
  }
  // A column for what the objective asks and the others do not show: how long training takes, how long sequences are.
  std::string asked_column(const std::string& training_words, const std::string& tokens) const {
    if (of_.objective == search::Objective::time_to_train) return fmt::format(" {:>10}", training_words);
    return of_.objective == search::Objective::longest_sequence ? fmt::format(" {:>10}", tokens) : "";
  }

  // Warns where all rows have sequences of one length: the answer is then that length, whatever would fit.
  void one_length() {
    if (of_.objective != search::Objective::longest_sequence || !answer_.best) return;
    std::optional<std::int64_t> first;
    for (const sweep::Row& row : answer_.rows) {
      if (!row.point) continue;
      if (first && *first != row.point->seq_len) return;
      first = row.point->seq_len;
    }
    if (!first) return;
    line("");
    out_ += wrapped(fmt::format("all rows have sequences of {} tokens, and the best is the fastest that fits; cairn "
                                "search --objective longest-sequence asks how long they may be",
                                grouped(*first)),
                    "Warning: ", "  ");
  }

  std::string what_is_best(const sweep::Point& point) const {
    const RunFigures f = sweep_figures(point);
    switch (of_.objective) {
      case search::Objective::step_time:
        return fmt::format("the shortest step takes {}", seconds(f.time_s));
      case search::Objective::tokens_per_gpu:
        return fmt::format("the most tokens/s of a GPU are {}", rate(f.tokens_per_s_per_gpu));
      case search::Objective::cost:
        return fmt::format("the least price of tokens is {:.2f} USD a step", f.usd_per_step.value_or(0.0));
      case search::Objective::energy:
        return fmt::format("the least energy of tokens is {} a step", energy(f.joule_per_step.value_or(0.0)));
      case search::Objective::time_to_train:
        return fmt::format("the shortest training takes {}, {} tokens in batches of {}", training(point),
                           core::format_count(point.training_tokens), core::format_count(point.tokens));
      case search::Objective::fewest_gpus:
        return fmt::format("the fewest GPUs at which one fits are {}", grouped(point.gpus));
      case search::Objective::longest_sequence:
        return fmt::format("the longest sequence of these rows that fits has {} tokens", grouped(point.seq_len));
    }
    return {};
  }

  void headline() {
    const std::string name = core::printable(answer_.experiment);
    const std::string whose = name.empty() ? "" : name + ": ";
    const std::string rows = counted(static_cast<std::int64_t>(answer_.rows.size()), "row", "rows");
    const std::string stopped = answer_.complete ? "" : ", as far as it came before it was stopped";
    if (!answer_.best) {
      out_ += wrapped(fmt::format("{}none of {} fits{}", whose, rows, stopped), "", "");
      return;
    }
    const sweep::Row& best = answer_.rows[*answer_.best];
    out_ += wrapped(fmt::format("{}of {} {}, with {}{}", whose, rows, what_is_best(*best.point),
                                core::printable(sweep_values(answer_, best)), stopped),
                    "", "");
  }

  void best_layout() {
    if (!answer_.best) return;
    const sweep::Row& best = answer_.rows[*answer_.best];
    if (!best.searched) return;
    line("");
    out_ += wrapped(strategy_text(best.searched->settings), "strategy: ", "  ");
  }

  std::string values(const std::vector<std::string>& of) const {
    std::string words;
    for (std::size_t i = 0; i < of.size(); ++i)
      words += fmt::format("  {:>{}}", clipped(core::printable(of[i]), widths_[i]), widths_[i]);
    return words;
  }

  bool searched() const {
    return std::any_of(answer_.rows.begin(), answer_.rows.end(),
                       [](const sweep::Row& row) { return row.searched.has_value(); });
  }

  void table() {
    line("");
    line("{}  {:>10}{} {:>12} {:>7} {:>10} {:>8}  {}", values(headers_), "step time",
         asked_column("training", "tokens"), "tokens/s/GPU", "MFU", "memory", "gap",
         searched() ? "layout, what limits" : "what limits");
    const std::size_t shown = full_ ? answer_.rows.size() : std::min(k_sweep_rows, answer_.rows.size());
    for (std::size_t i = 0; i < shown; ++i) row(answer_.rows[i], answer_.best == i);
    if (shown < answer_.rows.size()) line("  {} more rows: --full", answer_.rows.size() - shown);
    line("{}", paint_.dim(searched() ? "  gap: of the step to what no layout of the space goes below"
                                     : "  gap: of the step to what no execution of its plan goes below"));
  }

  void row(const sweep::Row& row, bool best) {
    const std::string start = values(row.values);
    if (!row.point) {
      const core::Diagnostic& why = row.errors.front();
      std::string words = why.key_path.empty() ? why.message : fmt::format("{}: {}", why.key_path, why.message);
      const std::size_t room = k_text_width > start.size() + 20 ? k_text_width - start.size() - 2 : 20;
      line("{}  {}", start, paint_.dim(full_ ? core::printable(words) : clipped(core::printable(words), room)));
      return;
    }
    const RunFigures f = sweep_figures(*row.point);
    const std::optional<double> gap = row.searched ? sweep_search_gap(row) : sweep_gap(*row.point);
    const std::string words = fmt::format(
        "{}  {:>10}{} {:>12} {:>7} {:>10} {:>8}  {}", start, seconds(f.time_s),
        asked_column(training(*row.point), grouped(row.point->seq_len)), rate(f.tokens_per_s_per_gpu), percent(f.mfu),
        bytes(row.point->prediction.memory.device_peak), gap ? fmt::format("+{}", percent(*gap)) : "-", remark(row));
    line("{}", best ? paint_.bold(words) : words);
  }

  std::string remark(const sweep::Row& row) const {
    std::string cause = limit(row.point->prediction).cause;
    std::replace(cause.begin(), cause.end(), '_', ' ');
    if (!row.point->prediction.fits) {
      const double over = -row.point->prediction.memory.headroom();
      cause = over > 0.0 ? fmt::format("does not fit: {} too much", bytes(over)) : "does not fit beside the device";
    }
    if (!row.searched) return cause;
    std::string words;
    constexpr std::array<std::string_view, 6> k_layout{"tp", "cp", "pp", "ep", "micro_batch", "recompute"};
    for (const auto& [key, value] : row.searched->settings) {
      if (std::find(k_layout.begin(), k_layout.end(), key) == k_layout.end() || value == "1" || value == "none")
        continue;
      words += fmt::format("{} {}, ", key == "micro_batch" ? "mb" : key, value);
    }
    return words + cause;
  }

  // Why rows have no result, each reason once.
  void failures() {
    std::vector<std::pair<std::string, std::int64_t>> reasons;
    for (const sweep::Row& row : answer_.rows) {
      if (row.errors.empty()) continue;
      const core::Diagnostic& why = row.errors.front();
      std::string words = fmt::format("{}{}{}", why.key_path, why.hint.empty() || why.key_path.empty() ? "" : ": ",
                                      why.hint.empty() ? ": " + why.message : why.hint);
      const auto known =
          std::find_if(reasons.begin(), reasons.end(), [&](const auto& each) { return each.first == words; });
      if (known == reasons.end())
        reasons.emplace_back(std::move(words), 1);
      else
        ++known->second;
    }
    if (reasons.empty()) return;
    line("");
    constexpr std::size_t k_reasons = 4;
    const std::size_t shown = full_ ? reasons.size() : std::min(k_reasons, reasons.size());
    for (std::size_t i = 0; i < shown; ++i)
      out_ += wrapped(core::printable(reasons[i].first),
                      fmt::format("  {} without a result: ", counted(reasons[i].second, "row", "rows")), "    ");
    if (shown < reasons.size()) line("  {} more reasons: --full", reasons.size() - shown);
  }

  void elasticities() {
    if (!answer_.elasticities) {
      if (answer_.no_elasticities.empty()) return;
      line("");
      out_ += wrapped(core::printable(answer_.no_elasticities.front().to_string()),
                      "No elasticities: without the variations there is no plan: ", "  ");
      return;
    }
    const sweep::Elasticities& of = *answer_.elasticities;
    line("");
    out_ += wrapped(
        fmt::format("Elasticities of the step time, {}, of the experiment itself: 1 % more of a figure changes it by "
                    "so many %",
                    seconds(core::to_seconds(of.time))),
        "", "");
    for (const sweep::Elasticity& each : of.figures) {
      if (!full_ && std::abs(each.central()) < k_sweep_told) continue;
      line("  {:>+8.4f}  {:<38}{:>12}{}", each.central(), each.figure, amount_text(each),
           each.kinked() ? fmt::format("  {:+.4f} below, {:+.4f} above", each.below, each.above) : "");
    }
    if (full_) line("  {:>+8.4f}  rates less times: -1 but for what does not scale with them", of.sum());
    out_ += wrapped(
        of.headroom >= 0.0
            ? fmt::format("{} of a device's memory stay free: more would not change its time", bytes(of.headroom))
            : fmt::format("It lacks {} of a device's memory; its time does not depend on that", bytes(-of.headroom)),
        "  ", "  ");
  }

  const Sweep& of_;
  const sweep::Answer& answer_;
  bool full_;
  std::vector<std::string> headers_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string text(const Sweep& of, const TextStyle& style) { return SweepText(of, style).make(); }

}  // namespace cairn::report
