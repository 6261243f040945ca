// An experiment with some keys varied, as a page.
#include <algorithm>
#include <cmath>
#include <optional>

#include "amounts.h"
#include "cairn/core/diagnostics.h"
#include "html/page.h"
#include "html/pages.h"
#include "html/picture.h"
#include "html/plans.h"
#include "picture_axis.h"
#include "picture_text.h"

namespace cairn::report::html {
namespace {

constexpr double k_curve_left = 66.0, k_curve_right = 14.0, k_curve_top = 30.0, k_curve_height = 300.0,
                 k_curve_bottom = 50.0;  // around and of the plot [pixels]
constexpr double k_curve_ticks = 6.0;
constexpr double k_curve_point = 4.5, k_curve_ring = 8.5;
constexpr double k_told_apart = 1.0;         // points nearer than that lie on one another [pixels]
constexpr std::size_t k_curve_letters = 24;  // of a label; points and rows have values whole
constexpr std::size_t k_few_curves = 4;      // of more, ideal scaling is drawn fainter
constexpr double k_told_elasticity = 5e-4;

struct CurvePoint {
  std::size_t row = 0;
  std::size_t at = 0;  // index of the key's value
};
struct Curve {
  std::string name;  // plain; empty: the only one
  std::vector<CurvePoint> points = {};
};

std::string row_path(std::size_t row) { return below("/rows", row); }

std::vector<std::string> varied_keys(const Document& document) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < document.size("/vary"); ++i) keys.push_back(document.string(below("/vary", i) + "/key"));
  return keys;
}

// Tokens per second over the first key, a line for each combination of the others.
class CurvePicture : Picture {
 public:
  explicit CurvePicture(const Document& document)
      : document_(document), keys_(varied_keys(document)), values_(document.texts("/vary/0/values")), axis_(values_) {
    for (std::size_t row = 0; row < document.size("/rows"); ++row)
      if (document.has(row_path(row) + "/result")) add_row(row);
    x_ = AxisSpan::around(axis_.places.front(), axis_.places.back(), axis_.logarithmic);
    double least = 0.0, most = 0.0;
    for (const Curve& curve : curves_)
      for (const CurvePoint& point : curve.points)
        for (const double value : {rate(point), ideal(curve, point).value_or(rate(point))}) {
          least = least == 0.0 ? value : std::min(least, value);
          most = std::max(most, value);
        }
    y_ = AxisSpan::of_rates(least, most, axis_.logarithmic);
  }

  bool empty() const { return curves_.empty(); }
  bool all_fit() const {
    for (const Curve& curve : curves_)
      for (const CurvePoint& point : curve.points)
        if (!document_.flag(row_path(point.row) + "/result/fits")) return false;
    return true;
  }
  bool scales() const {
    return std::any_of(curves_.begin(), curves_.end(),
                       [&](const Curve& curve) { return ideal(curve, curve.points.front()).has_value(); });
  }
  const std::vector<Curve>& curves() const { return curves_; }
  // The name of a line that is drawn later and has all points of this one, so that it hides it; null where none does.
  const std::string* hidden_by(std::size_t index) const {
    for (std::size_t other = curves_.size(); --other > index;)
      if (std::all_of(curves_[index].points.begin(), curves_[index].points.end(), [&](const CurvePoint& mine) {
            return std::any_of(curves_[other].points.begin(), curves_[other].points.end(), [&](const CurvePoint& its) {
              return its.at == mine.at && std::abs(y(rate(its)) - y(rate(mine))) < k_told_apart;
            });
          }))
        return &curves_[other].name;
    return nullptr;
  }
  static const char* fill(std::size_t curve) { return colour(curve); }

  std::string draw() {
    begin(k_curve_top + k_curve_height + k_curve_bottom, "curve-picture", "Tokens per second over " + keys_.front(),
          "A line for each combination of the other keys, beside ideal scaling; the table below has the figures");
    key_ticks();
    for (const AxisTick& tick : axis_ticks(y_, k_curve_ticks)) {
      line(k_curve_left, y(tick.value), right(), y(tick.value), "class=\"grid\"");
      if (tick.labelled) remark(k_curve_left - 6.0, y(tick.value) + 4.0, "end", core::format_count(tick.value));
    }
    remark(2.0, k_unit_line, "start", "tokens/s");
    for (std::size_t i = 0; i < curves_.size(); ++i) ideal_line(i);
    for (std::size_t i = 0; i < curves_.size(); ++i) curve(i);
    // Rows of one rate lie on one another: those that fit are drawn over those that do not, and the best over all.
    for (const RowKind kind : {RowKind::unfit, RowKind::fits, RowKind::best})
      for (std::size_t i = 0; i < curves_.size(); ++i)
        for (const CurvePoint& each : curves_[i].points)
          if (kind_of(each) == kind) point(i, each, kind);
    return end();
  }

