// Memory of the stages as a picture: a bar a stage, from bottom to top what its tensors, its allocator and the system
// take.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "amounts.h"
#include "cairn/core/format_units.h"
#include "cairn/report/run.h"
#include "memory_parts.h"
#include "picture_axis.h"
#include "svg_drawing.h"

namespace cairn::report {
namespace {

constexpr double k_left = 64.0, k_top = 56.0, k_height = 320.0, k_bottom = 52.0;  // around and of the bars [pixels]
constexpr double k_legend = 250.0, k_legend_row = 20.0, k_gap = 24.0;
constexpr double k_most_width = 960.0, k_widest = 72.0, k_narrowest = 4.0;  // of all bars, and of the place of one
constexpr double k_bar = 0.7;                                               // of its place
constexpr double k_letter = 7.0, k_title_letter = 8.5;                      // width of one
constexpr double k_least_width = 620.0;                                     // of the picture: for its second line
constexpr double k_air = 1.08;                                              // above the highest
constexpr double k_ticks = 8.0;

// What a stage holds of each part.
std::array<double, k_memory_parts> part_bytes(const predict::StageMemory& stage) {
  std::array<double, k_memory_parts> result{};
  std::copy(stage.at_peak.begin(), stage.at_peak.end(), result.begin());
  result[k_allocator_part] = stage.reserved_peak - stage.allocated_peak;
  result[k_system_part] = stage.device_peak - stage.reserved_peak;
  return result;
}

std::string amount(double bytes) { return core::format(core::Bytes::from_base(bytes)); }

class MemoryPicture : SvgDrawing {
 public:
  explicit MemoryPicture(const Run& run) : run_(run), memory_(run.result.prediction.memory) {
    const auto stages = static_cast<double>(memory_.stages.size());
    place_ = std::clamp(k_most_width / stages, k_narrowest, k_widest);
    top_bytes_ = k_air * std::max(memory_.capacity, memory_.device_peak);
  }

  std::string draw() {
    const double width = std::max({k_least_width, k_left + bars_width() + k_gap + k_legend,
                                   k_left + k_title_letter * static_cast<double>(heading().size())});
    out_ += svg_head(width, k_top + k_height + k_bottom);
    title();
    axis();
    for (std::size_t stage = 0; stage < memory_.stages.size(); ++stage) bar(stage);
    capacity();
    legend();
    return out_ + "</svg>\n";
  }

 private:
  double bars_width() const { return place_ * static_cast<double>(memory_.stages.size()); }
  double y(double bytes) const { return k_top + k_height * (1.0 - bytes / top_bytes_); }

  std::string heading() const {
    const std::string& given = run_.job.experiment().name;
    return (given.empty() ? run_.job.transformer().name : given) + ": memory of each stage at its peak";
  }

  void title() {
    const predict::MemoryReport& m = memory_;
    text(8.0, 20.0, "start", heading(), " font-size=\"15\"");
    const std::string verdict = m.headroom() < 0.0 ? fmt::format("{} too much", amount(-m.headroom()))
                                                   : fmt::format("{} to spare", amount(m.headroom()));
    text(8.0, 40.0, "start",
         fmt::format("one accelerator of each stage; stage {} is fullest: {} of {}, {}", m.peak_stage,
                     amount(m.device_peak), amount(m.capacity), verdict),
         " fill=\"#555\"");
  }

  void axis() {
    const double end = top_bytes_ / k_gibibyte, step = tick_step(end, k_ticks);
    for (int i = 0; static_cast<double>(i) * step <= end; ++i) {
      const double at = y(static_cast<double>(i) * step * k_gibibyte);
      add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d0d4da\"/>\n", k_left, at,
          k_left + bars_width(), at);
      text(k_left - 6.0, at + 4.0, "end", fmt::format("{:g}", static_cast<double>(i) * step), " fill=\"#555\"");
    }
    text(8.0, k_top + k_height + 18.0, "start", "GiB", " fill=\"#555\"");
    text(k_left + bars_width() / 2.0, k_top + k_height + 38.0, "middle", "stage", " fill=\"#555\"");
  }

  void bar(std::size_t stage) {
    const predict::StageMemory& memory = memory_.stages[stage];
    const double x = k_left + place_ * (static_cast<double>(stage) + (1.0 - k_bar) / 2.0);
    const double middle = x + k_bar * place_ / 2.0;
    double below = 0.0;
    const std::array<double, k_memory_parts> held = part_bytes(memory);
    for (std::size_t i = 0; i < k_memory_parts; ++i) {
      if (held[i] <= 0.0) continue;
      const MemoryPart& part = memory_parts()[i];
      const double bottom = y(below), top = y(below + held[i]);
      add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>stage {}, {}: "
          "{}</title></rect>\n",
          x, top, k_bar * place_, bottom - top, part.fill, stage, xml_text(part.name), amount(held[i]));
      below += held[i];
    }
    // Of narrow bars every second, fifth, ... has its number.
    const std::string most = std::to_string(memory_.stages.size() - 1);
    const double wide = k_letter * static_cast<double>(most.size() + 1);
    const double numbered = place_ >= wide ? 1.0 : tick_step(wide / place_, 1.0);
    if (stage % static_cast<std::size_t>(numbered) == 0)
      text(middle, k_top + k_height + 18.0, "middle", std::to_string(stage));
    const std::string whole = fmt::format("{:.1f}", memory.device_peak / k_gibibyte);
    if (place_ >= k_letter * static_cast<double>(whole.size() + 1)) text(middle, y(below) - 5.0, "middle", whole);
  }

  void capacity() {
    const double at = y(memory_.capacity);
    add("<line x1=\"{:.1f}\" y1=\"{:.2f}\" x2=\"{:.1f}\" y2=\"{:.2f}\" stroke=\"#c62828\" stroke-width=\"1.5\" "
        "stroke-dasharray=\"6 4\"/>\n",
        k_left, at, k_left + bars_width(), at);
  }

  void legend() {
    const double x = k_left + bars_width() + k_gap;
    double row = k_top + 12.0;
    add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#c62828\" stroke-width=\"1.5\" "
        "stroke-dasharray=\"6 4\"/>\n",
        x, row - 4.0, x + 14.0, row - 4.0);
    text(x + 20.0, row, "start", "capacity for programs, " + amount(memory_.capacity));
    const std::array<MemoryPart, k_memory_parts>& all = memory_parts();
    for (auto part = all.rbegin(); part != all.rend(); ++part) {
      row += k_legend_row;
      add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"12\" fill=\"{}\"/>\n", x, row - 10.0, part->fill);
      text(x + 20.0, row, "start", part->name);
    }
  }

  const Run& run_;
  const predict::MemoryReport& memory_;
  double place_ = k_widest;
  double top_bytes_ = 0.0;
};

}  // namespace

std::string memory_svg(const Run& run) { return MemoryPicture(run).draw(); }

}  // namespace cairn::report
