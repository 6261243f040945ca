#include "cairn/report/bound.h"

#include <fmt/format.h>

#include "bound_words.h"
#include "cairn/core/format_units.h"
#include "cairn/core/printable.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using bound::Answer;
using bound::DevicesRow;
using bound::LevelRow;
using bound::LocalityRow;
using bound::MovesRow;
using bound::NodesRow;
using pebble::Words;

std::string word_count(double words) { return si_count(words) + " words"; }

class BoundText : private TextReport {
 public:
  BoundText(const Answer& answer, const TextStyle& style) : TextReport(style.color), answer_(answer) {}

  std::string write() {
    line("{}", paint_.bold(core::printable(answer_.what)));
    if (answer_.fast > 0) computation();
    levels();
    devices();
    nodes();
    network();
    locality();
    words();
    notes();
    return std::move(out_);
  }

 private:
  std::string amount(Words words) const { return core::format(core::Bytes::from_base(answer_.bytes(words))); }
  std::string rules() const {
    const bool slide = answer_.game.sliding == pebble::Sliding::allowed;
    return fmt::format(
        "{}, {}",
        answer_.game.rules == pebble::Rules::hong_kung ? "recomputation allowed" : "every value computed once",
        slide ? "a result may take an operand's place" : "a result beside its operands");
  }
  void row(std::string_view name, Words words, std::string_view method) {
    constexpr std::size_t k_method = 46;  // columns before a method
    const std::string head = fmt::format("  {:<12}{:>16} {:>10}  ", name, grouped(words), amount(words));
    out_ += wrapped(method, head, std::string(k_method, ' '));
  }

  void computation() {
    line("fast memory of {} words ({}), {}", grouped(answer_.fast), amount(answer_.fast), rules());
    line("");
    bracket();
    moves();
    operations();
    lower_bounds();
  }

  void moves() {
    if (!answer_.moves) return;
    const MovesRow& moves = *answer_.moves;
    if (!moves.cost) return line("  {:<12}{}:{}: {}", "illegal", moves.file, moves.line, moves.reason);
    row("these moves", moves.cost->total(),
        fmt::format("{} loads, {} stores, at most {} words in fast memory: {} moves of {}", grouped(moves.cost->loads),
                    grouped(moves.cost->stores), grouped(moves.cost->peak), moves.moves, moves.file));
  }

  void bracket() {
    const auto play = answer_.play();
    const bool solved = answer_.exact && answer_.exact->cost;
    row("at least", answer_.lower_words(), answer_.lower_method());
    if (solved) row("exactly", answer_.exact->cost->total(), *answer_.upper_method());
    if (answer_.upper) row("at most", answer_.upper->words, answer_.upper->method);
    if (!play) line("  {:<12}{:>16}", "at most", "no schedule known");
    if (play) {
      line("  {:<12}{:>16} {:>10}  {} stores", "loads", grouped(play->loads), amount(play->loads),
           grouped(play->stores));
      if (answer_.lower_words() > 0)
        line("  {:<12}{:>16.4f}", "upper/lower",
             static_cast<double>(play->total()) / static_cast<double>(answer_.lower_words()));
    }
    if (answer_.exact && !solved)
      line("  the exact search ran out of states: it proves at least {} words", grouped(answer_.exact->lower));
  }

  void operations() {
    const auto most = answer_.intensity();
    if (!most) return;
    line("");
    line("  {:<12}{:>16}", "operations", si_count(answer_.operations));
    line("  {:<12}{:>16} {:>10}  operations per byte at most", "intensity", "", fmt::format("{:.4g}", *most));
    if (!answer_.machine) return;
    const double time_s = answer_.bytes(answer_.lower_words()) / answer_.machine->bytes_per_s;
    line("  {:<12}{:>16} {:>10}  {}", "machine", "", aligned_time(time_s),
         fmt::format("at least, to move so much through the memory of {}", answer_.machine->name));
    if (const auto at = answer_.balance())
      line("  {:<12}{:>16} {:>10}  operations per byte: {}", "balance", "", fmt::format("{:.4g}", *at),
           *most < *at ? "limited by memory, whatever the schedule" : "a good schedule is limited by arithmetic");
  }

  void lower_bounds() {
    const pebble::LowerBound& best = answer_.best();
    line("");
    line("{}", paint_.bold("The lower bound"));
    for (const pebble::Part& part : best.parts) row("", part.words, part.what);
    for (const std::string& term : answer_.asymptotic) line("  {:<13}{}", "leading term", term);
    bool headed = false;
    for (const pebble::LowerBound& bound : answer_.lower) {
      if (bound.words == 0 || (bound.words == best.words && bound.method == best.method)) continue;
      if (!headed) line("{}", paint_.bold("Other lower bounds"));
      headed = true;
      row("", bound.words, bound.method);
    }
  }

