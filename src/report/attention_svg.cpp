#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attention_words.h"
#include "cairn/core/format_units.h"
#include "cairn/core/printable.h"
#include "cairn/report/attention.h"
#include "svg_drawing.h"

namespace cairn::report {
namespace {

constexpr double k_attention_left = 70.0, k_attention_top = 70.0, k_attention_panel = 320.0, k_attention_height = 380.0,
                 k_attention_bottom = 56.0, k_attention_gap = 24.0, k_attention_legend = 260.0;  // [pixels]
constexpr double k_attention_row = 18.0;
constexpr double k_attention_margin = 1.15;  // of the logarithmic axes beyond the outermost points
constexpr std::size_t k_attention_letters = 40;

// The best of a scheme at one place of a panel.
struct AttentionMark {
  std::size_t panel = 0;
  double place = 0.0;  // tokens or GPUs
  double time_s = 0.0;
  std::string title = {};
};

struct AttentionLine {
  std::string name = {};
  std::vector<AttentionMark> marks = {};
  bool same_as(const AttentionLine& other) const {
    return std::equal(
        marks.begin(), marks.end(), other.marks.begin(), other.marks.end(),
        [](const auto& a, const auto& b) { return a.panel == b.panel && a.place == b.place && a.time_s == b.time_s; });
  }
};

struct LogAxis {
  double from = 1.0, to = 2.0;
  void take(double value) {
    from = empty ? value : std::min(from, value);
    to = empty ? value : std::max(to, value);
    empty = false;
  }
  double share(double value) const {
    const double low = from / k_attention_margin, high = to * k_attention_margin;
    return std::log(value / low) / std::log(high / low);
  }
  bool empty = true;
};

class AttentionPicture : SvgDrawing {
 public:
  explicit AttentionPicture(const AttentionAnswer& answer) : answer_(answer) {
    const auto& points = answer.points;
    over_gpus_ = points.size() > 1 && std::all_of(points.begin(), points.end(), [&](const auto& point) {
                   return point.problem.tokens == points.front().problem.tokens;
                 });
    for (const attention::Comparison& point : points) place(point);
    merge();
  }

  std::string draw() {
    const double plots = static_cast<double>(panels_.size()) * (k_attention_panel + k_attention_gap);
    const double rows = k_attention_row * static_cast<double>(lines_.size() + 1);
    out_ = svg_head(k_attention_left + plots + k_attention_legend,
                    k_attention_top + std::max(k_attention_height, rows) + k_attention_bottom);
    text(8.0, 22.0, "start", "Attention of long sequences: " + answer_.cluster, " font-size=\"15\"");
    text(8.0, 42.0, "start",
         fmt::format("Time {} of the best grid of each scheme, over {}",
                     answer_.points.front().backward ? "forward and backward" : "forward",
                     over_gpus_ ? "GPUs" : "tokens of a sequence"),
         " fill=\"#555\"");
    for (std::size_t i = 0; i < panels_.size(); ++i) frame(i);
    for (std::size_t i = 0; i < lines_.size(); ++i) line(i);
    for (std::size_t i = 0; i < lines_.size(); ++i) legend(i, k_attention_left + plots);
    return out_ + "</svg>\n";
  }

 private:
  void place(const attention::Comparison& point) {
    const std::string panel =
        over_gpus_ ? fmt::format("{} tokens", point.problem.tokens) : fmt::format("{} GPUs", point.gpus);
    if (panels_.empty() || panels_.back() != panel) panels_.push_back(panel);
    const auto where = static_cast<double>(over_gpus_ ? point.gpus : point.problem.tokens);
    x_.take(where);
    if (std::find(places_.begin(), places_.end(), where) == places_.end()) places_.push_back(where);
    for (const sequence::Scheme& scheme : sequence::schemes()) {
      const attention::Way* best = best_of_scheme(point, scheme.name);
      if (best == nullptr) continue;
      const double time_s = core::to_seconds(best->total());
      y_.take(time_s);
      line_of(scheme.name)
          .marks.push_back(
              {.panel = panels_.size() - 1,
               .place = where,
               .time_s = time_s,
               .title = fmt::format("{}, {} tokens on {} GPUs: {}", attention_way_name(*best), point.problem.tokens,
                                    point.gpus, core::format(core::Seconds::from_base(time_s)))});
    }
  }

  AttentionLine& line_of(std::string_view name) {
    const auto known = std::find_if(lines_.begin(), lines_.end(), [&](const auto& each) { return each.name == name; });
    return known == lines_.end() ? lines_.emplace_back(AttentionLine{.name = std::string(name)}) : *known;
  }

