#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cairn/core/printable.h"
#include "cairn/report/diff.h"
#include "run_words.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using contrast::Answer;
using core::Picoseconds;

constexpr std::size_t k_compared_rows = 8;    // of a table on one screen
constexpr std::size_t k_compared_value = 44;  // columns of a value
constexpr double k_compared_shown = 0.0005;   // of the longer step: smaller differences are added up

std::string length_of(Picoseconds time) { return seconds(core::to_seconds(time)); }
// `plus`: before what is above zero. What terms of a document have beyond its step is below zero.
std::string length_column(Picoseconds time, std::string_view plus = {}) {
  if (time == 0) return "-";
  return (time < 0 ? "-" : std::string(plus)) + aligned_time(std::abs(core::to_seconds(time)));
}
std::string change_column(Picoseconds time) { return length_column(time, "+"); }

std::string value_words(const std::string& value) {
  return value.empty() ? "left out" : clipped(core::printable(value), k_compared_value);
}

class ComparedText : TextReport {
 public:
  ComparedText(const Diff& diff, const TextStyle& style)
      : TextReport(style.color), diff_(diff), answer_(diff.answer), full_(style.full) {}

  std::string make() {
    line("{}", paint_.bold(sentence(diff_)));
    line("");
    side("A", answer_.a);
    side("B", answer_.b);
    by_cause_of_step();
    if (full_ && answer_.causes) along_the_path();
    by_setting();
    memory();
    how();
    return std::move(out_);
  }

 private:
  void side(std::string_view which, const contrast::Side& of) {
    const std::string file = core::printable(of.file);
    const std::string name = core::printable(of.name);
    out_ += wrapped(name.empty() || name == file ? file : file + ": " + name, fmt::format("  {}  ", which), "     ");
  }

  bool small(Picoseconds by) const {
    const auto longer = static_cast<double>(std::max(answer_.a.time, answer_.b.time));
    return std::abs(static_cast<double>(by)) < k_compared_shown * longer;
  }

  void row(std::string_view name, Picoseconds a, Picoseconds b) {
    line("  {:<20}{:>12}{:>12}{:>12}", name, length_column(a), length_column(b), change_column(b - a));
  }

  // Rows sorted by their difference, with a name each.
  template <class Rows, class Name>
  void table(std::string_view heading, const Rows& rows, Name name) {
    line("");
    line("{}{:>12}{:>12}{:>12}", paint_.bold(fmt::format("{:<22}", heading)), "A", "B", "difference");
    Picoseconds a = 0, b = 0;
    std::size_t rest = 0, shown = 0;
    for (const auto& each : rows) {
      if (!full_ && (shown == k_compared_rows || small(each.difference()))) {
        a += each.a;
        b += each.b;
        ++rest;
        continue;
      }
      ++shown;
      row(name(each), each.a, each.b);
    }
    if (rest > 0) row("the rest", a, b);
    row("the step", answer_.a.time, answer_.b.time);
  }

  void by_cause_of_step() {
    table("By cause", answer_.parts, [](const contrast::Part& part) {
      std::string words(part.term);
      std::replace(words.begin(), words.end(), '_', ' ');
      return words;
    });
  }
  void along_the_path() {
    table("Along critical path", *answer_.causes, [](const contrast::CausePart& part) {
      return name(predict::CauseTime{.cause = part.cause, .axis = part.axis});
    });
  }

  void by_setting() {
    line("");
    if (answer_.shares.empty() && answer_.unexplained == 0) {
      line("No setting differs that bears on the time of a step.");
      return untimed();
    }
    line("{}{:>12}  {}", paint_.bold(fmt::format("{:<22}", "By setting")), "share", "A -> B");
    for (const contrast::Share& share : answer_.shares) {
      for (const contrast::Difference& each : share.settings) {
        const bool first = &each == &share.settings.front();
        const std::string start =
            fmt::format("  {:<20}{:>12}  ", key_words(each.key), first ? change_column(share.time) : "together");
        out_ += wrapped(fmt::format("{} -> {}", value_words(each.a), value_words(each.b)), start, std::string(36, ' '));
      }
      for (const std::string& reason : share.reasons)
        out_ += wrapped("not one by one: " + core::printable(reason), "    ", "    ");
    }
    if (answer_.unexplained != 0)
      line("  {:<20}{:>12}  between the documents and the runs of now", "other versions",
           change_column(answer_.unexplained));
    line("  {:<20}{:>12}", "the step", change_column(answer_.difference()));
    untimed();
  }
  // Without the map that most keys lie in.
  static std::string key_words(const std::string& key) {
    const std::string words = core::printable(key);
    return words.starts_with("strategy.") ? words.substr(std::string_view("strategy.").size()) : words;
  }
  void untimed() {
    if (answer_.untimed.empty()) return;
    std::string keys;
    for (const contrast::Difference& each : answer_.untimed) keys += (keys.empty() ? "" : ", ") + each.key;
    out_ += wrapped(fmt::format("Differ, too, and do not bear on the time: {}", core::printable(keys)), "", "");
  }

  static std::string memory_words(const contrast::Side& of) {
    return fmt::format("{} of {}, {}", bytes(of.memory.device_peak), bytes(of.memory.capacity),
                       of.fits ? "fits" : "does not fit");
  }
  void memory() {
    line("");
    line("Memory of the fullest device: A {}; B {}", memory_words(answer_.a), memory_words(answer_.b));
  }

  void how() {
    if (!answer_.shares.empty())
      out_ += wrapped(
          fmt::format("A share is what the step changes by when the setting's turn comes, the mean of {}: {} runs. All "
                      "add up, to the picosecond.",
                      answer_.all_orders ? "all orders of change" : "the listed order and its reverse", answer_.runs),
          "", "");
    for (const std::string& note : answer_.notes) out_ += wrapped("Note: " + core::printable(note), "", "");
  }

  const Diff& diff_;
  const Answer& answer_;
  bool full_;
};

}  // namespace

std::string sentence(const Diff& diff) {
  const Answer& of = diff.answer;
  const Picoseconds by = of.difference();
  if (by == 0) return fmt::format("A and B take the same time: {}", length_of(of.a.time));
  const std::string times = fmt::format("{} -> {}", length_of(of.a.time), length_of(of.b.time));
  const std::string share =
      of.a.time > 0 ? fmt::format(" ({})", percent(std::abs(static_cast<double>(by)) / static_cast<double>(of.a.time)))
                    : std::string();
  return fmt::format("B is {}{} {} than A: {}", length_of(std::abs(by)), share, by > 0 ? "slower" : "faster", times);
}

std::string text(const Diff& diff, const TextStyle& style) { return ComparedText(diff, style).make(); }

}  // namespace cairn::report
