#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/core/printable.h"
#include "cairn/report/diff_trace.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using core::Picoseconds;
using profile::Part;

constexpr std::size_t k_diff_parts = 8;     // rows on one screen
constexpr std::size_t k_diff_listed = 3;    // streams and warnings on one screen
constexpr std::size_t k_diff_kernels = 10;  // of a class, in the full text
constexpr std::size_t k_diff_name = 60;     // columns of a kernel's name
constexpr double k_diff_percent = 100.0;
constexpr double k_nanosecond = 1e-9;
constexpr Picoseconds k_diff_parts_of_step = 1'000'000;  // a difference of less than such a part is none

std::string shown_column(Picoseconds time) { return time == 0 ? "-" : aligned_time(core::to_seconds(time)); }
std::string signed_column(Picoseconds time) {
  return (time < 0 ? "-" : "+") + aligned_time(core::to_seconds(std::abs(time)));
}

// "matrix products take 45.0 ms more of the step than predicted"
std::string part_sentence(const Part& part, bool first) {
  const Picoseconds by = part.difference();
  const bool hides = part.kind && profile::group_of(*part.kind) != profile::Group::computation;
  return fmt::format("{}{}: {} {}{}", part.name, hides ? ", as far as nothing hides it" : "", shown_time(std::abs(by)),
                     by > 0 ? "more" : "less", first ? " of the step than predicted" : "");
}

bool matters(const profile::Difference& of, Picoseconds by) {
  return std::abs(by) > std::max(of.measured.span, of.predicted.span) / k_diff_parts_of_step;
}

class DiffText : TextReport {
 public:
  DiffText(const TraceDifference& answer, const TextStyle& style)
      : TextReport(style.color), answer_(answer), difference_(answer.difference), full_(style.full) {}

  std::string make() {
    out_ += wrapped(sentence(answer_), "", "");
    sources();
    parts();
    groups();
    streams();
    unmatched();
    if (full_) kernels();
    warnings();
    return std::move(out_);
  }

 private:
  void sources() {
    const profile::Trace& trace = answer_.trace;
    std::string who = trace.rank ? fmt::format(", rank {}", *trace.rank) : "";
    if (trace.rank && trace.ranks) who += fmt::format(" of {}", *trace.ranks);
    line("");
    out_ += wrapped(fmt::format("{}{}, device {}: {}", core::printable(trace.file), who, trace.device, step()),
                    "trace       ", "            ");
    out_ += wrapped(fmt::format("{}, stage {} of {}", answer_.experiment.empty() ? "an experiment" : answer_.experiment,
                                answer_.stage, answer_.stages),
                    "prediction  ", "            ");
  }
  std::string step() const {
    const std::vector<profile::StepTimes>& steps = answer_.steps;
    const std::string& name = steps[answer_.chosen].name;
    if (name.empty()) return "the whole of it, which annotates no steps";
    if (steps.size() == 1) return core::printable(name);
    const auto length = [](const profile::StepTimes& each) { return each.end - each.start; };
    const auto [least, most] = std::minmax_element(steps.begin(), steps.end(),
                                                   [&](const auto& a, const auto& b) { return length(a) < length(b); });
    const auto shown = [&](const auto& each) {
      return core::format(core::Seconds::from_base(static_cast<double>(length(*each)) * k_nanosecond));
    };
    return fmt::format("{}, of {} steps of {} to {}", core::printable(name), steps.size(), shown(least), shown(most));
  }

  void row(std::string_view name, const profile::ClassUse& measured, const profile::ClassUse& predicted, bool idle) {
    const auto cells = [&](const profile::ClassUse& use) {
      return idle ? fmt::format("{:>9} {:>9}", "", "")
                  : fmt::format("{:>9} {:>9}", grouped(use.count), shown_column(use.time));
    };
    const Picoseconds by = measured.counted - predicted.counted;
    line("{:26}{} {} {:>9} {:>9} {:>10}", name, cells(measured), cells(predicted), shown_column(measured.counted),
         shown_column(predicted.counted), matters(difference_, by) ? signed_column(by) : "-");
  }

  void parts() {
    line("");
    line("{:26}{:>19} {:>19} {:>30}", "", "measured", "predicted", "of the step, no instant twice");
    line("{:26}{:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}", "", "kernels", "time", "kernels", "time", "measured",
         "predicted", "difference");
    const std::size_t shown =
        full_ || difference_.parts.size() <= k_diff_parts + 1 ? difference_.parts.size() : k_diff_parts;
    profile::ClassUse measured, predicted;
    for (std::size_t i = 0; i < difference_.parts.size(); ++i) {
      const Part& part = difference_.parts[i];
      if (i < shown) {
        row(part.name, part.measured, part.predicted, !part.kind);
        continue;
      }
      for (const auto& [sum, use] : {std::pair(&measured, &part.measured), std::pair(&predicted, &part.predicted)}) {
        sum->count += use->count;
        sum->time += use->time;
        sum->counted += use->counted;
      }
    }
    if (shown < difference_.parts.size())
      row(fmt::format("{} others", difference_.parts.size() - shown), measured, predicted, false);
    row("the step", {.counted = difference_.measured.span}, {.counted = difference_.predicted.span}, true);
  }

