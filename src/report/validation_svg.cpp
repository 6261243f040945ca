#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/report/validation.h"
#include "svg_drawing.h"

namespace cairn::report {
namespace {

constexpr double k_plot_left = 72.0, k_plot_top = 56.0, k_plot_side = 640.0,
                 k_plot_bottom = 60.0;  // around and of the square [pixels]
constexpr double k_plot_gap = 28.0, k_plot_legend = 330.0, k_plot_legend_row = 21.0;
constexpr double k_plot_point = 3.2;
constexpr double k_plot_off = 0.1;      // of the dashed lines
constexpr double k_plot_margin = 1.25;  // of the axes beyond the outermost points
constexpr double k_plot_base = 10.0;
constexpr double k_plot_few_decades = 1.5;  // below it every step of an axis has its number

// Tables beyond the last colour begin again, with squares.
constexpr std::array<const char*, 10> k_plot_colours{"#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951",
                                                     "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#5f6b7a"};

struct PlotAxis {
  double from = 1.0, to = k_plot_base;
  double share(double value) const { return std::log(value / from) / std::log(to / from); }
};

class ErrorPicture : SvgDrawing {
 public:
  explicit ErrorPicture(const validation::Report& report) : report_(report) {
    for (const validation::FamilyResult& family : report.families)
      if (family.timed > 0) places_.emplace(family.name, places_.size());
    bool any = false;
    for (const validation::ValidatedRow& row : report.rows) {
      if (!row.error) continue;
      const auto [less, more] = std::minmax(*row.measured_s, row.predicted_s);
      axis_.from = any ? std::min(axis_.from, less) : less;
      axis_.to = any ? std::max(axis_.to, more) : more;
      any = true;
    }
    axis_.from /= k_plot_margin;
    axis_.to *= k_plot_margin;
  }

  std::string draw() {
    const double width = k_plot_left + k_plot_side + k_plot_gap + k_plot_legend;
    const double legend = k_plot_top + k_plot_legend_row * static_cast<double>(places_.size() + 5);
    out_ += svg_head(width, std::max(k_plot_top + k_plot_side + k_plot_bottom, legend));
    text(8.0, 20.0, "start", "Step times: predicted against measured", " font-size=\"15\"");
    text(8.0, 40.0, "start",
         fmt::format("{} runs of {} tables; above the line predictions are too long", timed(), places_.size()),
         " fill=\"#555\"");
    ticks();
    add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#9aa3ad\"/>\n",
        k_plot_left, k_plot_top, k_plot_side, k_plot_side);
    line(1.0, "stroke=\"#3a3f45\" stroke-width=\"1.2\"");
    line(1.0 + k_plot_off, "stroke=\"#7d858e\" stroke-dasharray=\"5 4\"");
    line(1.0 - k_plot_off, "stroke=\"#7d858e\" stroke-dasharray=\"5 4\"");
    for (const validation::ValidatedRow* row : drawn()) point(*row);
    legend_rows();
    return out_ + "</svg>\n";
  }

 private:
  double x(double value) const { return k_plot_left + k_plot_side * axis_.share(value); }
  double y(double value) const { return k_plot_top + k_plot_side * (1.0 - axis_.share(value)); }

  std::int64_t timed() const {
    std::int64_t rows = 0;
    for (const validation::FamilyResult& family : report_.families) rows += family.timed;
    return rows;
  }

