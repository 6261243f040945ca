// A schedule as a picture: a row per stage, time from left to right, an operation a box with its micro-batch in it.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/schedule.h"
#include "picture_text.h"
#include "schedule_figures.h"
#include "schedule_picture.h"

namespace cairn::report {
namespace {

constexpr double k_least_width = 1600.0, k_most_width = 20000.0;  // of the time axis [pixels]
constexpr double k_shortest = 14.0;                               // an operation's least width below k_most_width
constexpr double k_row = 28.0, k_left = 76.0, k_top = 30.0, k_axis = 28.0, k_legend = 30.0, k_right = 24.0;
constexpr double k_font = 11.0, k_least_font = 4.0, k_letter = 0.58;  // of a digit's width over the height of letters
constexpr double k_ticks = 12.0;                                      // about as many on the axis

class SchedulePicture {
 public:
  explicit SchedulePicture(const ScheduleAnswer& answer)
      : answer_(answer), run_(answer.run), rows_(static_cast<double>(answer.run.order.row_device.size())) {
    std::int64_t shortest = run_.result.makespan;
    for (std::size_t i = 0; i < run_.result.end.size(); ++i)
      if (const std::int64_t time = run_.result.end[i] - run_.result.start[i]; time > 0)
        shortest = std::min(shortest, time);
    const auto makespan = static_cast<double>(std::max<std::int64_t>(1, run_.result.makespan));
    width_ = std::clamp(k_shortest * makespan / static_cast<double>(std::max<std::int64_t>(1, shortest)), k_least_width,
                        k_most_width);
    scale_ = width_ / makespan;
    height_ = k_top + rows_ * k_row + k_axis + k_legend;
  }

  std::string draw() {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"{2:.0f}\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n",
        k_left + width_ + k_right, height_, k_font);
    title();
    axis();
    for (std::size_t row = 0; row < run_.order.row_device.size(); ++row)
      add("<text x=\"8\" y=\"{:.0f}\">stage {}{}</text>\n", row_top(row) + 18.0, run_.order.row_device[row],
          static_cast<std::int32_t>(row) >= run_.order.stages ? ", beside" : "");
    for (std::size_t i = 0; i < run_.order.steps.size(); ++i) box(i);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }
  static double row_top(std::size_t row) { return k_top + static_cast<double>(row) * k_row; }
  std::string amount(double units) const {
    if (answer_.unit.empty()) return fmt::format("{:.6g}", units);
    return core::format(core::Seconds::from_base(units * answer_.seconds_per_unit));
  }

  void title() {
    const ScheduleFigures f = figures(answer_);
    constexpr double k_percent = 100.0;
    add("<text x=\"8\" y=\"18\" font-size=\"13\">{}, {} stages, {} micro-batches: makespan {}, bubble {:.1f} "
        "%</text>\n",
        xml_text(run_.schedule.kind), run_.schedule.stages, run_.schedule.micro_batches / run_.schedule.pieces,
        amount(f.makespan.value()), k_percent * f.bubble.value());
  }

  // Ticks at 1, 2 or 5 times a power of ten of the unit, and the end.
  void axis() {
    const double end = run_.in_units(run_.result.makespan).value();
    if (end <= 0.0) return;
    const double rough = end / (k_ticks * width_ / k_least_width),
                 power = std::pow(10.0, std::floor(std::log10(rough)));
    const double step = power * (rough <= power ? 1.0 : rough <= 2.0 * power ? 2.0 : rough <= 5.0 * power ? 5.0 : 10.0);
    const double bottom = k_top + rows_ * k_row;
    const auto tick = [&](double units) {
      const double x = k_left + width_ * units / end;
      add("<line x1=\"{0:.2f}\" y1=\"{1:.0f}\" x2=\"{0:.2f}\" y2=\"{2:.0f}\" stroke=\"#d0d4da\"/>\n"
          "<text x=\"{0:.2f}\" y=\"{3:.0f}\" text-anchor=\"middle\" fill=\"#555\">{4}</text>\n",
          x, k_top - 4.0, bottom + 4.0, bottom + 17.0, amount(units));
    };
    for (int i = 0; static_cast<double>(i) * step < end - step / 2.0; ++i) tick(static_cast<double>(i) * step);
    tick(end);
    add("<text x=\"8\" y=\"{:.0f}\" fill=\"#555\">time</text>\n", bottom + 17.0);
  }

  void box(std::size_t i) {
    const pipeline::SweepStep& step = run_.order.steps[i];
    used_[static_cast<std::size_t>(step.operation.phase)] = true;
    const double x = k_left + scale_ * static_cast<double>(run_.result.start[i]);
    const double width = scale_ * static_cast<double>(run_.result.end[i] - run_.result.start[i]);
    const bool second = i > 0 && run_.order.steps[i - 1].operation.joined;
    const double height = (k_row - 4.0) / (second || step.operation.joined ? 2.0 : 1.0);
    const double y = row_top(step.device) + (second ? height : 0.0);
    const bool pale = step.operation.chunk % 2 != 0;
    pale_ = pale_ || pale;
    add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#555\" "
        "stroke-width=\"0.5\" fill-opacity=\"{}\"/>\n",
        x, y, width, height, look(step.operation.phase).fill, pale ? "0.5" : "1");
    const std::string label = std::to_string(step.operation.micro_batch);
    const double font = std::min(k_font, 0.9 * width / (k_letter * static_cast<double>(label.size())));
    if (font < k_least_font) return;
    add("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\" font-size=\"{:.3g}\">{}</text>\n", x + width / 2.0,
        y + height / 2.0 + 0.36 * font, font, label);
  }

  void legend() {
    double x = k_left;
    const double y = k_top + rows_ * k_row + k_axis;
    const auto entry = [&](const char* fill, const char* opacity, std::string_view name) {
      add("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\" fill-opacity=\"{}\" "
          "stroke=\"#555\" stroke-width=\"0.5\"/><text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
          x, y, fill, opacity, x + 16.0, y + 10.0, name);
      x += 34.0 + k_letter * k_font * static_cast<double>(name.size());
    };
    for (std::size_t phase = 0; phase < used_.size(); ++phase)
      if (used_[phase]) {
        const PhaseLook& how = look(static_cast<pipeline::Phase>(phase));
        entry(how.fill, "1", how.name);
      }
    if (pale_) entry(look(pipeline::Phase::forward).fill, "0.5", "pale: chunks or directions of odd number");
    add("<text x=\"{:.0f}\" y=\"{:.0f}\">in a box: its micro-batch</text>\n", x, y + 10.0);
  }

  const ScheduleAnswer& answer_;
  const pipeline::ExactRun& run_;
  double rows_;
  double width_ = k_least_width, height_ = 0.0, scale_ = 0.0;
  std::array<bool, pipeline::k_phases> used_{};
  bool pale_ = false;
  std::string out_;
};

}  // namespace

std::string svg(const ScheduleAnswer& answer) { return SchedulePicture(answer).draw(); }

}  // namespace cairn::report
