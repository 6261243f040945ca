#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/format_units.h"
#include "cairn/report/stages.h"
#include "split_table.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_stage_rows = 10;  // on one screen with the rest

class StagesText : TextReport {
 public:
  StagesText(const Stages& of, const TextStyle& style) : TextReport(style.color), of_(of), full_(style.full) {}

  std::string make() {
    if (of_.answer == nullptr) return none();
    const splits::PlacementStrategy& strategy = of_.strategy;
    std::int64_t devices = 0;
    for (const splits::StageStrategy& stage : strategy.stages) devices += devices_of(stage);
    line("{}, batch {} in {}, {}, on {} of {}", strategy.network, grouped(strategy.batch),
         counted(strategy.micro_batches, "micro-batch", "micro-batches"), strategy.format,
         counted(devices, "accelerator", "accelerators"), of_.cluster);
    line("{} a step in {}{}", shown_time(of_.answer->time),
         counted(static_cast<std::int64_t>(strategy.stages.size()), "stage", "stages"),
         of_.fits() ? "" : ", but it does not fit into memory");
    if (of_.searched()) {
      line("{} priced; Alpa's sum, all stages and the longest once more for",
           counted(static_cast<std::int64_t>(of_.answer->priced), "stage", "stages"));
      line("every further micro-batch, is least: {}; the step runs under 1F1B", shown_time(of_.answer->planned));
    }
    line("");
    table();
    line("");
    line("  time: of one micro-batch, both passes, without the update of the parameters");
    line("  memory: of an accelerator, which has {}", core::format(of_.capacity));
    if (full_) placements();
    rests_on(of_.warnings, of_.assumptions, full_);
    return std::move(out_);
  }

 private:
  static std::int64_t devices_of(const splits::StageStrategy& stage) {
    return std::accumulate(stage.axes.begin(), stage.axes.end(), std::int64_t{1}, std::multiplies<>());
  }

  void placements() {
    for (std::size_t i = 0; i < of_.strategy.stages.size(); ++i) {
      line("");
      line("stage {}", i + 1);
      out_ += split_table(of_.strategy.stages[i].placements, "placement", std::nullopt);
    }
    line("");
  }

  std::string none() {
    line("{}, batch {}: no stages fit into the {} of an accelerator of {}", of_.strategy.network,
         grouped(of_.strategy.batch), core::format(of_.capacity), of_.cluster);
    line("give more nodes, more micro-batches, or a smaller batch");
    return std::move(out_);
  }

  // Both ends of a name that would widen the screen.
  static std::string cut(const std::string& name) {
    constexpr std::size_t k_most = 33;
    if (name.size() <= k_most) return name;
    const std::size_t half = (k_most - 2) / 2;
    return name.substr(0, half) + ".." + name.substr(name.size() - half);
  }

  void table() {
    const std::vector<splits::StageStrategy>& stages = of_.strategy.stages;
    const std::size_t shown = full_ ? stages.size() : std::min(stages.size(), k_stage_rows);
    std::vector<std::string> operators;
    std::size_t width = 9;
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& placements = stages[i].placements;
      operators.push_back(placements.size() == 1
                              ? placements.front().first
                              : fmt::format("{} .. {}", placements.front().first, placements.back().first));
      if (!full_) operators.back() = cut(operators.back());
      width = std::max(width, operators.back().size());
    }
    line("  {:>5}  {:<{}}  {:>12}  {:>10}  {:>10}", "stage", "operators", width, "accelerators", "time", "memory");
    for (std::size_t i = 0; i < shown; ++i)
      line("  {:>5}  {:<{}}  {:>12}  {:>10}  {:>10}", i + 1, operators[i], width,
           fmt::format("{}", fmt::join(stages[i].axes, "x")), shown_time(of_.answer->stages[i].time),
           core::format(core::Bytes::from_base(of_.answer->stages[i].memory)));
    if (shown < stages.size()) line("  {} more stages: --full", stages.size() - shown);
  }

  const Stages& of_;
  bool full_;
};

}  // namespace

std::string text(const Stages& of, const TextStyle& style) { return StagesText(of, style).make(); }

}  // namespace cairn::report
