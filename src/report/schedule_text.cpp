#include <algorithm>

#include "cairn/swarm/swarm.h"
#include "schedule_figures.h"
#include "schedule_picture.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using pipeline::Fraction;

constexpr double k_percent = 100.0;

// In decimals: the exact fractions are in the JSON.
std::string amount(const ScheduleAnswer& answer, const Fraction& time) {
  if (!answer.unit) return fmt::format("{:.6g}", time.value());
  return aligned_time(time.value() * answer.seconds_per_unit());
}

// "4 3 2 1", or "4 .. 1 (64 devices)".
template <typename Value, typename Show>
std::string list(const std::vector<Value>& values, Show show) {
  constexpr std::size_t k_shown = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), k_shown); ++i) text += (i > 0 ? " " : "") + show(values[i]);
  return values.size() > k_shown ? text + " ..." : text;
}
std::string shown(const std::vector<Fraction>& values) {
  return list(values, [](const Fraction& value) { return fmt::format("{:g}", value.value()); });
}
std::string shown(const std::vector<std::int32_t>& values) {
  return list(values, [](std::int32_t value) { return std::to_string(value); });
}

bool takes_chunks(const pipeline::Schedule& schedule) {
  for (const pipeline::Generator& kind : pipeline::generators())
    if (kind.kind == schedule.kind) return (kind.options & pipeline::takes::k_chunks) != 0;
  return false;
}
std::string chunks(const pipeline::Schedule& schedule) {
  return takes_chunks(schedule) ? ", " + counted(schedule.chunks, "chunk", "chunks") : "";
}

// What the operations take, and in which unit.
std::string times(const ScheduleAnswer& answer) {
  const pipeline::ExactTimes& times = answer.times;
  if (!answer.stage_times.empty()) {
    std::string text = "every stage takes its own times, forward";
    for (const auto& stage : answer.stage_times) text += " " + aligned_time(stage.forward_s);
    text += "; backward";
    for (const auto& stage : answer.stage_times) text += " " + aligned_time(stage.backward_s);
    return text + "; message " + amount(answer, times.delay);
  }
  return fmt::format("of a micro-batch on a stage, forward {}, input gradient {}, weight gradient {}, message {}{}",
                     amount(answer, times.forward), amount(answer, times.input_gradient),
                     amount(answer, times.weight_gradient), amount(answer, times.delay),
                     answer.unit ? "" : ": bare numbers, in one unit of your own (--forward 3ms sets seconds)");
}

constexpr std::string_view k_activations =
    "activations: the most that a device holds at once, in micro-batches of its share of the model, 1/stages of it";

class ScheduleText : private TextReport {
 public:
  explicit ScheduleText(bool color) : TextReport(color), color_(color) {}

  std::string one(const ScheduleAnswer& answer) {
    const ScheduleFigures f = figures(answer);
    const pipeline::Schedule& schedule = answer.run.schedule;
    line("{}",
         paint_.bold(fmt::format("{}, {}, {}{}", schedule.kind, counted(schedule.stages, "stage", "stages"),
                                 counted(schedule.micro_batches / schedule.pieces, "micro-batch", "micro-batches"),
                                 takes_chunks(schedule) ? chunks(schedule) + " on each device" : "")));
    row("makespan", amount(answer, f.makespan));
    row("bubble", fmt::format("{:.1f} %", k_percent * f.bubble.value()));
    if (answer.steady) row("  never emptied", steady(answer, f));
    row("idle", list(f.idle, [&](const Fraction& time) { return amount(answer, time); }));
    row("longest device", amount(answer, f.span));
    if (answer.span_lower_bound)
      row("  at least", fmt::format("{}, so this order is within {:.1f} % of the best under its limit",
                                    amount(answer, *answer.span_lower_bound), gap(f.span, *answer.span_lower_bound)));
    row("activations", shown(f.peak_release_at_b) + " micro-batches");
    if (f.peak_release_at_w != f.peak_release_at_b)
      row("", shown(f.peak_release_at_w) + " where weight gradients need all of them");
    row("weights", counted(f.weight_copies, "copy", "copies"));
    if (*std::max_element(f.gradient_delays.begin(), f.gradient_delays.end()) > 0) {
      row("weight versions", shown(f.weight_versions));
      row("gradient delay", shown(f.gradient_delays) + " updates");
    }
    row("messages", fmt::format("{:.3g} x those of 1f1b", f.messages));
    if (answer.filling) fill(answer, *answer.filling);
    out_ += '\n';
    out_ += schedule_picture(answer.run, "stage", amount(answer, f.makespan), color_);
    note("times: " + times(answer));
    note(std::string(k_activations));
    for (const std::string& assumption : answer.assumptions) note(assumption);
    return std::move(out_);
  }