 private:
  enum class RowKind { unfit, fits, best };
  RowKind kind_of(const CurvePoint& point) const {
    if (document_.has("/best") && document_.number("/best") == static_cast<double>(point.row)) return RowKind::best;
    return document_.flag(row_path(point.row) + "/result/fits") ? RowKind::fits : RowKind::unfit;
  }

  static double right() { return k_picture_width - k_curve_right; }
  static double bottom() { return k_curve_top + k_curve_height; }
  double x(std::size_t at) const { return k_curve_left + (right() - k_curve_left) * x_.share(axis_.places[at]); }
  double y(double value) const { return k_curve_top + k_curve_height * (1.0 - y_.share(value)); }
  double rate(const CurvePoint& point) const { return document_.number(row_path(point.row) + "/result/tokens_per_s"); }
  double gpus(const CurvePoint& point) const { return document_.number(row_path(point.row) + "/result/gpus"); }

  void add_row(std::size_t row) {
    const std::string values = row_path(row) + "/values";
    std::string name;
    for (std::size_t i = 1; i < keys_.size(); ++i)
      name += fmt::format("{}{} {}", i == 1 ? "" : ", ", keys_[i], document_.string(below(values, keys_[i])));
    const auto at = std::find(values_.begin(), values_.end(), document_.string(below(values, keys_.front())));
    if (at == values_.end()) return;
    auto known = std::find_if(curves_.begin(), curves_.end(), [&](const Curve& each) { return each.name == name; });
    if (known == curves_.end()) known = curves_.insert(curves_.end(), Curve{.name = name});
    known->points.push_back({.row = row, .at = static_cast<std::size_t>(at - values_.begin())});
  }

  // What ideal scaling of the line's first point gives; none where all points have as many accelerators.
  std::optional<double> ideal(const Curve& curve, const CurvePoint& point) const {
    const CurvePoint& first = curve.points.front();
    if (gpus(curve.points.back()) == gpus(first)) return std::nullopt;
    return rate(first) * gpus(point) / gpus(first);
  }

  void key_ticks() {
    double free_from = 0.0;  // where the next label may begin
    for (std::size_t i = 0; i < values_.size(); ++i) {
      line(x(i), k_curve_top, x(i), bottom(), "class=\"grid\"");
      std::string label = axis_.label(values_[i]);
      if (label.size() > k_curve_letters) {
        std::size_t kept = k_curve_letters - 2;
        while (kept > 0 && (static_cast<unsigned char>(label[kept]) & 0xC0U) == 0x80U) --kept;  // letters stay whole
        label = label.substr(0, kept) + "..";
      }
      const double half = k_widest_letter * static_cast<double>(label.size()) / 2.0;
      // A label beside an edge moves inside, and is left out where the one before already stands there.
      const double middle = std::max(half, std::min(x(i), k_picture_width - half));
      if (middle - half < free_from) continue;
      free_from = middle + half + k_widest_letter;
      remark(middle, bottom() + 18.0, "middle", label);
    }
    remark((k_curve_left + right()) / 2.0, bottom() + 42.0, "middle",
           axis_.unit.empty() ? keys_.front() : fmt::format("{} [{}]", keys_.front(), axis_.unit));
  }

