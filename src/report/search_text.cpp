#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/printable.h"
#include "cairn/report/search.h"
#include "run_words.h"
#include "search_words.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_search_reasons = 4;  // on one screen
constexpr std::size_t k_search_pareto = 6;

class SearchText : TextReport {
 public:
  SearchText(const Search& of, const TextStyle& style)
      : TextReport(style.color), of_(of), answer_(of.answer), full_(style.full) {}

  std::string make() {
    extent();
    headline();
    plans();
    pareto();
    refusals();
    proof();
    return std::move(out_);
  }

 private:
  static std::string time(core::Picoseconds value) { return seconds(core::to_seconds(value)); }
  static std::string points(std::uint64_t count) { return grouped(static_cast<std::int64_t>(count)); }

  // Points that were not looked at. Without a plan no bound rules a point out, so what is counted as pruned was left.
  std::uint64_t left_points() const {
    return answer_.top.empty() && !answer_.complete ? answer_.counts[static_cast<std::size_t>(search::CellKind::pruned)]
                                                    : 0;
  }

  // The size that was asked for, and what is wrong with its neighbour.
  void extent() {
    if (of_.extent == nullptr) return;
    const sweep::Extent& extent = *of_.extent;
    const bool gpus = extent.objective == search::Objective::fewest_gpus;
    const auto size = [&](std::int64_t of) {
      return fmt::format("{} {}{}", grouped(of), gpus ? "GPU" : "token", of == 1 ? "" : "s");
    };
    const std::string stopped = extent.complete ? "" : ", as far as was searched";
    std::string words =
        extent.size == 0
            ? fmt::format("no layout fits at any {}{}", gpus ? "part of the cluster" : "length of sequences", stopped)
            : fmt::format("{}: {}{}",
                          gpus ? "the fewest GPUs at which a layout fits" : "the longest sequence that fits",
                          size(extent.size), stopped);
    const sweep::Extent::Tried* nearest = nullptr;  // of those that do not fit
    for (const sweep::Extent::Tried& each : extent.tried)
      if (!each.fits && (nearest == nullptr || (each.size > nearest->size) == gpus)) nearest = &each;
    if (!extent.overrides.empty()) words += fmt::format(" (--set {})", fmt::join(extent.overrides, " --set "));
    if (nearest != nullptr) words += fmt::format("; at {} {}", size(nearest->size), core::printable(nearest->why));
    out_ += wrapped(words, "", "");
    line("");
  }

  void headline() {
    const std::string name = core::printable(of_.experiment);
    const std::string whose = name.empty() ? "" : name + ": ";
    if (answer_.top.empty()) {
      const bool unfit = answer_.counts[static_cast<std::size_t>(search::CellKind::unfit)] > 0;
      const std::uint64_t left = left_points();
      out_ +=
          wrapped(whose + (left > 0 ? fmt::format("stopped before a plan was found; {} of {} points were not looked at",
                                                  points(left), points(answer_.points))
                                    : fmt::format("no plan of {} {}{}", points(answer_.points),
                                                  unfit ? "fits into memory" : "is possible",
                                                  answer_.complete ? "" : ", as far as was searched")),
                  "", "");
      return;
    }
    const search::Plan& best = answer_.top.front();
    const SearchFigures figures = search_figures(of_, core::to_seconds(best.time));
    out_ += wrapped(fmt::format("{}the best of {} plans takes {} a step{}", whose, points(answer_.points),
                                time(best.time), answer_.complete ? "" : ", as far as was searched"),
                    "", "");
    line("");
    out_ += wrapped(strategy_text(best.settings), "strategy: ", "  ");
    line("");
    line("  step time  {:<28}{:.0f} tokens/s a GPU", time(best.time), figures.tokens_per_s_per_gpu);
    line(
        "  memory     {:<28}{}",
        fmt::format("{} of {}", bytes(best.memory_bytes), bytes(of_.machine.accelerator.value.process_memory().base())),
        figures.usd_per_step
            ? fmt::format("{:.2f} USD a step; {} a step", *figures.usd_per_step, energy(figures.joule_per_step))
            : fmt::format("{} a step", energy(figures.joule_per_step)));
  }