  void groups() {
    line("");
    const auto one = [&](std::string_view what, Picoseconds (*of)(const profile::Summary&)) {
      line("{:45} {:>9}           {:>9}", what, shown_column(of(difference_.measured)),
           shown_column(of(difference_.predicted)));
    };
    using profile::Summary;
    one("computation", [](const Summary& of) { return of.busy[0]; });
    one("communication hidden behind it", [](const Summary& of) { return of.busy[1] - of.exposed[1]; });
    one("communication exposed", [](const Summary& of) { return of.exposed[1]; });
    one("the device idle", [](const Summary& of) { return of.idle(); });
  }

  void streams() {
    const auto listed = [&](const profile::Summary& of, std::string_view first) {
      std::vector<const profile::StreamUse*> order;
      for (const profile::StreamUse& each : of.streams) order.push_back(&each);
      std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->busy > b->busy; });
      const std::size_t shown = full_ ? order.size() : std::min(order.size(), k_diff_listed);
      std::string all;
      for (std::size_t i = 0; i < shown; ++i) {
        const double share = of.span > 0 ? static_cast<double>(order[i]->busy) / static_cast<double>(of.span) : 0.0;
        all += fmt::format("{}{} {:.0f} % busy with {}", all.empty() ? "" : "; ", order[i]->name,
                           k_diff_percent * share, profile::name(order[i]->group));
      }
      if (shown < order.size()) all += fmt::format("; {} more", order.size() - shown);
      out_ += wrapped(all, first, "            ");
    };
    listed(difference_.measured, "measured    ");
    listed(difference_.predicted, "predicted   ");
  }

  void unmatched() {
    if (difference_.unmatched.empty()) return;
    Picoseconds time = 0;
    for (const profile::KernelUse& each : difference_.unmatched) time += each.time;
    out_ += wrapped(
        fmt::format("Of no class that is known: {}, {} together; the longest: {}",
                    counted(static_cast<std::int64_t>(difference_.unmatched.size()), "kernel name", "kernel names"),
                    shown_time(time), clipped(core::printable(difference_.unmatched.front().name), k_diff_name)),
        "", "");
  }

  void kernels() {
    for (const Part& part : difference_.parts) {
      if (!part.kind) continue;
      line("");
      line("{}", paint_.bold(part.name));
      const auto side = [&](std::string_view which, const std::vector<profile::KernelUse>& all) {
        std::size_t shown = 0, more = 0;
        for (const profile::KernelUse& each : all) {
          if (each.kind != *part.kind) continue;
          if (shown == k_diff_kernels) {
            ++more;
            continue;
          }
          ++shown;
          line("  {:10}{:>9} {:>9}  {}", which, grouped(each.count), shown_column(each.time),
               clipped(core::printable(each.name), k_diff_name));
        }
        if (more > 0) line("  {:10}{:>9}  more, all in the JSON", which, more);
      };
      side("measured", difference_.measured.kernels);
      side("predicted", difference_.predicted.kernels);
    }
  }

  void warnings() {
    const std::size_t shown = full_ ? answer_.warnings.size() : std::min(answer_.warnings.size(), k_diff_listed);
    for (std::size_t i = 0; i < shown; ++i) out_ += wrapped("Warning: " + answer_.warnings[i], "", "");
    if (shown < answer_.warnings.size()) line("{} more warnings: --full", answer_.warnings.size() - shown);
  }

  const TraceDifference& answer_;
  const profile::Difference& difference_;
  bool full_;
};

}  // namespace

std::string sentence(const TraceDifference& answer) {
  const profile::Difference& of = answer.difference;
  const double measured = core::to_seconds(of.measured.span), predicted = core::to_seconds(of.predicted.span);
  std::string result =
      fmt::format("Measured {}, predicted {}", shown_time(of.measured.span), shown_time(of.predicted.span));
  if (measured > 0.0) {
    const double error = predicted / measured - 1.0;
    if (std::abs(error) < 1.0)
      result += fmt::format(": the prediction is {:.1f} % {}", k_diff_percent * std::abs(error),
                            error < 0.0 ? "low" : "high");
    else
      result += fmt::format(", {:.3g} times as long", predicted / measured);
  }
  result += ". ";
  if (of.parts.empty() || !matters(of, of.parts.front().difference())) return result + "No part of the step differs.";
  result += "Largest differences: " + part_sentence(of.parts.front(), true);
  for (std::size_t i = 1; i < std::min(of.parts.size(), k_diff_listed); ++i)
    if (matters(of, of.parts[i].difference())) result += "; " + part_sentence(of.parts[i], false);
  return result + ".";
}

std::string text(const TraceDifference& answer, const TextStyle& style) { return DiffText(answer, style).make(); }

}  // namespace cairn::report
