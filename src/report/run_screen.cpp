#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interval_words.h"
#include "run_words.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_columns = 80;
constexpr std::size_t k_lines = 24;
constexpr std::size_t k_answer = 22;       // columns of an answer, at least
constexpr std::size_t k_bar_columns = 8;   // columns of a bar at 100 %
constexpr double k_shown_share = 0.005;    // of the step: causes below it are added up
constexpr std::size_t k_notes = 3;         // at most
constexpr std::size_t k_few_remedies = 3;  // shown
constexpr std::size_t k_few_facts = 3;     // shown

// The answer on one screen, the most important first.
class RunScreen : private TextReport {
 public:
  RunScreen(const Run& run, const TextStyle& style) : TextReport(style.color), run_(run), figures_(figures(run)) {}

  std::string write() {
    row(paint_.bold(clipped(run_name(run_), k_columns)));
    row(clipped(machine_words(run_), k_columns));
    sentence(plan_words(run_), "", 2);
    row("");
    speed();
    memory();
    cost();
    measured();
    row("");
    sentence(limit(prediction()).sentence, "", 3);
    const std::vector<std::string> before = std::exchange(rows_, {});
    if (run_.result.why_not)
      remedy(*run_.result.why_not);
    else
      where_memory_goes();
    uncertain();
    const std::vector<std::string> after = std::exchange(rows_, before);
    causes(k_lines - std::min(k_lines, before.size() + after.size()));
    rows_.insert(rows_.end(), after.begin(), after.end());
    for (const std::string& each : rows_) line("{}", each);
    return std::move(out_);
  }

 private:
  const predict::Prediction& prediction() const { return run_.result.prediction; }

  void row(std::string text) { rows_.push_back(std::move(text)); }
  // At most so many lines; what does not fit is cut with two dots.
  void sentence(std::string_view text, std::string_view indent, std::size_t most) {
    for (std::size_t i = 0; i < most && !text.empty(); ++i) {
      const std::size_t room = k_columns - indent.size();
      if (i + 1 == most || text.size() <= room) {
        row(fmt::format("{}{}", i == 0 ? indent : std::string(indent.size(), ' '), clipped(text, room)));
        return;
      }
      const std::size_t blank = text.rfind(' ', room);
      const std::size_t cut = blank == std::string_view::npos ? room : blank;
      row(fmt::format("{}{}", i == 0 ? indent : std::string(indent.size(), ' '), text.substr(0, cut)));
      text.remove_prefix(std::min(text.size(), blank == std::string_view::npos ? cut : cut + 1));
    }
  }

  void speed() {
    const std::string step = seconds(figures_.time_s);
    const std::string range = range_words(step, figures_.time_s, time_range(run_));
    const std::size_t width = std::max(k_answer, step.size() + range.size() + 2) - step.size();
    row(fmt::format("  step time  {}{:<{}}{} tokens/s, {} a GPU", paint_.bold(step), range, width,
                    rate(figures_.tokens_per_s), rate(figures_.tokens_per_s_per_gpu)));
    row(fmt::format(
        "  speed      {}MFU {}",
        paint_.bold(fmt::format("{:<{}}", fmt::format("{:.0f} TFLOP/s a GPU", figures_.model_flop_per_s_per_gpu / 1e12),
                                step.size() + width)),
        percent(figures_.mfu)));
  }

  void memory() {
    const predict::MemoryReport& m = prediction().memory;
    const std::string used =
        paint_.bold(fmt::format("{:<{}}", fmt::format("{} of {}", bytes(m.device_peak), bytes(m.capacity)), k_answer));
    const std::optional<double> share = share_that_fits(run_);
    if (prediction().fits)
      row(fmt::format("  memory     {}{}{}, {} to spare", used,
                      predict::tight(m) ? paint_.bad("fits tightly") : paint_.good("fits"),
                      share ? fmt::format(" ({})", share_words(*share)) : std::string(), bytes(m.headroom())));
    else if (m.headroom() >= 0.0)
      row(fmt::format("  memory     {}{}", used, paint_.bad("too much for the host's memory or its drives")));
    else
      row(fmt::format("  memory     {}{}{}, {} too much{}", used, paint_.bad("does not fit"),
                      share ? fmt::format(" ({})", share_words(1.0 - *share)) : std::string(), bytes(-m.headroom()),
                      m.stages.size() > 1 && !share ? fmt::format(" on stage {}", m.peak_stage) : std::string()));
  }

  void cost() {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    if (const auto& whole = figures_.training) {
      add(fmt::format("{} tokens in {}", core::format_count(whole->tokens), days(whole->time_s)));
      add(core::format_count(whole->gpu_hours) + " GPU-hours");
      if (whole->usd) add(core::format(core::Dollars::from_base(*whole->usd)));
    } else {
      add(fmt::format("{} for 10^12 tokens", days(1e12 / figures_.tokens_per_s)));
      if (figures_.usd_per_step) add(core::format(core::Dollars::from_base(*figures_.usd_per_step)) + " a step");
      if (figures_.joule_per_step) add(energy(*figures_.joule_per_step) + " a step");
    }
    row("  training   " + text);
  }

