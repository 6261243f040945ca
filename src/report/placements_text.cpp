#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/format_units.h"
#include "cairn/report/placements.h"
#include "split_table.h"
#include "text_report.h"

namespace cairn::report {
namespace {

std::string step_time(double picoseconds) {
  return core::format(core::Seconds::from_base(picoseconds / core::k_picoseconds_per_second), 4);
}
std::string step_time(core::Picoseconds time) { return step_time(static_cast<double>(time)); }

class PlacementsText : TextReport {
 public:
  PlacementsText(const Placements& of, const TextStyle& style) : TextReport(style.color), of_(of), full_(style.full) {}

  std::string make() {
    headline();
    line("");
    parts();
    line("");
    std::vector<std::pair<std::string, std::string>> operators;
    for (const splits::PlacementRow& row : of_.answer.operators) operators.emplace_back(row.name, row.signature);
    constexpr std::size_t k_rows = 10;  // on one screen with the rest
    out_ += split_table(operators, "placement", full_ ? std::nullopt : std::optional(k_rows));
    rests_on(of_.warnings, of_.assumptions, full_);
    return std::move(out_);
  }

 private:
  void headline() {
    const splits::PlacementStrategy& strategy = of_.strategy;
    std::int64_t devices = 1;
    for (const std::int64_t each : strategy.axes) devices *= each;
    line("{}, batch {}, {}, on {} ({}) of {}", strategy.network, grouped(strategy.batch), strategy.format,
         counted(devices, "accelerator", "accelerators"), fmt::join(strategy.axes, " x "), of_.cluster);
    line("{} a step{}", step_time(of_.time), of_.fits() ? ending() : misfit());
    if (!of_.search) return;
    const double alone = of_.search->answer.data_parallel;
    line("{} data parallelism ({})", against(static_cast<double>(of_.time), alone, "faster", "as long as"),
         step_time(alone));
  }

  std::string misfit() const {
    if (!of_.search) return ", but it does not fit into memory";
    return of_.search->method == splits::Method::pase ? ", but no placements fit into memory"
                                                      : ", but it does not fit (--method pase looks for what does)";
  }

  std::string ending() const {
    if (!of_.search) return "";
    const splits::SplitAnswer& answer = of_.search->answer;
    if (answer.bound) return fmt::format(", and no placements that fit take less than {}", step_time(*answer.bound));
    return answer.proven ? ", and no placements take less" : ", the least found (--method pase is exact)";
  }

  void parts() {
    std::string words;
    for (std::size_t i = 0; i < splits::k_parts; ++i) {
      const auto part = static_cast<splits::Part>(i);
      core::Picoseconds sum = 0;
      for (const splits::PlacementRow& row : of_.answer.operators) sum += row.times[part];
      if (sum > 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", splits::name(part), step_time(sum));
    }
    out_ += wrapped(words, "  ", "  ");
    line("  nothing overlaps, gradients have no buckets, and no parameter is updated");
    line("  memory {} of {} an accelerator, Adam's state included", core::format(of_.memory),
         core::format(of_.capacity));
  }

  const Placements& of_;
  bool full_;
};

}  // namespace

std::string text(const Placements& of, const TextStyle& style) { return PlacementsText(of, style).make(); }

}  // namespace cairn::report
