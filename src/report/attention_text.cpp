#include <algorithm>
#include <utility>
#include <vector>

#include "attention_words.h"
#include "cairn/core/format_units.h"
#include "cairn/core/printable.h"
#include "cairn/report/attention.h"
#include "cairn/sequence/other_scheme.h"
#include "run_words.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using attention::Comparison;
using attention::Way;

constexpr std::size_t k_attention_rows = 11;      // without --full
constexpr std::size_t k_attention_reasons = 2;    // likewise
constexpr std::ptrdiff_t k_attention_lines = 24;  // likewise, of the whole answer
constexpr std::size_t k_attention_grid = 28;      // columns
constexpr std::size_t k_attention_way = 30;       // columns
constexpr const char* k_attention_baseline = "ring";

double total_s(const Way& way) { return core::to_seconds(way.total()); }
// Of schemes that share attention in the same way under names of their own.
bool alike(const Way& a, const Way& b) {
  return a.grid == b.grid && a.total() == b.total() && a.compute == b.compute && a.memory == b.memory &&
         a.received.forward == b.received.forward && a.received.backward == b.received.backward;
}
std::string amount(std::int64_t value) { return bytes(static_cast<double>(value)); }

class AttentionText : TextReport {
 public:
  AttentionText(const AttentionAnswer& answer, const TextStyle& style)
      : TextReport(style.color), answer_(answer), full_(style.full) {}

  std::string make() {
    if (answer_.points.size() == 1) {
      one(answer_.points.front());
    } else {
      several();
    }
    remarks();
    return std::move(out_);
  }

 private:
  const char* passes() const { return answer_.points.front().backward ? "forward + backward" : "forward"; }

  std::string problem_words() const {
    const sequence::Problem& problem = answer_.points.front().problem;
    std::string words = fmt::format("{} heads of {}", problem.heads, problem.head_dim);
    if (problem.kv_heads != problem.heads) words += fmt::format(", {} of keys and values", problem.kv_heads);
    if (answer_.points.front().tensor_ranks > 1) words += fmt::format(" (tp {})", answer_.points.front().tensor_ranks);
    if (problem.sequences > 1) words += fmt::format(", {} sequences", problem.sequences);
    return words + fmt::format(", {}, {}{}", problem.mask == sequence::Mask::causal ? "causal" : "full mask",
                               answer_.kernel, problem.wire.gradient > problem.wire.operand ? ", fp32 gradients" : "");
  }
  std::string cluster_words() const {
    return fmt::format("{} ({})", core::printable(answer_.cluster), core::printable(answer_.accelerator));
  }

  // "1.90 x faster than ring on 64"
  static std::string against(const Comparison& comparison) {
    const Way& best = *comparison.best();
    const Way* other = best_of_scheme(comparison, k_attention_baseline);
    if (other == nullptr || other == &best) {
      const auto next = std::find_if(comparison.ways.begin(), comparison.ways.end(),
                                     [&](const Way& way) { return way.stands() && way.total() > best.total(); });
      if (next == comparison.ways.end()) return {};
      other = &*next;
    }
    return fmt::format(", {:.2f} x faster than {} ({})", total_s(*other) / total_s(best), attention_way_name(*other),
                       seconds(total_s(*other)));
  }

  void one(const Comparison& comparison) {
    if (const Way* best = comparison.best())
      out_ += wrapped(
          fmt::format("{}: {} {}{}", attention_way_name(*best), seconds(total_s(*best)), passes(), against(comparison)),
          "", "  ");
    else
      line("No scheme can share this attention among {} ranks", comparison.gpus / comparison.tensor_ranks);
    out_ += wrapped(fmt::format("{} tokens, {}; {} GPUs of {}", grouped(comparison.problem.tokens), problem_words(),
                                comparison.gpus, cluster_words()),
                    "", "  ");
    table(comparison);
    bound(comparison);
    refusals(comparison);
    proofs(comparison);
    links(comparison);
  }