  // In the order of painting, so that none is hidden by many: doubted rows first, then tables from the largest on.
  std::vector<const validation::ValidatedRow*> drawn() const {
    std::map<std::string, std::int64_t> sizes;
    for (const validation::FamilyResult& family : report_.families) sizes[family.name] = family.timed;
    std::vector<const validation::ValidatedRow*> rows;
    for (const validation::ValidatedRow& row : report_.rows)
      if (row.error) rows.push_back(&row);
    std::stable_sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) {
      return std::pair(a->doubt.empty(), -sizes[a->family]) < std::pair(b->doubt.empty(), -sizes[b->family]);
    });
    return rows;
  }

  // 1, 2 and 5 times the powers of ten, or these alone where there are many.
  void ticks() {
    const double decades = std::log10(axis_.to / axis_.from);
    const double first = std::pow(k_plot_base, std::floor(std::log10(axis_.from)));
    for (double power = first; power <= axis_.to; power *= k_plot_base)
      for (const double step : {1.0, 2.0, 5.0}) {
        const double value = step * power;
        if (value < axis_.from || value > axis_.to) continue;
        const bool major = step == 1.0 || decades < k_plot_few_decades;
        add("<path d=\"M{0:.1f} {2:.1f}V{3:.1f}M{4:.1f} {1:.1f}H{5:.1f}\" stroke=\"{6}\"/>\n", x(value), y(value),
            k_plot_top, k_plot_top + k_plot_side, k_plot_left, k_plot_left + k_plot_side,
            major ? "#d0d4da" : "#eceef1");
        if (!major && decades > 2.0 * k_plot_few_decades) continue;
        text(x(value), k_plot_top + k_plot_side + 18.0, "middle", fmt::format("{:g}", value), " fill=\"#555\"");
        text(k_plot_left - 6.0, y(value) + 4.0, "end", fmt::format("{:g}", value), " fill=\"#555\"");
      }
    text(k_plot_left + k_plot_side / 2.0, k_plot_top + k_plot_side + 42.0, "middle", "measured [s]", " fill=\"#555\"");
    add("<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\" fill=\"#555\">predicted "
        "[s]</text>\n",
        k_plot_top + k_plot_side / 2.0);
  }

  // predicted = factor x measured, inside the square.
  void line(double factor, std::string_view style) {
    const double from = std::max(axis_.from, axis_.from / factor), to = std::min(axis_.to, axis_.to / factor);
    add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x(from), y(factor * from), x(to),
        y(factor * to), style);
  }

  void mark(double at_x, double at_y, std::size_t place, bool hollow, std::string_view title) {
    const char* colour = k_plot_colours[place % k_plot_colours.size()];
    const std::string paint = hollow ? fmt::format("fill=\"#ffffff\" fill-opacity=\"0.5\" stroke=\"{}\"", colour)
                                     : fmt::format("fill=\"{}\" fill-opacity=\"0.75\"", colour);
    if (place < k_plot_colours.size())
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}>", at_x, at_y, k_plot_point, paint);
    else
      add("<rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" height=\"{2:.1f}\" {3}>", at_x - k_plot_point,
          at_y - k_plot_point, 2.0 * k_plot_point, paint);
    add("<title>{}</title></{}>\n", xml_text(title), place < k_plot_colours.size() ? "circle" : "rect");
  }

  void point(const validation::ValidatedRow& row) {
    mark(x(*row.measured_s), y(row.predicted_s), places_.at(row.family), !row.doubt.empty(),
         fmt::format("{}, line {}: {}, {:+.1f} %", row.family, row.line, row.label, 100.0 * *row.error));
  }

  void legend_rows() {
    const double left = k_plot_left + k_plot_side + k_plot_gap;
    double row = k_plot_top + 10.0;
    text(left, row, "start", "table: runs, mean error", " fill=\"#555\"");
    for (const validation::FamilyResult& family : report_.families) {
      if (family.timed == 0) continue;
      row += k_plot_legend_row;
      mark(left + 6.0, row - 4.0, places_.at(family.name), false, family.title);
      text(left + 18.0, row, "start",
           fmt::format("{}: {}, {:.1f} %", family.name, family.timed, 100.0 * family.errors->mape));
    }
    row += 1.5 * k_plot_legend_row;
    add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"#ffffff\" stroke=\"#555\"/>\n", left + 6.0, row - 4.0,
        k_plot_point);
    text(left + 18.0, row, "start", "hollow: believed mis-stated", " fill=\"#555\"");
    row += k_plot_legend_row;
    add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#7d858e\" stroke-dasharray=\"5 4\"/>\n",
        left, row - 4.0, left + 13.0, row - 4.0);
    text(left + 18.0, row, "start", "10 % off", " fill=\"#555\"");
  }

  const validation::Report& report_;
  std::map<std::string, std::size_t> places_;  // of tables with timed rows, in the order of the report
  PlotAxis axis_;
};

}  // namespace

std::string validation_svg(const validation::Report& report) { return ErrorPicture(report).draw(); }

}  // namespace cairn::report
