#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/layered.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_stretch_rows = 8;  // on one screen with the rest

class LayeredText : TextReport {
 public:
  LayeredText(const Layered& of, const TextStyle& style) : TextReport(style.color), of_(of), full_(style.full) {}

  std::string make() {
    if (of_.answer == nullptr) return none();
    const division::LayeredPlan& plan = of_.strategy.plan;
    out_ +=
        wrapped(fmt::format("{}: {} a step on {} x {}, {}, {} of {}{}", of_.experiment, shown_time(of_.answer->time),
                            of_.accelerators, of_.accelerator, counted(std::ssize(plan.stages), "stage", "stages"),
                            counted(plan.micro_batches, "micro-batch", "micro-batches"),
                            counted(of_.sequences / plan.micro_batches, "sequence", "sequences"),
                            of_.fits() ? "" : "; it does not fit into memory"),
                "", "");
    if (of_.search != nullptr) searched();
    line("");
    table();
    line("");
    line("  time: of a micro-batch, both passes");
    line("  memory: of an accelerator, which has {}", core::format(of_.capacity));
    rests_on(of_.warnings, of_.assumptions, full_);
    return std::move(out_);
  }

 private:
  void searched() {
    std::string text = "the fastest that was found with stages whose layers are shared in their fastest ways; ";
    if (of_.search->uniform) {
      const division::LayeredAnswer& other = *of_.search->uniform;
      const division::LayerWay& way = other.plan.stages.front().layers.front().way;
      text += fmt::format("the best with one way for all: {} (tp {}{}{}, {}, {})", shown_time(other.priced.time),
                          way.tp, way.sharded ? ", sharded" : "", way.recompute ? ", recompute" : "",
                          counted(std::ssize(other.plan.stages), "stage", "stages"),
                          counted(other.plan.micro_batches, "micro-batch", "micro-batches"));
    } else {
      text += "no single way for all of them fits";
    }
    out_ += wrapped(text, "", "");
  }

  std::string none() {
    if (of_.search != nullptr && of_.search->refused) {
      const core::Diagnostic& why = *of_.search->refused;
      out_ += wrapped(fmt::format("{}: its layers can be shared in no way, for one: {}", of_.experiment, why.message),
                      "", "");
      if (!why.hint.empty()) out_ += wrapped(why.hint, "", "");
      return std::move(out_);
    }
    out_ += wrapped(fmt::format("{}: no plan was found whose layers fit into the {} of an accelerator", of_.experiment,
                                core::format(of_.capacity)),
                    "", "");
    line("give more accelerators, or fewer or shorter sequences");
    return std::move(out_);
  }

  // "embedding .. 20", "layers 21 .. 40", "layer 61 .. head": short enough for layers of four digits.
  std::string names(std::size_t first, std::int64_t count) const {
    const std::string begin = of_.layers.name(first);
    if (count == 1) return begin;
    const std::size_t last = first + static_cast<std::size_t>(count) - 1;
    if (!of_.layers.in_body(last)) return fmt::format("{} .. {}", begin, of_.layers.name(last));
    return of_.layers.in_body(first) ? fmt::format("layers {} .. {}", first, last)
                                     : fmt::format("{} .. {}", begin, last);
  }

  void table() {
    line("  {:>5}  {:<19}  {:>4}  {:>4}  {:<7}  {:<9}  {:>8}  {:>8}", "stage", "layers", "tp", "dp", "sharded",
         "recompute", "time", "memory");
    const std::vector<division::LayeredStage>& stages = of_.strategy.plan.stages;
    const std::int64_t devices = of_.accelerators / std::ssize(stages);
    std::size_t layer = 0, rows = 0, left_out = 0;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      bool first = true;
      for (const division::LayerStretch& stretch : stages[i].layers) {
        if (full_ || rows < k_stretch_rows)
          row(first ? std::to_string(i + 1) : "", names(layer, stretch.count), stretch.way, devices,
              first ? &of_.answer->stages[i] : nullptr);
        else
          ++left_out;
        ++rows;
        first = false;
        layer += static_cast<std::size_t>(stretch.count);
      }
    }
    if (left_out > 0) line("  {} more rows: --full", left_out);
  }

  // `priced`: of the stage that begins in this row.
  void row(const std::string& stage, const std::string& layers, const division::LayerWay& way, std::int64_t devices,
           const division::PricedStage* priced) {
    line("  {:>5}  {:<19}  {:>4}  {:>4}  {:<7}  {:<9}  {:>8}  {:>8}", stage, clipped(layers, 19), way.tp,
         devices / way.tp, way.sharded ? "yes" : "", way.recompute ? "yes" : "",
         priced != nullptr ? shown_time(priced->forward + priced->backward, 3) : "",
         priced != nullptr ? core::format(core::Bytes::from_base(static_cast<double>(priced->memory))) : "");
    if (priced != nullptr && full_ && priced->once > 0)
      line("  {:>5}  {} more once a step", "", shown_time(priced->once));
  }

  const Layered& of_;
  bool full_;
};

}  // namespace

std::string text(const Layered& of, const TextStyle& style) { return LayeredText(of, style).make(); }

}  // namespace cairn::report