  void ideal_line(std::size_t index) {
    const Curve& curve = curves_[index];
    if (!ideal(curve, curve.points.front())) return;
    std::string path;
    for (const CurvePoint& point : curve.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(point.at), y(*ideal(curve, point)));
    add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-opacity=\"{}\" stroke-dasharray=\"5 4\"/>\n", path,
        colour(index), curves_.size() <= k_few_curves ? 0.6 : 0.25);
  }

  void curve(std::size_t index) {
    std::string path;
    for (const CurvePoint& point : curves_[index].points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(point.at), y(rate(point)));
    add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", path, colour(index));
  }

  void point(std::size_t index, const CurvePoint& of, RowKind kind) {
    begin_point(fmt::format("row-{}", of.row),
                fmt::format("{} {}{}: {} tokens/s", keys_.front(), values_[of.at],
                            curves_[index].name.empty() ? "" : ", " + curves_[index].name, as_rate(rate(of))));
    const double left = x(of.at), top = y(rate(of));
    add("<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"11\" fill=\"transparent\"/>", left, top);
    if (kind == RowKind::best)
      add("<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", left, top, k_curve_ring);
    add("<circle class=\"mark{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" stroke=\"{}\" "
        "stroke-width=\"1.6\"/>",
        kind == RowKind::unfit ? " hollow" : "", left, top, k_curve_point, colour(index), colour(index));
    end_point();
  }

  const Document& document_;
  std::vector<std::string> keys_, values_;
  KeyAxis axis_;
  std::vector<Curve> curves_;
  AxisSpan x_, y_;
};

void add_curves(Page& page, const Document& document) {
  page.section("curve", "Tokens per second");
  CurvePicture picture(document);
  if (picture.empty()) return page.paragraph("No row has a result.");
  std::string caption = "Each point leads to its row.";
  if (picture.scales()) caption += " Dashed: ideal scaling of a line's first point.";
  if (document.has("/best")) caption += " Ringed: the best row.";
  if (!picture.all_fit()) caption += " Hollow: does not fit into memory.";
  const std::string svg = picture.draw();
  page.figure(svg, caption);
  std::vector<std::pair<std::string, std::string>> names;
  for (std::size_t i = 0; i < picture.curves().size(); ++i)
    if (const std::string& name = picture.curves()[i].name; !name.empty()) {
      const std::string* over = picture.hidden_by(i);
      names.emplace_back(over == nullptr ? name : fmt::format("{} (under {})", name, *over), CurvePicture::fill(i));
    }
  if (!names.empty()) page.add("{}", legend(names));
}

// The best of the rows by what was asked.
Tile best_tile(const Document& document, const std::string& result) {
  const std::string objective = document.string("/objective");
  const auto of = [&](std::string name, const char* key, Form form) {
    return Tile{.name = std::move(name), .figure = document.show(result + key, form), .mood = "good"};
  };
  if (objective == "tokens-per-gpu") return of("the most tokens/s of a GPU", "/tokens_per_s_per_gpu", as_rate);
  if (objective == "cost") return of("the least cost of tokens, a step", "/usd_per_step", as_dollars);
  if (objective == "energy") return of("the least energy of tokens, a step", "/joule_per_step", as_energy);
  if (objective == "time-to-train") return of("the shortest training", "/training_time_s", as_days);
  if (objective == "fewest-gpus") return of("the fewest GPUs at which one fits", "/gpus", as_count);
  if (objective == "longest-sequence")
    return of("tokens of the longest sequence of these rows that fits", "/seq_len", as_count);
  return of(objective == "step-time" ? "the shortest step" : "step of the best row", "/iteration_time_s", as_time);
}

// Whether all rows have sequences of one length, so that none is longer than another.
bool one_length(const Document& document) {
  double first = 0.0;
  for (std::size_t i = 0; i < document.size("/rows"); ++i) {
    const double tokens = document.number(row_path(i) + "/result/seq_len");
    if (tokens > 0.0 && first > 0.0 && tokens != first) return false;
    if (tokens > 0.0) first = tokens;
  }
  return true;
}

