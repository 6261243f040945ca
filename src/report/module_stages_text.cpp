#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/module_stages.h"
#include "run_words.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_device_rows = 8;  // on one screen with the rest

class ModuleStagesText : TextReport {
 public:
  ModuleStagesText(const Partition& of, const TextStyle& style) : TextReport(style.color), of_(of), full_(style.full) {}

  std::string make() {
    const division::ModuleStages& answer = of_.answer;
    out_ +=
        wrapped(fmt::format("{}: {} over {}", of_.experiment, counted(std::ssize(answer.modules), "module", "modules"),
                            counted(of_.asked.devices, "device", "devices")),
                "", "");
    line("cost: {} % memory, {} % time; the fullest device has {} of the model by",
         core::format_count(100.0 * of_.asked.memory_weight),
         core::format_count(100.0 * (1.0 - of_.asked.memory_weight)), percent(answer.tree.most));
    line("the tree of modules, {} by the best consecutive cut, {} on average", percent(answer.exact.most),
         percent(1.0 / static_cast<double>(of_.asked.devices)));
    line("");
    devices();
    if (full_) modules();
    if (answer.exact.stages) stages(*answer.exact.stages);
    rests_on(of_.warnings, answer.assumptions, full_);
    return std::move(out_);
  }

 private:
  // The first and the last module of a device; none has any between them that is elsewhere.
  std::string modules_on(std::int64_t device, std::int64_t division::ModuleRow::*on) const {
    const std::vector<division::ModuleRow>& all = of_.answer.modules;
    const auto here = [&](const division::ModuleRow& row) { return row.*on == device; };
    const auto first = std::find_if(all.begin(), all.end(), here);
    if (first == all.end()) return "none";
    const auto last = std::find_if(all.rbegin(), all.rend(), here);
    return first->name == last->name ? first->name : fmt::format("{} .. {}", first->name, last->name);
  }

  void stages(const std::string& layers) {
    constexpr std::size_t k_room = 200;  // three lines
    line("");
    if (!full_ && layers.size() > k_room) return line("--json has the exact cut as strategy.stages");
    line("The exact cut runs with");
    // Other stages leave other ranks for copies.
    out_ += wrapped(fmt::format("--set strategy.pp={} --set strategy.dp=null --set strategy.stages='{}'",
                                of_.asked.devices, layers),
                    "  ", "  ");
  }

  void devices() {
    const auto all = static_cast<std::size_t>(of_.asked.devices);
    const std::size_t shown = full_ ? all : std::min(all, k_device_rows);
    line("  {:>6}  {:>7}  {:<24}  {:>7}  {}", "device", "tree", "modules", "exact", "modules");
    for (std::size_t i = 0; i < shown; ++i) {
      const auto device = static_cast<std::int64_t>(i);
      line("  {:>6}  {:>7}  {:<24}  {:>7}  {}", device, percent(of_.answer.tree.loads[i]),
           clipped(modules_on(device, &division::ModuleRow::tree_device), 24), percent(of_.answer.exact.loads[i]),
           clipped(modules_on(device, &division::ModuleRow::exact_device), 24));
    }
    if (shown < all) line("  {} more devices: --full", grouped(static_cast<std::int64_t>(all - shown)));
  }

  void modules() {
    line("");
    line("  {:<24}  {:>10}  {:>10}  {:>6}  {:>6}", "module", "time", "memory", "tree", "exact");
    for (const division::ModuleRow& row : of_.answer.modules)
      line("  {:<24}  {:>10}  {:>10}  {:>6}  {:>6}", clipped(row.name, 24), shown_time(row.time),
           core::format(core::Bytes::from_base(static_cast<double>(row.memory))), row.tree_device, row.exact_device);
  }

  const Partition& of_;
  bool full_;
};

}  // namespace

std::string text(const Partition& of, const TextStyle& style) { return ModuleStagesText(of, style).make(); }

}  // namespace cairn::report
