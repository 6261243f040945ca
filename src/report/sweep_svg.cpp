#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/sweep.h"
#include "picture_axis.h"
#include "svg_drawing.h"
#include "sweep_words.h"

namespace cairn::report {
namespace {

constexpr double k_sweep_left = 84.0, k_sweep_top = 60.0, k_sweep_plot_width = 600.0, k_sweep_plot_height = 420.0,
                 k_sweep_bottom = 60.0;  // around and of the plot [pixels]
constexpr double k_sweep_gap = 28.0, k_sweep_legend = 260.0, k_sweep_legend_row = 20.0;
constexpr std::size_t k_sweep_legend_letters = 38;
constexpr double k_sweep_letter = 7.0;  // width of a letter of a tick, about [pixels]
constexpr double k_sweep_point = 3.4;
constexpr std::size_t k_sweep_few_lines = 4;  // of more, ideal scaling is drawn fainter
constexpr double k_sweep_parts = 6.0;         // of a linear axis

struct PlotPoint {
  std::size_t at = 0;  // index of the key's value
  double tokens_per_s = 0.0;
  double gpus = 1.0;
  bool fits = true;
  std::string title = {};
};
struct PlotLine {
  std::string name = {};
  std::vector<PlotPoint> points = {};
};

class SweepPicture : SvgDrawing {
 public:
  explicit SweepPicture(const Sweep& of) : answer_(of.answer), axis_(of.answer.variations.front().values) {
    for (const sweep::Row& row : answer_.rows)
      if (row.point) line_of(row).points.push_back(point_of(row));
    x_ = AxisSpan::around(axis_.places.front(), axis_.places.back(), axis_.logarithmic);
    double least = 0.0, most = 0.0;
    for (const PlotLine& line : lines_)
      for (const PlotPoint& point : line.points)
        for (const double value : {point.tokens_per_s, ideal(line, point).value_or(point.tokens_per_s)}) {
          least = least == 0.0 ? value : std::min(least, value);
          most = std::max(most, value);
        }
    y_ = AxisSpan::of_rates(least, most, axis_.logarithmic);
  }

  std::string draw() {
    const double width = k_sweep_left + k_sweep_plot_width + k_sweep_gap + k_sweep_legend;
    const double legend = k_sweep_top + k_sweep_legend_row * static_cast<double>(lines_.size() + 4);
    out_ += svg_head(width, std::max(k_sweep_top + k_sweep_plot_height + k_sweep_bottom, legend));
    text(8.0, 22.0, "start", answer_.experiment.empty() ? "Throughput" : answer_.experiment, " font-size=\"15\"");
    text(8.0, 42.0, "start", fmt::format("Tokens per second over {}", key()), " fill=\"#555\"");
    key_ticks();
    rate_ticks();
    add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#9aa3ad\"/>\n",
        k_sweep_left, k_sweep_top, k_sweep_plot_width, k_sweep_plot_height);
    for (std::size_t i = 0; i < lines_.size(); ++i) ideal_line(lines_[i], colour(i));
    for (std::size_t i = 0; i < lines_.size(); ++i) measured_line(i);
    legend_rows();
    return out_ + "</svg>\n";
  }

 private:
  // The only line.
  std::string unnamed() const {
    const bool searched = !answer_.rows.empty() && answer_.rows.front().searched.has_value();
    return searched ? "best layout of each row" : "layout as written";
  }
  const std::string& key() const { return answer_.variations.front().key; }

  double x(std::size_t at) const { return k_sweep_left + k_sweep_plot_width * x_.share(axis_.places[at]); }
  double y(double value) const { return k_sweep_top + k_sweep_plot_height * (1.0 - y_.share(value)); }

  // Rows that differ in the first key alone make one line.
  PlotLine& line_of(const sweep::Row& row) {
    std::string name;
    for (std::size_t i = 1; i < row.values.size(); ++i)
      name += fmt::format("{}{} {}", i == 1 ? "" : ", ", answer_.variations[i].key, row.values[i]);
    const auto known = std::find_if(lines_.begin(), lines_.end(), [&](const PlotLine& l) { return l.name == name; });
    return known == lines_.end() ? lines_.emplace_back(PlotLine{.name = std::move(name)}) : *known;
  }
  PlotPoint point_of(const sweep::Row& row) const {
    const std::vector<std::string>& values = answer_.variations.front().values;
    const RunFigures f = sweep_figures(*row.point);
    return {
        .at = static_cast<std::size_t>(std::find(values.begin(), values.end(), row.values.front()) - values.begin()),
        .tokens_per_s = f.tokens_per_s,
        .gpus = static_cast<double>(row.point->gpus),
        .fits = row.point->prediction.fits,
        .title = fmt::format("{}: {} a step, {:.0f} tokens/s", sweep_values(answer_, row),
                             core::format(core::Seconds::from_base(f.time_s)), f.tokens_per_s)};
  }

  // What ideal scaling of the line's first point gives; none where all points have as many accelerators.
  static std::optional<double> ideal(const PlotLine& line, const PlotPoint& point) {
    const PlotPoint& first = line.points.front();
    if (line.points.back().gpus == first.gpus) return std::nullopt;
    return first.tokens_per_s * point.gpus / first.gpus;
  }