  // Schemes that do the same under several names make one line.
  void merge() {
    std::vector<AttentionLine> kept;
    for (AttentionLine& line : lines_) {
      const auto same = std::find_if(kept.begin(), kept.end(), [&](const auto& each) { return each.same_as(line); });
      if (same == kept.end())
        kept.push_back(std::move(line));
      else
        same->name += ", " + line.name;
    }
    lines_ = std::move(kept);
  }

  double left(std::size_t panel) const {
    return k_attention_left + static_cast<double>(panel) * (k_attention_panel + k_attention_gap);
  }
  double x(std::size_t panel, double place) const { return left(panel) + k_attention_panel * x_.share(place); }
  double y(double time_s) const { return k_attention_top + k_attention_height * (1.0 - y_.share(time_s)); }

  void frame(std::size_t panel) {
    const double bottom = k_attention_top + k_attention_height;
    for (const double place : places_) {
      add("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#eceef1\"/>\n", x(panel, place), k_attention_top, bottom);
      text(x(panel, place), bottom + 18.0, "middle", tick(place), " fill=\"#555\"");
    }
    if (!y_.empty)
      for (double power = std::pow(10.0, std::floor(std::log10(y_.from))); power <= y_.to * k_attention_margin;
           power *= 10.0)
        for (const double step : {1.0, 2.0, 5.0}) time_tick(panel, step * power);
    add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#9aa3ad\"/>\n",
        left(panel), k_attention_top, k_attention_panel, k_attention_height);
    text(left(panel) + k_attention_panel / 2.0, k_attention_top - 8.0, "middle", panels_[panel]);
    text(left(panel) + k_attention_panel / 2.0, bottom + 40.0, "middle", over_gpus_ ? "GPUs" : "tokens",
         " fill=\"#555\"");
  }

  // 131072 tokens are 128 Ki.
  static std::string tick(double place) {
    const auto whole = static_cast<std::int64_t>(place);
    constexpr std::int64_t k_kibi = 1024, k_mebi = k_kibi * k_kibi;
    if (whole % k_mebi == 0) return fmt::format("{} Mi", whole / k_mebi);
    return whole % k_kibi == 0 ? fmt::format("{} Ki", whole / k_kibi) : std::to_string(whole);
  }

  void time_tick(std::size_t panel, double value) {
    if (value < y_.from / k_attention_margin || value > y_.to * k_attention_margin) return;
    add("<path d=\"M{0:.1f} {1:.1f}h{2:.1f}\" stroke=\"#e2e5e9\"/>\n", left(panel), y(value), k_attention_panel);
    if (panel == 0)
      text(left(panel) - 6.0, y(value) + 4.0, "end", core::format(core::Seconds::from_base(value)), " fill=\"#555\"");
  }

  void line(std::size_t index) {
    const AttentionLine& of = lines_[index];
    for (std::size_t panel = 0; panel < panels_.size(); ++panel) {
      std::string path;
      for (const AttentionMark& mark : of.marks)
        if (mark.panel == panel)
          path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(panel, mark.place), y(mark.time_s));
      if (!path.empty())
        add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{}/>\n", path, colour(index),
            dashes(index));
    }
    for (const AttentionMark& mark : of.marks)
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}</title></circle>\n",
          x(mark.panel, mark.place), y(mark.time_s), colour(index), xml_text(mark.title));
  }
  // Lines beyond the last colour begin again, broken.
  static const char* dashes(std::size_t line) {
    return line < k_line_colours.size() ? "" : " stroke-dasharray=\"5 3\"";
  }

  void legend(std::size_t index, double at) {
    const double row = k_attention_top + 10.0 + k_attention_row * static_cast<double>(index);
    add("<path d=\"M{:.1f} {:.1f}h20\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{}/>\n", at, row - 4.0,
        colour(index), dashes(index));
    std::string name = lines_[index].name;
    if (name.size() > k_attention_letters) name = name.substr(0, k_attention_letters - 2) + "..";
    text(at + 28.0, row, "start", name, " fill=\"#555\"");
  }

  const AttentionAnswer& answer_;
  bool over_gpus_ = false;
  std::vector<std::string> panels_;
  std::vector<double> places_;
  std::vector<AttentionLine> lines_;
  LogAxis x_, y_;
};

}  // namespace

std::string svg(const AttentionAnswer& answer) { return AttentionPicture(answer).draw(); }

}  // namespace cairn::report