  void measured() {
    if (run_.measured == nullptr) return;
    const std::vector<contrast::Fact> facts = helpful(*run_.measured);
    row(clipped(fmt::format("  {}{}", measured_words(*run_.measured),
                            facts.empty() ? run_.measured->tried ? "; no single fact explains it" : "" : ""),
                k_columns));
    facts_shown_ = std::min(k_few_facts, facts.size());
    for (std::size_t i = 0; i < facts_shown_; ++i)
      row(clipped("    " + fact_words(facts[i], run_.measured->measured), k_columns));
  }

  // In at most so many lines, its heading among them.
  void causes(std::size_t lines) {
    const predict::Causes& all = prediction().causes;
    row(paint_.bold("Where the time goes") +
        (all.stages.size() > 1 ? paint_.dim(fmt::format("  seen from stage {}", all.limiting)) : std::string()));
    const std::vector<predict::CauseTime> parts = by_cause(all);
    const auto share = [&](const predict::CauseTime& part) { return core::to_seconds(part.time) / figures_.time_s; };
    const auto large = static_cast<std::size_t>(std::count_if(
        parts.begin(), parts.end(), [&](const predict::CauseTime& part) { return share(part) >= k_shown_share; }));
    const std::size_t room = std::max<std::size_t>(lines, 3) - 1;
    const std::size_t shown = parts.size() <= room && large == parts.size() ? large : std::min(large, room - 1);
    double rest = 0.0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double time_s = core::to_seconds(parts[i].time);
      if (i >= shown) {
        rest += time_s;
        continue;
      }
      row(fmt::format("  {:<11}{:>10} {:>4}  {} {}", name(parts[i]), aligned_time(time_s), percent(share(parts[i]), 0),
                      paint_.accent(bar(share(parts[i]), k_bar_columns)),
                      paint_.dim(clipped(meaning(parts[i]), k_meaning))));
    }
    if (rest > 0.0)
      row(fmt::format("  {:<11}{:>10} {:>4}", "the rest", aligned_time(rest), percent(rest / figures_.time_s, 0)));
  }

  void where_memory_goes() {
    const predict::MemoryReport& m = prediction().memory;
    const predict::StageMemory& fullest = m.stages[static_cast<std::size_t>(m.peak_stage)];
    std::vector<std::pair<double, std::string_view>> parts;
    for (std::size_t i = 0; i < program::k_categories; ++i)
      parts.emplace_back(fullest.at_peak[i], category_name(static_cast<program::Category>(i)));
    parts.emplace_back(m.device_peak - m.allocated_peak, "allocator and system");
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (const auto& [amount, what] : parts)
      if (amount > 0.0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, bytes(amount));
    sentence(m.stages.size() > 1 ? fmt::format("Memory on stage {}: {}", m.peak_stage, text) : "Memory: " + text, "",
             2);
  }

  void remedy(const experiment::WhyNot& reason) {
    if (!reason.changes) return;
    const std::vector<experiment::Remedy>& changes = *reason.changes;
    if (changes.empty()) return sentence(fmt::format("What would make it fit: {}", k_no_remedy), "", 2);
    row("What would make it fit, with --set, the fastest first:");
    for (std::size_t i = 0; i < std::min(k_few_remedies, changes.size()); ++i) {
      const experiment::Remedy& each = changes[i];
      row(fmt::format("  {:>10} {:>9}  {}", aligned_time(each.time_s), bytes(each.memory_bytes),
                      clipped(fmt::format("{}", fmt::join(each.settings, " ")), k_columns - 24)));
    }
  }

  // What the answer rests on: what would change it most, then warnings and assumptions whose effect nobody knows.
  void uncertain() {
    std::vector<std::string> notes = run_.job.warnings();
    const std::size_t warnings = notes.size();
    notes.insert(notes.end(), run_.result.assumptions.begin(), run_.result.assumptions.end());
    std::vector<bool> said(notes.size(), false);
    // Facts that would explain a measured step are said above.
    std::size_t shown = std::min(k_notes, facts_shown_);
    for (const experiment::Effect& each : run_.result.effects) {
      if (shown == k_notes || std::abs(each.change_s) < k_shown_share * figures_.time_s) break;
      ++shown;
      row(clipped(effect_words(each, figures_.time_s), k_columns));
      for (std::size_t i = 0; i < notes.size(); ++i)
        if (std::find(each.about.begin(), each.about.end(), notes[i]) != each.about.end()) said[i] = true;
    }
    for (std::size_t i = 0; i < notes.size() && shown < k_notes; ++i) {
      if (said[i]) continue;
      said[i] = true;
      ++shown;
      sentence(notes[i], i < warnings ? "Warning: " : "Assumed: ", 1);
    }
    if (const auto left = std::count(said.begin(), said.end(), false); left > 0)
      row(paint_.dim(fmt::format("{} more warnings and assumptions: --full", left)));
  }

  static constexpr std::size_t k_meaning = k_columns - 33 - k_bar_columns;

  const Run& run_;
  RunFigures figures_;
  std::size_t facts_shown_ = 0;  // beside a measured step
  std::vector<std::string> rows_;
};

}  // namespace

std::string screen(const Run& run, const TextStyle& style) { return RunScreen(run, style).write(); }

}  // namespace cairn::report