  void levels() {
    if (answer_.levels.empty()) return;
    line("");
    line("{}  {}", paint_.bold("Levels of memory"),
         paint_.dim("across the link above the busiest unit, every value computed once"));
    line("  {:<16}{:>6}{:>14}{:>18}{:>12}{:>12}", "level", "units", "one holds", "at least", "", "takes");
    for (const LevelRow& each : answer_.levels) {
      const auto time_s = each.least_s(answer_.bytes_per_word);
      line("  {:<16}{:>6}{:>14}{:>18}{:>12}{:>12}", each.name, each.units, amount(each.fast), grouped(each.words),
           amount(each.words), time_s ? aligned_time(*time_s) : "");
    }
  }

  void devices() {
    if (!answer_.devices) return;
    const DevicesRow& row = *answer_.devices;
    const auto moved = [&](std::string_view name, double words, std::string_view what) {
      const std::string head = fmt::format("  {:<26}{:>15} {:>10}  ", clipped(name, k_algorithm), word_count(words),
                                           core::format(core::Bytes::from_base(words * answer_.bytes_per_word)));
      if (what.empty()) return line("{}", head);
      out_ += wrapped(what, head, std::string(head.size(), ' '));
    };
    line("");
    line("{}  {}", paint_.bold(fmt::format("Over {:.0f} devices", row.devices)),
         paint_.dim(fmt::format("what some device moves, {}", counted(row))));
    if (row.memory > 0.0)
      line("  {:<26}{:>15} {:>10}  {}", "memory of a device", word_count(row.memory),
           core::format(core::Bytes::from_base(row.memory * answer_.bytes_per_word)),
           row.memory_name.empty() ? "--fast" : row.memory_name);
    moved("at least", row.words, fmt::format("{}; {}", row.method, row.premise));
    if (row.total) moved("received by all", *row.total, "");
    for (const DevicesRow::Algorithm& each : row.algorithms) moved(each.name, each.words, each.left_out);
  }

  void nodes() {
    if (!answer_.nodes) return;
    const NodesRow& nodes = *answer_.nodes;
    const auto side = [&](std::string_view what, const NodesRow::Side& each) {
      line("  {}", what);
      row("at least", each.lower.words, each.lower.method);
      if (each.exact) row("exactly", *each.exact, "every balanced placement");
      if (each.upper) row("at most", *each.upper, "a placement, followed by the verifier");
      if (!each.upper) line("  {:<12}{:>16}", "at most", "too large to place");
    };
    line("");
    line("{}", paint_.bold(fmt::format("Over {} nodes", nodes.nodes)));
    side(fmt::format("received by all together, at most {} values each, memories unbounded", nodes.most),
         nodes.received);
    side(fmt::format("in and out of the busiest, {} words each", grouped(answer_.fast)), nodes.busiest);
  }

  void network() {
    if (!answer_.network) return;
    line("  {:<12}{:>16} {:>10}  over the links of {}, {} each way", "takes", "",
         aligned_time(answer_.network->lower_s), answer_.network->name,
         core::format(core::BytesPerSecond::from_base(answer_.network->bytes_per_s)));
  }

  void locality() {
    if (answer_.locality.empty()) return;
    line("");
    line("{}  {}", paint_.bold("Locality"), paint_.dim("words moved where what was used least recently makes room"));
    line("  {:>14}{:>18}{:>18}{:>10}", "memory", "as it ran", "reordered", "ratio");
    for (const LocalityRow& each : answer_.locality) {
      const bool better = each.after < each.before;
      line("  {:>14}{:>18}{:>18}{:>10}", grouped(each.fast), grouped(each.before),
           better ? grouped(each.after) : "none better found",
           better ? fmt::format("{:.3f}", static_cast<double>(each.after) / static_cast<double>(each.before)) : "");
    }
  }

  // What the methods above are called, in plain words.
  void words() {
    std::vector<std::string_view> methods;
    if (answer_.upper) methods.push_back(answer_.upper->method);
    if (answer_.fast > 0) {
      for (const pebble::LowerBound& bound : answer_.lower)
        if (bound.words > 0) methods.push_back(bound.method);
      for (const pebble::Part& part : answer_.best().parts) methods.push_back(part.what);
    }
    const std::vector<BoundWord> found = bound_words(methods);
    if (found.empty()) return;
    line("");
    line("{}", paint_.bold("Words"));
    for (const BoundWord& each : found) out_ += wrapped(each.meaning, fmt::format("  {}: ", each.word), "    ");
  }

  void notes() {
    const auto& texts = answer_.best().assumptions;
    if (texts.empty()) return;
    line("");
    line("{}", paint_.bold("Assumptions"));
    for (const std::string& each : texts) out_ += wrapped(each, "  - ", "    ");
  }

  static constexpr std::size_t k_algorithm = 25;  // columns of an algorithm's name
  const Answer& answer_;
};

}  // namespace

std::string text(const Answer& answer, const TextStyle& style) { return BoundText(answer, style).write(); }

}  // namespace cairn::report