  // What of a plan is not as in the best one.
  static std::string differences(const search::Plan& plan, const search::Plan& best) {
    std::string words;
    for (const auto& [key, value] : plan.settings) {
      const auto same = std::find_if(best.settings.begin(), best.settings.end(),
                                     [&key = key](const auto& other) { return other.first == key; });
      if (same != best.settings.end() && same->second == value) continue;
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", key, value);
    }
    return words.empty() ? "the best" : words;
  }

  void plans() {
    if (answer_.top.size() < 2) return;
    line("");
    line("  {:>10} {:>10} {:>10}  of each kind of plan the best: what differs", "step time", "contended", "memory");
    for (const search::Plan& plan : answer_.top) row(plan);
  }
  void row(const search::Plan& plan) {
    const std::string start = fmt::format("  {:>10} {:>10} {:>10}  ", time(plan.time),
                                          plan.contended ? time(*plan.contended) : "-", bytes(plan.memory_bytes));
    out_ += wrapped(differences(plan, answer_.top.front()), start, std::string(start.size(), ' '));
  }

  void pareto() {
    if (answer_.pareto.size() < 2 || answer_.top.empty()) return;
    line("");
    line("  {:>10} {:>10} {:>10}  less memory for more time: what differs", "step time", "", "memory");
    const std::size_t shown = full_ ? answer_.pareto.size() : std::min(k_search_pareto, answer_.pareto.size());
    for (std::size_t i = 1; i < shown; ++i) row(answer_.pareto[i]);
    if (shown < answer_.pareto.size()) line("  {} more: --full", answer_.pareto.size() - shown);
  }

  void refusals() {
    if (answer_.refusals.empty()) return;
    line("");
    const std::size_t shown = full_ ? answer_.refusals.size() : std::min(k_search_reasons, answer_.refusals.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const search::Refusal& each = answer_.refusals[i];
      std::string words;
      switch (each.kind) {
        case search::CellKind::unfit:
          words = fmt::format("do not fit; the nearest lacks {}: {}", bytes(each.lacking_bytes),
                              strategy_text(each.settings));
          break;
        case search::CellKind::excluded:
          words = fmt::format("break {}", each.reason);
          break;
        default:
          words = fmt::format("contradict themselves at {}, such as: {}", each.reason, each.nearest);
      }
      out_ += wrapped(words, fmt::format("  {:>12} ", points(each.count)), std::string(15, ' '));
    }
    if (shown < answer_.refusals.size()) line("  {} more reasons: --full", answer_.refusals.size() - shown);
  }

  void proof() {
    using search::CellKind;
    const auto of = [&](CellKind kind) { return answer_.counts[static_cast<std::size_t>(kind)]; };
    line("");
    std::string words = fmt::format("{} plans were computed", points(answer_.evaluated));
    if (answer_.collapsed > 0) words += fmt::format(", {} more are the same", points(answer_.collapsed));
    if (const std::uint64_t left = left_points(); left > 0)
      words += fmt::format("; {} were not looked at", points(left));
    else if (of(CellKind::pruned) > 0)
      words += fmt::format("; bounds rule {} out without", points(of(CellKind::pruned)));
    words += ". ";
    const auto gap = search_gap(answer_);
    const std::string_view where = of_.extent != nullptr ? "of this size" : "of the space";
    if (!answer_.verdict.defect.empty())
      words += fmt::format("The certificate has a hole: {}.", answer_.verdict.defect);
    else if (answer_.top.empty())
      words += answer_.complete ? "The certificate covers the space: there is no plan."
                                : "The search was stopped before a plan was found.";
    else if (!gap)
      words += "Nothing is proven of what was left.";
    else if (*gap > 0.0)
      words += fmt::format("No plan {} takes less than {}: the best is within {} of that.", where,
                           time(*answer_.verdict.lower_bound), percent(*gap));
    else
      words += fmt::format("No plan {} is faster, proven.", where);
    out_ += wrapped(words, "", "");
  }

  const Search& of_;
  const search::Answer& answer_;
  bool full_;
};

}  // namespace

std::string text(const Search& of, const TextStyle& style) { return SearchText(of, style).make(); }

}  // namespace cairn::report