void add_best_row(Page& page, const Document& document) {
  page.section("best", "The best row");
  const std::string stopped = document.flag("/complete") ? "" : ", as far as it came before it was stopped";
  if (!document.has("/best")) {
    page.paragraph(fmt::format("None of {} rows fits{}.", document.size("/rows"), stopped), "lead bad");
    return;
  }
  const std::string row = row_path(document.root().at("best").get<std::size_t>()), result = row + "/result";
  std::string values;
  for (const std::string& key : varied_keys(document))
    values += fmt::format("{}<strong>{} {}</strong>", values.empty() ? "" : ", ", key_words(key),
                          document.text(below(row + "/values", key)));
  page.paragraph(fmt::format("Of {} rows the best is {}{}.", document.size("/rows"), values, stopped), "lead");
  if (document.string("/objective") == "longest-sequence" && one_length(document))
    page.paragraph(fmt::format("Warning: all rows have sequences of {} tokens, and the best is the fastest that fits; "
                               "<code>cairn search --objective longest-sequence</code> asks how long they may be.",
                               document.show(result + "/seq_len", as_count)),
                   "note warn");
  std::vector<Tile> tiles{best_tile(document, result)};
  if (document.string("/objective") != "step-time")
    tiles.push_back({.name = "step time", .figure = document.show(result + "/iteration_time_s", as_time)});
  tiles.push_back({.name = "tokens per second",
                   .figure = document.show(result + "/tokens_per_s", as_rate),
                   .remarks = {document.show(result + "/tokens_per_s_per_gpu", as_rate) + " a GPU, on " +
                               document.show(result + "/gpus", as_count) + " GPUs"}});
  tiles.push_back({.name = "MFU",
                   .figure = document.show(result + "/mfu", as_percent),
                   .remarks = {"causal " + document.show(result + "/mfu_causal", as_percent)}});
  tiles.push_back({.name = "memory of the fullest device",
                   .figure = document.show(result + "/memory_bytes", as_bytes),
                   .remarks = {"of " + document.show(result + "/capacity_bytes", as_bytes)}});
  page.tiles(tiles);
  page.paragraph(document.text(result + "/limit/sentence"));
  if (document.has(row + "/search"))
    page.add("<p><code class=\"strategy\">strategy: {}</code></p>\n", document.text(row + "/search/strategy"));
}

void add_elasticities(Page& page, const Document& document) {
  const std::string all = "/elasticities";
  if (!document.has(all)) {
    if (!document.has("/no_elasticities")) return;
    page.section("elasticities", "What the machine's figures are worth");
    return page.paragraph("No elasticities: without the variations there is no plan: " +
                          document.text("/no_elasticities/diagnostics/0/message"));
  }
  page.section("elasticities", "What the machine's figures are worth");
  page.paragraph(fmt::format("1 % more of a figure changes the step time, {}, of the experiment itself by so many %.",
                             document.show(all + "/iteration_time_s", as_time)));
  const auto form_of = [](const std::string& unit) -> Form {
    return unit == "s" ? as_time : unit == "FLOP/s" ? as_flop_rate : unit == "1/s" ? as_frequency : as_byte_rate;
  };
  Table table{.caption = "Elasticities of the step time, the greatest first",
              .columns = {{"figure", false}, {"it is"}, {"elasticity"}, {"", false}, {"of less"}, {"of more"}}};
  double greatest = 0.0;
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < document.size(all + "/figures"); ++i)
    greatest = std::max(greatest, std::abs(document.number(below(all + "/figures", i) + "/elasticity")));
  for (std::size_t i = 0; i < document.size(all + "/figures"); ++i) {
    const std::string row = below(all + "/figures", i);
    const double value = document.number(row + "/elasticity");
    if (std::abs(value) < k_told_elasticity) {
      ++hidden;
      continue;
    }
    table.rows.push_back(
        {.cells = {key_words(document.string(row + "/key")),
                   document.show(row + "/value", form_of(document.string(row + "/unit"))),
                   document.show(row + "/elasticity", as_elasticity),
                   bar(std::abs(value) / greatest, value < 0.0 ? "#4269d0" : "#ff725c"),
                   document.show(row + "/below", as_elasticity), document.show(row + "/above", as_elasticity)}});
  }
  page.table(table);
  page.add("{}", legend({{"more of it makes steps shorter", "#4269d0"}, {"longer", "#ff725c"}}));
  page.paragraph(
      "The elasticity is what a little less and a little more of the figure do to the time, on average; where "
      "the two differ, something else begins to limit. A figure without a value stands for all of that name.");
  if (hidden > 0) page.paragraph(fmt::format("{} more change it by less than 0.0005 %.", hidden));
  page.paragraph(fmt::format(
      "Rates less times add up to {}: -1 but for what does not scale with them. In the experiment itself {} of a "
      "device's memory {}.",
      document.show(all + "/sum", as_elasticity), document.show(all + "/headroom_bytes", as_bytes),
      document.number(all + "/headroom_bytes") < 0.0 ? "are there: it lacks so much, which its time does not depend on"
                                                     : "stay free: more would not change its time"));
}

