#include <fmt/format.h>

#include "bound_words.h"
#include "cairn/core/format_units.h"
#include "cairn/report/bound.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using bound::LayerAnswer;
using bound::LayersAnswer;

class LayersText : private TextReport {
 public:
  LayersText(const LayersAnswer& answer, const TextStyle& style) : TextReport(style.color), answer_(answer) {}

  std::string write() {
    line("{}", paint_.bold(answer_.what));
    line("{} on the chip{}, {}", bytes(answer_.on_chip_bytes),
         answer_.machine ? fmt::format(" of {}", answer_.machine->name) : "",
         answer_.backward ? "forward and backward" : "forward");
    for (const LayerAnswer& each : answer_.layers) layer(each);
    line("");
    for (const char* each :
         {"moves: through memory, each operator on its own in its best tiles; at least: no schedule of "
          "it moves less",
          "fused: operators of one number run as one",
          "MUE: data-movement utilisation, the time of the least bytes at the memory's bandwidth over "
          "the operator's time"})
      out_ += wrapped(each, "  - ", "    ");
    for (const std::string& each : assumptions_of_layers()) out_ += wrapped(each, "  - ", "    ");
    return std::move(out_);
  }

 private:
  static std::string bytes(double amount) { return core::format(core::Bytes::from_base(amount)); }
  static std::string percent(double share) { return fmt::format("{:.2f} %", 100.0 * share); }

  void layer(const LayerAnswer& each) {
    const cost::LayerFloor& floor = each.floor;
    line("");
    line("{}  {}", paint_.bold(each.name), paint_.dim(each.count > 1 ? fmt::format("one of {}", each.count) : ""));
    line("  {}", paint_.dim(fmt::format("{:<34}{:<15}{:>10}{:>11}{:>11}{:>8}{:>7}", "operator", "class", "FLOP",
                                        "moves", "at least", "fused", "MUE")));
    for (std::size_t i = 0; i < floor.operators.size(); ++i) row(each, i);
    line("");
    const auto sum = [&](std::string_view name, double amount, std::string_view meaning) {
      line("  {:<18}{:>10} {:>9}  {}", name, bytes(amount), percent(amount / floor.unfused), paint_.dim(meaning));
    };
    sum("one by one", floor.unfused, "every operator through memory, in its best tiles");
    sum("rows fused", floor.fused_rows, "chains of operators that are no contractions");
    sum("fused", floor.fused, "contractions too, as numbered above");
    sum("at least", floor.lower_bytes, floor.method);
    sum("layout copies", floor.written_copies, "so that products take operands as they are written");
    sum("other layouts", floor.chosen_copies, "the same in the orders of dimensions that a search finds");
    const double all = each.flops();
    if (all <= 0.0) return;
    line("");
    line("  {}", paint_.dim(fmt::format("{:<18}{:>10}{:>10}{:>10}{:>10}{:>8}", "share by class", "FLOP", "of FLOP",
                                        "of bytes", "of time", "MUE")));
    for (std::size_t i = 0; i < cost::k_operator_classes; ++i) {
      if (floor.flops[i] <= 0.0 && floor.bytes[i] <= 0.0) continue;
      const auto kind = static_cast<cost::OperatorClass>(i);
      const auto time = answer_.class_time(each, kind);
      line("  {:<18}{:>10}{:>10}{:>10}{:>10}{:>8}", cost::name(kind), si_count(floor.flops[i], k_flop_digits),
           percent(floor.flops[i] / all), percent(floor.bytes[i] / floor.separate),
           time ? percent(time->time_s / time->all_s) : "", time ? fmt::format("{:.0f} %", 100.0 * time->mue) : "");
    }
  }

  void row(const LayerAnswer& each, std::size_t i) {
    const cost::OperatorFloor& op = each.floor.operators[i];
    const bool joined = each.floor.groups[op.group].operators.size() > 1;
    const auto used = answer_.mue(each, i);
    line("  {:<34}{:<15}{:>10}{:>11}{:>11}{:>8}{:>7}", clipped(op.name, k_name - 1), cost::name(op.kind),
         si_count(op.flops, k_operator_digits), bytes(op.alone_bytes), bytes(op.lower_bytes),
         joined ? fmt::format("{}", op.group + 1) : "", used ? fmt::format("{:.0f} %", 100.0 * *used) : "");
  }

  static constexpr std::size_t k_name = 34;  // columns of an operator's name
  static constexpr int k_flop_digits = 5, k_operator_digits = 3;
  const LayersAnswer& answer_;
};

}  // namespace

std::string text(const LayersAnswer& answer, const TextStyle& style) { return LayersText(answer, style).write(); }

}  // namespace cairn::report