  void table(const Comparison& comparison) {
    std::vector<const Way*> rows;
    std::string same;
    for (const std::size_t i : comparison.shown()) {
      const Way& way = comparison.ways[i];
      if (!way.stands()) continue;
      const auto known = std::find_if(rows.begin(), rows.end(), [&](const Way* row) { return alike(*row, way); });
      if (known == rows.end() || comparison.one_scheme)
        rows.push_back(&way);
      else
        same += fmt::format("{}{} as {}", same.empty() ? "the same: " : ", ", way.scheme->name, (*known)->scheme->name);
    }
    if (rows.empty()) return;
    const bool all = full_ || rows.size() <= k_attention_rows + 1;  // one more takes the line that would say so
    const std::size_t shown = all ? rows.size() : k_attention_rows;
    std::size_t scheme = 6, grid = 4;
    for (std::size_t i = 0; i < shown; ++i) {
      scheme = std::max(scheme, rows[i]->scheme->name.size());
      grid = std::max(grid, std::min(sequence::text(rows[i]->grid).size(), k_attention_grid));
    }
    line("");
    line("{}", paint_.bold(fmt::format("{:<{}} {:<{}} {:>9} {:>7} {:>7} {:>8} {:>8} {:>5}", "scheme", scheme, "grid",
                                       grid, "total", "exposed", "balance", "received", "memory", "bound")));
    for (std::size_t i = 0; i < shown; ++i) {
      const Way& way = *rows[i];
      const std::string words =
          fmt::format("{:<{}} {:<{}} {:>9} {:>7} {:>7} {:>8} {:>8} {:>5}", way.scheme->name, scheme,
                      clipped(sequence::text(way.grid), grid), grid, seconds(total_s(way)),
                      percent(core::to_seconds(way.exposed()) / total_s(way)), percent(way.balance, 0),
                      amount(way.received.forward + way.received.backward), amount(way.memory),
                      way.bound.forward.ratio ? fmt::format("{:.2f}", *way.bound.forward.ratio) : "-");
      line("{}", i == 0 ? paint_.bold(words) : words);
    }
    if (shown < rows.size()) line("{}", paint_.dim(fmt::format("{} more: --full", rows.size() - shown)));
    if (!same.empty()) out_ += wrapped(same, "", "  ");
  }

  void bound(const Comparison& comparison) {
    const double least = comparison.bound_bytes.forward;
    if (comparison.best() == nullptr || least <= 0.0) return;
    line("{}", paint_.dim(fmt::format("bound: received forward over {}, the least of ways with whole heads and equal "
                                      "shares",
                                      bytes(least))));
  }

  // Schemes that cannot, each reason once.
  void refusals(const Comparison& comparison) {
    std::vector<std::pair<std::string, std::string>> reasons;  // with the names of the schemes, or the grids
    for (const std::size_t i : comparison.shown()) {
      const Way& way = comparison.ways[i];
      if (way.stands()) continue;
      const std::string name = comparison.one_scheme ? sequence::text(way.grid) : std::string(way.scheme->name);
      const auto known =
          std::find_if(reasons.begin(), reasons.end(), [&](const auto& each) { return each.first == *way.refusal; });
      if (known == reasons.end())
        reasons.emplace_back(*way.refusal, name);
      else
        known->second += ", " + name;
    }
    const std::size_t shown = full_ ? reasons.size() : std::min(reasons.size(), k_attention_reasons);
    for (std::size_t i = 0; i < shown; ++i) {
      const std::string words = fmt::format("not {}: {}", reasons[i].second, reasons[i].first);
      const bool whole = full_ || comparison.best() == nullptr;
      out_ += whole ? wrapped(words, "", "  ") : clipped(words, k_text_width) + "\n";
    }
    if (shown < reasons.size()) line("{}", paint_.dim(fmt::format("{} more reasons: --full", reasons.size() - shown)));
  }

  void proofs(const Comparison& comparison) {
    std::size_t asked = 0, held = 0;
    double error = 0.0;
    for (const Way& way : comparison.ways) {
      if (!way.proof) continue;
      ++asked;
      if (!way.proof->holds()) {
        out_ += wrapped(*way.proof->fault, fmt::format("{} does not hold: ", attention_way_name(way)), "  ");
        continue;
      }
      ++held;
      error = std::max(error, way.proof->largest_error);
    }
    if (asked > 0)
      out_ += wrapped(
          fmt::format("{} of {} proved on numbers, in small: every pair computed once, every byte sent is received, "
                      "results and gradients within {:.1e} of dense attention",
                      held, asked, error),
          "", "  ");
  }