// Why a row has no result, or what limits it.
std::string row_remark(const Document& document, const std::string& row) {
  if (!document.has(row + "/result")) {
    const std::string why = row + "/error/diagnostics/0";
    const std::string key = document.text(why + "/key_path");
    return fmt::format("<span class=\"bad\">{}{}{}</span>", key, key.empty() ? "" : ": ",
                       document.text(why + "/message"));
  }
  std::string words = label_words(document.string(row + "/result/limit/cause"));
  if (!document.flag(row + "/result/fits")) {
    const Figure over{.value = row + "/result/memory_bytes", .less = row + "/result/capacity_bytes"};
    words = document.number(over) > 0.0
                ? fmt::format("<span class=\"bad\">does not fit: {} too much</span>", document.show(over, as_bytes))
                : std::string("<span class=\"bad\">does not fit beside the device</span>");
  }
  if (!document.has(row + "/search")) return words;
  return fmt::format("{}; {}", settings_words(document, row + "/search/settings"), words);
}

// Whether all values of a key are plain numbers, which a column aligns to the right.
bool are_numbers(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(), [](const std::string& value) {
    return !value.empty() && value.find_first_not_of("0123456789.") == std::string::npos;
  });
}

void add_rows(Page& page, const Document& document) {
  page.section("rows", "All rows");
  const std::vector<std::string> keys = varied_keys(document);
  const bool trains = document.string("/objective") == "time-to-train";
  const bool lengthens = document.string("/objective") == "longest-sequence";
  bool searched = false, priced = false;
  for (std::size_t i = 0; i < document.size("/rows"); ++i) {
    searched = searched || document.has(row_path(i) + "/search");
    priced = priced || document.has(row_path(i) + "/result/usd_per_step");
  }
  Table table{.caption = searched ? "Gap: of the step to what no layout of the space goes below"
                                  : "Gap: of the step to what no execution of its plan goes below",
              .columns = {}};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool number = are_numbers(document.texts(below("/vary", i) + "/values"));
    table.columns.push_back({.name = key_words(keys[i]), .number = number, .narrow = !number});
  }
  table.columns.push_back({"step time"});
  if (trains) table.columns.push_back({"training"});
  if (lengthens) table.columns.push_back({"tokens"});
  for (const char* name : {"tokens/s", "a GPU", "GPUs", "MFU", "memory", "gap"}) table.columns.push_back({name});
  if (priced) table.columns.push_back({"cost of a step"});
  table.columns.push_back({searched ? "layout; what limits" : "what limits", false});
  for (std::size_t i = 0; i < document.size("/rows"); ++i) {
    const std::string row = row_path(i), result = row + "/result";
    TableRow cells{.cells = {}, .id = fmt::format("row-{}", i)};
    for (const std::string& key : keys) cells.cells.push_back(document.text(below(row + "/values", key)));
    cells.cells.push_back(document.show(result + "/iteration_time_s", as_time));
    if (trains) cells.cells.push_back(document.show(result + "/training_time_s", as_days));
    if (lengthens) cells.cells.push_back(document.show(result + "/seq_len", as_count));
    cells.cells.push_back(document.show(result + "/tokens_per_s", as_rate));
    cells.cells.push_back(document.show(result + "/tokens_per_s_per_gpu", as_rate));
    cells.cells.push_back(document.show(result + "/gpus", as_count));
    cells.cells.push_back(document.show(result + "/mfu", as_percent));
    cells.cells.push_back(document.show(result + "/memory_bytes", as_bytes));
    cells.cells.push_back(
        document.show(document.has(row + "/search") ? row + "/search/gap" : result + "/gap", as_more));
    if (priced) cells.cells.push_back(document.show(result + "/usd_per_step", as_dollars));
    cells.cells.push_back(row_remark(document, row));
    cells.marked = document.has("/best") && document.number("/best") == static_cast<double>(i);
    table.rows.push_back(std::move(cells));
  }
  page.table(table);
}

}  // namespace

std::string sweep_page(const Document& document) {
  if (document.size("/vary/0/values") == 0)
    throw core::ConfigurationError("vary", "no key varies", "give what cairn sweep answers with --json");
  const std::string name = document.string("/experiment");
  Page page(document, "cairn sweep", name.empty() ? "A sweep" : name);
  std::string keys;
  for (const std::string& key : varied_keys(document)) keys += (keys.empty() ? "" : " and ") + xml_text(key);
  page.subtitle(fmt::format("Over {}; the best by {}{}", keys, objective_words(document.string("/objective")),
                            document.flag("/complete") ? "" : "; it was stopped"));
  add_best_row(page, document);
  add_curves(page, document);
  add_elasticities(page, document);
  add_rows(page, document);
  return std::move(page).finish();
}

}  // namespace cairn::report::html