  std::string several(std::span<const ScheduleAnswer> answers) {
    line("{}", paint_.dim(fmt::format("{:<27}{:>12}{:>10}{:>17}{:>14}{:>9}{:>10}", "", "makespan", "bubble",
                                      "longest device", "activations", "weights", "messages")));
    for (const ScheduleAnswer& answer : answers) {
      const ScheduleFigures f = figures(answer);
      double most = 0.0;
      for (const Fraction& peak : f.peak_release_at_w) most = std::max(most, peak.value());
      line("{:<27}{:>12}{:>10}{:>17}{:>14g}{:>9}{:>10}", answer.run.schedule.kind + chunks(answer.run.schedule),
           amount(answer, f.makespan), fmt::format("{:.1f} %", k_percent * f.bubble.value()), amount(answer, f.span),
           most, fmt::format("{} x", f.weight_copies), fmt::format("{:.3g} x", f.messages));
    }
    if (answers.empty()) return std::move(out_);
    for (const ScheduleAnswer& answer : answers)
      if (answer.steady) note(answer.run.schedule.kind + " is never emptied: " + steady(answer, figures(answer)));
    note("times: " + times(answers.front()));
    note(
        "longest device: from its first start to its last end, which is what an iteration takes where devices that "
        "are done begin the next; bubble: idle over makespan of the device that is idle most");
    note(std::string(k_activations) + "; messages in those of 1f1b");
    for (const std::string& assumption : answers.front().assumptions) note(assumption);
    return std::move(out_);
  }

  std::string kinds() {
    for (const pipeline::Generator& kind : pipeline::generators())
      described(kind.kind, kind.summary, kind.source, (kind.splits ? "; splits backwards" : "") + golden(kind.goldens),
                pipeline::option_names(kind));
    described(swarm::k_kind, swarm::k_summary, swarm::k_source, golden(true), swarm::option_names());
    return std::move(out_);
  }

 private:
  void described(std::string_view kind, std::string_view summary, std::string_view source, const std::string& traits,
                 const std::vector<std::string>& names) {
    std::string options;
    for (const std::string& option : names) options += " --" + option;
    constexpr std::size_t k_column = 24;
    line("{}{}{}", paint_.bold(kind), std::string(k_column - std::min(kind.size(), k_column - 1), ' '), summary);
    line("{:<24}{}", "", paint_.dim(fmt::format("{}{}{}{}", source, traits, options.empty() ? "" : ";", options)));
  }
  static std::string golden(bool goldens) { return goldens ? "; figures checked against published ones" : ""; }
  static std::string steady(const ScheduleAnswer& answer, const ScheduleFigures& f) {
    return fmt::format("in steady state a micro-batch takes {}, bubble {:.1f} %", amount(answer, *answer.steady),
                       k_percent * f.steady_bubble);
  }
  void note(const std::string& text) { out_ += wrapped(text, "note: ", "      "); }
  void row(std::string_view name, const std::string& value) { line("  {:<18}{}", name, value); }
  void fill(const ScheduleAnswer& answer, const pipeline::Filling& filling) {
    row("bubbles", fmt::format("{:.1f} % of the time is used without; the work is {:.2f} times their time",
                               k_percent * filling.utilisation_before, filling.work_over_bubble));
    if (filling.interval > 0)
      row("  filled",
          fmt::format("{:.1f} % used, refreshed every {}, a step takes {}", k_percent * filling.utilisation,
                      counted(filling.interval, "step", "steps"), amount(answer, answer.run.in_units(filling.step))));
    else
      row("  filled", "never: some piece is longer than every gap; cut it into more parts");
  }
  static double gap(const Fraction& found, const Fraction& bound) {
    return bound.numerator > 0 ? k_percent * (found.value() / bound.value() - 1.0) : 0.0;
  }
  bool color_;
};

}  // namespace

std::string text(const ScheduleAnswer& answer, const TextStyle& style) { return ScheduleText(style.color).one(answer); }
std::string text(std::span<const ScheduleAnswer> answers, const TextStyle& style) {
  return ScheduleText(style.color).several(answers);
}
std::string schedule_kinds_text(const TextStyle& style) { return ScheduleText(style.color).kinds(); }

}  // namespace cairn::report
