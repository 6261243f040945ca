// A schedule as a picture: a row per stage, time from left to right, an operation a box with its micro-batch in it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/schedule.h"
#include "picture_axis.h"
#include "schedule_figures.h"
#include "schedule_picture.h"
#include "svg_drawing.h"

namespace cairn::report {
namespace {

constexpr double k_least_width = 1600.0, k_most_width = 20000.0;  // of the time axis [pixels]
constexpr double k_shortest = 14.0;                               // an operation's least width below k_most_width
constexpr double k_row = 28.0, k_left = 76.0, k_left_beside = 110.0, k_top = 30.0, k_axis = 28.0, k_legend = 30.0,
                 k_right = 24.0;
constexpr double k_font = 11.0, k_least_font = 4.0, k_letter = 0.58;  // of a digit's width over the height of letters
constexpr double k_ticks = 12.0;                                      // about as many on the axis

class SchedulePicture : SvgDrawing {
 public:
  SchedulePicture(const ScheduleAnswer& answer, const ScheduleFigures& figures, std::string_view row)
      : answer_(answer), figures_(figures), run_(answer.run), row_(row), rows_(shown_rows(answer.run)) {
    places_.resize(run_.order.row_device.size());
    for (std::size_t place = 0; place < rows_.size(); ++place) places_[rows_[place]] = place;
    if (std::ssize(rows_) > run_.order.stages) left_ = k_left_beside;
    std::int64_t shortest = run_.result.makespan;
    for (std::size_t i = 0; i < run_.result.end.size(); ++i)
      if (const std::int64_t time = run_.result.end[i] - run_.result.start[i]; time > 0)
        shortest = std::min(shortest, time);
    const auto makespan = static_cast<double>(std::max<std::int64_t>(1, run_.result.makespan));
    width_ = std::clamp(k_shortest * makespan / static_cast<double>(std::max<std::int64_t>(1, shortest)), k_least_width,
                        k_most_width);
    scale_ = width_ / makespan;
    bottom_ = k_top + static_cast<double>(rows_.size()) * k_row;
    height_ = bottom_ + k_axis + k_legend;
  }

  std::string draw() {
    out_ += svg_head(left_ + width_ + k_right, height_, k_font);
    title();
    axis();
    for (const std::int32_t row : rows_)
      add("<text x=\"8\" y=\"{:.0f}\">{} {}{}</text>\n", row_top(row) + 18.0, row_, run_.order.row_device[row],
          row >= run_.order.stages ? ", beside" : "");
    for (std::size_t i = 0; i < run_.order.steps.size(); ++i)
      if (run_.result.end[i] > run_.result.start[i]) box(i);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  double row_top(std::int32_t row) const { return k_top + static_cast<double>(places_[row]) * k_row; }
  std::string amount(double units) const {
    if (!answer_.unit) return fmt::format("{:.6g}", units);
    return core::format(core::Seconds::from_base(units * answer_.seconds_per_unit()));
  }

  void title() {
    constexpr double k_percent = 100.0;
    add("<text x=\"8\" y=\"18\" font-size=\"13\">{}, {} stages, {} micro-batches: makespan {}, bubble {:.1f} "
        "%</text>\n",
        xml_text(run_.schedule.kind), run_.schedule.stages, run_.schedule.micro_batches / run_.schedule.pieces,
        amount(figures_.makespan.value()), k_percent * figures_.bubble.value());
  }

  // Ticks, and one at the end.
  void axis() {
    const double end = run_.in_units(run_.result.makespan).value();
    if (end <= 0.0) return;
    const double step = tick_step(end, k_ticks * width_ / k_least_width);
    const auto tick = [&](double units) {
      const double x = left_ + width_ * units / end;
      add("<line x1=\"{0:.2f}\" y1=\"{1:.0f}\" x2=\"{0:.2f}\" y2=\"{2:.0f}\" stroke=\"#d0d4da\"/>\n"
          "<text x=\"{0:.2f}\" y=\"{3:.0f}\" text-anchor=\"middle\" fill=\"#555\">{4}</text>\n",
          x, k_top - 4.0, bottom_ + 4.0, bottom_ + 17.0, amount(units));
    };
    for (int i = 0; static_cast<double>(i) * step < end - step / 2.0; ++i) tick(static_cast<double>(i) * step);
    tick(end);
    add("<text x=\"8\" y=\"{:.0f}\" fill=\"#555\">time</text>\n", bottom_ + 17.0);
  }

  void box(std::size_t i) {
    const pipeline::SweepStep& step = run_.order.steps[i];
    used_[static_cast<std::size_t>(step.operation.phase)] = true;
    const double x = left_ + scale_ * static_cast<double>(run_.result.start[i]);
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
    double x = left_;
    const double y = bottom_ + k_axis;
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
    add("<text x=\"{:.0f}\" y=\"{:.0f}\">in a box: its micro-batch{}</text>\n", x, y + 10.0,
        left_ > k_left ? fmt::format("; beside: what runs next to the computation of a {}", row_) : std::string());
  }

  const ScheduleAnswer& answer_;
  const ScheduleFigures& figures_;
  const pipeline::ExactRun& run_;
  std::string_view row_;
  std::vector<std::int32_t> rows_;   // those shown, from the top
  std::vector<std::size_t> places_;  // of rows among them
  double left_ = k_left, bottom_ = 0.0;
  double width_ = k_least_width, height_ = 0.0, scale_ = 0.0;
  std::array<bool, pipeline::k_phases> used_{};
  bool pale_ = false;
};

}  // namespace

std::string schedule_svg(const ScheduleAnswer& answer, const ScheduleFigures& figures, std::string_view row) {
  return SchedulePicture(answer, figures, row).draw();
}
std::string svg(const ScheduleAnswer& answer) { return schedule_svg(answer, figures(answer), "stage"); }

}  // namespace cairn::report