  // "intra 1.14, inter 8.00"
  static std::string link_words(const Way& way) {
    std::string words;
    for (const attention::LinkLoad& load : way.links)
      words += fmt::format("{}{} {:.2f}", words.empty() ? "" : ", ", core::printable(load.level), load.over_mean());
    return words;
  }

  // Without --full where the screen has room, a warning included.
  void links(const Comparison& comparison) {
    const Way* best = comparison.best();
    if (best == nullptr || best->links.empty()) return;
    std::string words = link_words(*best);
    const Way* ring = best_of_scheme(comparison, k_attention_baseline);
    if (ring != nullptr && ring != best && !ring->links.empty()) words += "; ring: " + link_words(*ring);
    words = wrapped("busiest link over the mean: " + words, "", "  ");
    constexpr std::ptrdiff_t k_warning = 1;
    const auto lines = [](const std::string& of) { return std::count(of.begin(), of.end(), '\n'); };
    if (full_ || lines(out_) + lines(words) + k_warning <= k_attention_lines) out_ += words;
  }

  void several() {
    const bool lengths = answer_.points.front().gpus == answer_.points.back().gpus;
    out_ += wrapped(fmt::format("Best ways of sharing attention, {}, over {}", passes(),
                                lengths ? "the length of sequences" : "GPUs and the length of sequences"),
                    "", "");
    out_ += wrapped(fmt::format("{}; {}", problem_words(), cluster_words()), "", "  ");
    line("");
    line("{}", paint_.bold(fmt::format("{:>6} {:>11}  {:<{}} {:>9} {:>8} {:>9} {:>9} {:>10}", "GPUs", "tokens", "best",
                                       k_attention_way, "total", "exposed", "memory", "ring", "tokens/s")));
    for (const Comparison& point : answer_.points) row(point);
  }

  void row(const Comparison& point) {
    const std::string start = fmt::format("{:>6} {:>11}", point.gpus, grouped(point.problem.tokens));
    const Way* best = point.best();
    if (best == nullptr) {
      out_ +=
          wrapped(*point.ways.front().refusal, fmt::format("{}  none: ", start), std::string(start.size() + 2, ' '));
      return;
    }
    const Way* ring = best_of_scheme(point, k_attention_baseline);
    const double total = total_s(*best);
    const auto all = static_cast<double>(point.problem.tokens * point.problem.sequences);
    line("{}  {:<{}} {:>9} {:>8} {:>9} {:>9} {:>10}", start, clipped(attention_way_name(*best), k_attention_way),
         k_attention_way, seconds(total), percent(core::to_seconds(best->exposed()) / total), amount(best->memory),
         ring == nullptr ? "-" : fmt::format("{:.2f} x", total_s(*ring) / total), rate(all / total));
  }

  void remarks() {
    const Comparison& first = answer_.points.front();
    if (!full_) {
      const std::string more =
          first.warnings.size() < 2 ? "" : fmt::format(" (and {} more)", first.warnings.size() - 1);
      if (!first.warnings.empty())
        line("{}{}", clipped("warning: " + first.warnings.front(), k_text_width - more.size()), more);
      return;
    }
    for (const std::string& each : first.warnings) out_ += wrapped(each, "warning: ", "  ");
    line("");
    line("{}", paint_.bold("Assumptions"));
    for (const std::string& each : first.assumptions) out_ += wrapped(each, "  ", "  ");
  }

  const AttentionAnswer& answer_;
  bool full_;
};

}  // namespace

std::string text(const AttentionAnswer& answer, const TextStyle& style) { return AttentionText(answer, style).make(); }

std::string attention_schemes_text(const TextStyle& style) {
  const Paint paint(style.color);
  std::string out;
  for (const sequence::Scheme& scheme : sequence::schemes()) {
    out += paint.bold(scheme.name) + "\n";
    out += wrapped(scheme.summary, "  ", "  ");
    out += paint.dim(fmt::format("  {}", scheme.source)) + "\n";
  }
  out += "\nSchemes that share something else, and are not compared:\n";
  for (const sequence::OtherScheme& scheme : sequence::other_schemes())
    out += wrapped(fmt::format("{}: {}", scheme.computes, scheme.summary), fmt::format("  {}: ", scheme.name), "    ");
  return out;
}

}  // namespace cairn::report
