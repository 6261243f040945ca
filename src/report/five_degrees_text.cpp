#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/five_degrees.h"
#include "text_report.h"

namespace cairn::report {
namespace {

class DegreesText : TextReport {
 public:
  DegreesText(const Degrees& of, const TextStyle& style) : TextReport(style.color), of_(of), full_(style.full) {}

  std::string make() {
    const allotment::FiveDimensionsAnswer& found = of_.answer.found;
    if (!found.best) return none();
    out_ += wrapped(fmt::format("{}: {} a step on {}, the fastest that fits of {}", of_.experiment,
                                shown_time(found.time), counted(of_.accelerators, "accelerator", "accelerators"),
                                counted(found.candidates, "plan", "plans")),
                    "", "");
    line("{} of {} of an accelerator; {} looked at",
         core::format(core::Bytes::from_base(static_cast<double>(found.memory))), core::format(of_.answer.capacity),
         counted(found.evaluated, "plan was", "plans were"));
    line("");
    const allotment::FiveDimensions& best = *found.best;
    line("  {:<16}  {:>6}", "data parallel", best.data);
    line("  {:<16}  {:>6}", "tensor parallel", best.tensor);
    line("  {:<16}  {:>6}", "pipeline stages", best.pipeline);
    line("  {:<16}  {:>6}  ranks that shard the optimizer's state", "optimizer", best.optimizer);
    line("  {:<16}  {:>6}  of the {} of a stage run again in backward", "rematerialised", best.rematerialised,
         counted(of_.layers / best.pipeline, "layer", "layers"));
    line("");
    line("The same plan with all its figures:");
    std::vector<std::string> call{"cairn run", quoted_for_shell(of_.file)};
    for (const std::vector<std::string>* all : {&of_.overrides, &of_.answer.settings})
      for (const std::string& each : *all) call.push_back("--set " + quoted_for_shell(each));
    out_ += wrapped_command(call, "  ", "    ");
    rests_on(of_.warnings, of_.answer.assumptions, full_);
    return std::move(out_);
  }

 private:
  std::string none() {
    const division::FiveDegrees& answer = of_.answer;
    const std::string plans = counted(answer.found.candidates, "plan", "plans");
    const bool all_refused = answer.refused && !answer.allowed;
    out_ += wrapped(all_refused ? fmt::format("{}: none of {} is allowed", of_.experiment, plans)
                                : fmt::format("{}: none of {} fits into the {} of an accelerator", of_.experiment,
                                              plans, core::format(answer.capacity)),
                    "", "");
    if (answer.refused) {
      const core::Diagnostic& why = *answer.refused;
      out_ += wrapped(fmt::format("the first that was not allowed: {}{}", why.message,
                                  why.hint.empty() ? "" : fmt::format(" ({})", why.hint)),
                      "", "  ");
    }
    if (!all_refused) line("give more accelerators, or a smaller micro-batch");
    return std::move(out_);
  }

  // As it is where a shell reads it so, else between single quotes.
  static std::string quoted_for_shell(const std::string& text) {
    constexpr std::string_view k_plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=,:+@%";
    if (!text.empty() && text.find_first_not_of(k_plain) == std::string::npos) return text;
    std::string quoted = "'";
    for (const char each : text) quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
    return quoted + "'";
  }

  const Degrees& of_;
  bool full_;
};

}  // namespace

std::string text(const Degrees& of, const TextStyle& style) { return DegreesText(of, style).make(); }

}  // namespace cairn::report