  void key_ticks() {
    double free_from = 0.0;  // where the next label may begin
    const std::vector<std::string>& values = answer_.variations.front().values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      add("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#eceef1\"/>\n", x(i), k_sweep_top,
          k_sweep_top + k_sweep_plot_height);
      const std::string label = axis_.label(values[i]);
      const double half = k_sweep_letter * static_cast<double>(label.size()) / 2.0;
      if (x(i) - half < free_from) continue;
      free_from = x(i) + half + k_sweep_letter;
      text(x(i), k_sweep_top + k_sweep_plot_height + 18.0, "middle", label, " fill=\"#555\"");
    }
    text(k_sweep_left + k_sweep_plot_width / 2.0, k_sweep_top + k_sweep_plot_height + 42.0, "middle",
         axis_.unit.empty() ? key() : fmt::format("{} [{}]", key(), axis_.unit), " fill=\"#555\"");
  }

  void rate_tick(double value, bool labelled) {
    add("<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" stroke=\"{3}\"/>\n", k_sweep_left, y(value),
        k_sweep_left + k_sweep_plot_width, labelled ? "#d0d4da" : "#eceef1");
    if (labelled) text(k_sweep_left - 6.0, y(value) + 4.0, "end", core::format_count(value), " fill=\"#555\"");
  }
  void rate_ticks() {
    add("<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\" fill=\"#555\">tokens/s</text>\n",
        k_sweep_top + k_sweep_plot_height / 2.0);
    if (lines_.empty()) {
      text(k_sweep_left + k_sweep_plot_width / 2.0, k_sweep_top + k_sweep_plot_height / 2.0, "middle",
           "no row has a result");
      return;
    }
    for (const AxisTick& tick : axis_ticks(y_, k_sweep_parts)) rate_tick(tick.value, tick.labelled);
  }

  void ideal_line(const PlotLine& line, const char* paint) {
    if (!ideal(line, line.points.front())) return;
    std::string path;
    for (const PlotPoint& point : line.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(point.at), y(*ideal(line, point)));
    add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-opacity=\"{}\" stroke-dasharray=\"5 4\"/>\n", path, paint,
        lines_.size() <= k_sweep_few_lines ? 0.6 : 0.25);
  }

  // Rows without a result are passed over.
  void measured_line(std::size_t index) {
    const PlotLine& line = lines_[index];
    std::string path;
    for (const PlotPoint& point : line.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(point.at), y(point.tokens_per_s));
    add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", path, colour(index));
    for (const PlotPoint& point : line.points) mark(index, x(point.at), y(point.tokens_per_s), point.fits, point.title);
  }

  // Lines beyond the last colour begin again, with squares.
  void mark(std::size_t index, double at_x, double at_y, bool fits, std::string_view title) {
    const bool round = index < k_line_colours.size();
    const std::string paint = fmt::format("fill=\"{}\" stroke=\"{}\"", fits ? colour(index) : "#ffffff", colour(index));
    if (round)
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}>", at_x, at_y, k_sweep_point, paint);
    else
      add("<rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" height=\"{2:.1f}\" {3}>", at_x - k_sweep_point,
          at_y - k_sweep_point, 2.0 * k_sweep_point, paint);
    add("<title>{}</title></{}>\n", xml_text(title), round ? "circle" : "rect");
  }

  void legend_rows() {
    const double left = k_sweep_left + k_sweep_plot_width + k_sweep_gap;
    double row = k_sweep_top + 10.0;
    const auto entry = [&](std::string_view words, std::string_view style) {
      add("<path d=\"M{:.1f} {:.1f}h20\" fill=\"none\" {}/>\n", left, row - 4.0, style);
      text(left + 28.0, row, "start", words, " fill=\"#555\"");
      row += k_sweep_legend_row;
    };
    bool scales = false, all_fit = true;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const PlotLine& line = lines_[i];
      std::string name = line.name.empty() ? unnamed() : line.name;
      if (name.size() > k_sweep_legend_letters) name = name.substr(0, k_sweep_legend_letters - 2) + "..";
      mark(i, left + 10.0, row - 4.0, true, line.name);
      entry(name, fmt::format("stroke=\"{}\" stroke-width=\"1.8\"", colour(i)));
      scales = scales || ideal(line, line.points.front());
      for (const PlotPoint& point : line.points) all_fit = all_fit && point.fits;
    }
    if (scales) entry("ideal scaling of its first point", "stroke=\"#7d858e\" stroke-dasharray=\"5 4\"");
    if (all_fit) return;
    add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"#ffffff\" stroke=\"#555\"/>\n", left + 10.0, row - 4.0,
        k_sweep_point);
    text(left + 28.0, row, "start", "hollow: does not fit", " fill=\"#555\"");
  }

  const sweep::Answer& answer_;
  const KeyAxis axis_;
  std::vector<PlotLine> lines_;
  AxisSpan x_, y_;
};

}  // namespace

std::string sweep_svg(const Sweep& of) { return SweepPicture(of).draw(); }

}  // namespace cairn::report
