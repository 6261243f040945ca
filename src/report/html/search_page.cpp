// What a search found, as a page.
#include <algorithm>
#include <array>

#include "amounts.h"
#include "html/page.h"
#include "html/pages.h"
#include "html/picture.h"
#include "html/plans.h"
#include "picture_axis.h"
#include "picture_text.h"

namespace cairn::report::html {
namespace {

constexpr double k_front_left = 62.0, k_front_right = 14.0, k_front_top = 30.0, k_front_height = 270.0,
                 k_front_bottom = 50.0;  // around and of the plot [pixels]
constexpr double k_front_ticks = 5.0;
constexpr double k_front_point = 5.0;
constexpr double k_front_air = 1.05;       // above the capacity
constexpr std::size_t k_axis_values = 16;  // shown of a key

// Time against memory of the plans that none beats in both, and of the best of each kind.
class FrontPicture : Picture {
 public:
  explicit FrontPicture(const Document& document)
      : document_(document), capacity_(document.number("/capacity_bytes") / k_gibibyte) {
    double shortest = 0.0, longest = 0.0, least = 0.0, most = 0.0;
    bool any = false;
    for (const char* list : {"/pareto", "/top"})
      for (std::size_t i = 0; i < document.size(list); ++i) {
        const double time = document.number(below(list, i) + "/time_s");
        const double held = document.number(below(list, i) + "/memory_bytes") / k_gibibyte;
        shortest = any ? std::min(shortest, time) : time;
        longest = std::max(longest, time);
        least = any ? std::min(least, held) : held;
        most = std::max(most, held);
        any = true;
      }
    x_ = around(shortest, longest);
    y_ = around(least, most);
    // Around one plan there is room, but none above what a device has.
    if (capacity_ > 0.0) y_.to = std::min(y_.to, std::max(capacity_, most) * k_front_air);
  }

  std::string draw() {
    begin(k_front_top + k_front_height + k_front_bottom, "front-picture", "Step time and memory of plans",
          "Plans that none beats in both step time and memory, joined by a line, and the best of each kind; the tables "
          "below have the figures");
    time_ticks();
    for (const AxisTick& tick : axis_ticks(y_, k_front_ticks)) {
      line(k_front_left, y(tick.value), right(), y(tick.value), "class=\"grid\"");
      remark(k_front_left - 6.0, y(tick.value) + 4.0, "end", fmt::format("{:g}", tick.value));
    }
    if (shows_capacity())
      line(k_front_left, y(capacity_), right(), y(capacity_),
           "class=\"capacity\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"");
    remark(2.0, k_unit_line, "start", "GiB");
    remark((k_front_left + right()) / 2.0, bottom() + 42.0, "middle", "step time");
    std::string path;
    for (std::size_t i = 0; i < document_.size("/pareto"); ++i)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(time("/pareto", i)), y(held("/pareto", i)));
    add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", path, colour(0));
    for (std::size_t i = 0; i < document_.size("/top"); ++i) point("/top", i, "top", "mark hollow", colour(2));
    for (std::size_t i = 0; i < document_.size("/pareto"); ++i) point("/pareto", i, "pareto", "mark", colour(0));
    return end();
  }

  static std::vector<std::pair<std::string, std::string>> names() {
    return {{"none is better in both time and memory", colour(0)}, {"rings: the best of each kind", colour(2)}};
  }

  bool shows_capacity() const { return capacity_ > 0.0 && capacity_ >= y_.from && capacity_ <= y_.to; }

 private:
  static double right() { return k_picture_width - k_front_right; }
  static double bottom() { return k_front_top + k_front_height; }
  static AxisSpan around(double least, double most) {
    if (least < most) return AxisSpan::around(least, most, false);
    return {.from = 0.5 * least, .to = most > 0.0 ? 1.5 * most : 1.0};
  }
  double x(double seconds) const { return k_front_left + (right() - k_front_left) * x_.share(seconds); }
  double y(double gibibytes) const { return k_front_top + k_front_height * (1.0 - y_.share(gibibytes)); }
  double time(const char* list, std::size_t i) const { return document_.number(below(list, i) + "/time_s"); }
  double held(const char* list, std::size_t i) const {
    return document_.number(below(list, i) + "/memory_bytes") / k_gibibyte;
  }

  void point(const char* list, std::size_t i, std::string_view row, std::string_view kind, std::string_view fill) {
    begin_point(fmt::format("{}-{}", row, i),
                fmt::format("{}, {}", as_time(time(list, i)), as_bytes(k_gibibyte * held(list, i))));
    // What is touched is larger than what is seen.
    add("<circle class=\"hit-area\" cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"11\" fill=\"transparent\"/><circle "
        "class=\"{3}\" cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"{2:.1f}\" fill=\"{4}\" stroke=\"{4}\" stroke-width=\"2\"/>",
        x(time(list, i)), y(held(list, i)), list == std::string_view("/top") ? k_front_point + 3.0 : k_front_point,
        kind, fill);
    end_point();
  }

  // Ticks stand at round numbers of their unit. Labels stay inside the picture, and one that would overlap is left out.
  void time_ticks() {
    const TimeUnit unit = time_unit(x_.to);
    double free_from = 0.0;  // where the next label may begin
    for (const AxisTick& tick :
         axis_ticks({.from = x_.from / unit.seconds, .to = x_.to / unit.seconds}, k_front_ticks)) {
      const double at = x(tick.value * unit.seconds);
      line(at, k_front_top, at, bottom(), "class=\"grid\"");
      const std::string label = fmt::format("{:.6g} {}", tick.value, unit.name);
      const double half = k_widest_letter * static_cast<double>(label.size()) / 2.0;
      const double middle = std::max(half, std::min(at, k_picture_width - half));
      if (middle - half < free_from) continue;
      free_from = middle + half;
      remark(middle, bottom() + 18.0, "middle", label);
    }
  }

  const Document& document_;
  double capacity_ = 0.0;  // [GiB]; 0: not known
  AxisSpan x_, y_;
};

void add_plans(Page& page, const Document& document, const std::string& list, const std::string& id,
               const std::string& caption) {
  if (document.size(list) == 0) return;
  Table table{.caption = caption, .columns = {{"step time"}}};
  const auto any = [&](const char* key) {
    for (std::size_t i = 0; i < document.size(list); ++i)
      if (document.has(below(list, i) + key)) return true;
    return false;
  };
  const bool contended = any("/contended_time_s"), priced = any("/usd_per_step");
  if (contended) table.columns.push_back({"where links are shared"});
  for (const char* name : {"memory", "tokens/s a GPU"}) table.columns.push_back({name});
  if (priced) table.columns.push_back({"cost of a step"});
  table.columns.push_back({"energy"});
  table.columns.push_back({"what differs from the best", false});
  for (std::size_t i = 0; i < document.size(list); ++i) {
    const std::string plan = below(list, i);
    TableRow row{.cells = {document.show(plan + "/time_s", as_time)}, .id = fmt::format("{}-{}", id, i)};
    if (contended) row.cells.push_back(document.show(plan + "/contended_time_s", as_time));
    row.cells.push_back(document.show(plan + "/memory_bytes", as_bytes));
    row.cells.push_back(document.show(plan + "/tokens_per_s_per_gpu", as_rate));
    if (priced) row.cells.push_back(document.show(plan + "/usd_per_step", as_dollars));
    row.cells.push_back(document.show(plan + "/joule_per_step", as_energy));
    const std::string other = differences(document, plan + "/settings", "/best/settings");
    row.cells.push_back(other.empty() ? "the best" : other);
    row.marked = other.empty();
    table.rows.push_back(std::move(row));
  }
  page.table(table);
}

// A search for a size is complete once it has tried all sizes that it must, not when the search at one size is.
bool stopped(const Document& document) {
  return !document.flag("/certificate/complete") || (document.has("/extent") && !document.flag("/extent/complete"));
}

// Whether points were not looked at. Without a plan no bound rules a point out, so what is counted as pruned was left.
bool has_left(const Document& document) {
  return !document.has("/best") && stopped(document) && document.number("/space/pruned") > 0.0;
}

// What is proven, in a sentence.
std::string proof(const Document& document) {
  if (!document.string("/certificate/defect").empty())
    return "The certificate has a hole: " + document.text("/certificate/defect");
  const bool complete = document.flag("/certificate/complete");
  if (!document.has("/best"))
    return complete ? "The certificate covers the space: there is no plan."
                    : "The search was stopped before a plan was found.";
  if (!document.has("/certificate/gap")) return "Nothing is proven of what was left.";
  const std::string where = document.has("/extent") ? "of this size" : "of the space";
  if (document.number("/certificate/gap") <= 0.0) return fmt::format("No plan {} is faster, proven.", where);
  return fmt::format("No plan {} takes less than {}: the best is within {} of that.", where,
                     document.show("/certificate/lower_bound_s", as_time),
                     document.show("/certificate/gap", as_percent));
}

void add_extent(Page& page, const Document& document) {
  if (!document.has("/extent")) return;
  const bool gpus = document.string("/objective") == "fewest-gpus";
  page.paragraph(
      document.has("/extent/size")
          ? fmt::format("{}: {}{}", gpus ? "The fewest GPUs at which a layout fits" : "The longest sequence that fits",
                        document.show("/extent/size", as_count),
                        document.flag("/extent/complete") ? "" : ", as far as was searched")
          : std::string("No layout fits at any size."),
      "lead");
  Table table{.caption = "Sizes that were tried",
              .columns = {{gpus ? "GPUs" : "tokens"}, {"fits", false}, {"why not", false}}};
  for (std::size_t i = 0; i < document.size("/extent/tried"); ++i) {
    const std::string row = below("/extent/tried", i);
    table.rows.push_back({.cells = {document.show(row + "/size", as_count), document.flag(row + "/fits") ? "yes" : "no",
                                    document.text(row + "/why")}});
  }
  page.table(table);
}

// The size that was asked for, which comes before how fast its plan is.
Tile size_tile(const Document& document) {
  const bool gpus = document.string("/objective") == "fewest-gpus";
  Tile tile{.name = gpus ? "the fewest GPUs at which a layout fits" : "tokens of the longest sequence that fits",
            .figure = document.show("/extent/size", as_count),
            .mood = "good"};
  if (!document.flag("/extent/complete")) tile.remarks.emplace_back("as far as was searched: it was stopped");
  return tile;
}

void add_best(Page& page, const Document& document) {
  page.section("best", "The best layout");
  if (!document.has("/best")) {
    const std::string points = document.show("/space/points", as_count);
    page.paragraph(has_left(document)
                       ? fmt::format("Stopped before a plan was found; {} of {} points were not looked at.",
                                     document.show("/space/pruned", as_count), points)
                       : fmt::format("No plan of {} {}{}.", points,
                                     document.number("/space/unfit") > 0.0 ? "fits into memory" : "is possible",
                                     stopped(document) ? ", as far as was searched" : ""),
                   "lead bad");
    page.paragraph(proof(document));
    return add_extent(page, document);
  }
  std::vector<Tile> tiles{{.name = "step time", .figure = document.show("/best/time_s", as_time)},
                          {.name = "tokens per second of a GPU",
                           .figure = document.show("/best/tokens_per_s_per_gpu", as_rate),
                           .remarks = {document.show("/best/gpus", as_count) + " GPUs"}},
                          {.name = "memory of the fullest device",
                           .figure = document.show("/best/memory_bytes", as_bytes),
                           .mood = "good"}};
  if (document.has("/capacity_bytes"))
    tiles.back().remarks.push_back("of " + document.show("/capacity_bytes", as_bytes));
  if (document.has("/best/contended_time_s"))
    tiles.front().remarks.push_back(document.show("/best/contended_time_s", as_time) + " where transfers share links");
  if (document.has("/best/usd_per_step"))
    tiles.push_back({.name = "cost of a step",
                     .figure = document.show("/best/usd_per_step", as_dollars),
                     .remarks = {document.show("/best/joule_per_step", as_energy)}});
  if (document.has("/extent/size")) tiles.insert(tiles.begin(), size_tile(document));
  tiles.push_back({.name = "points of the space",
                   .figure = document.show("/space/points", as_count),
                   .remarks = {document.show("/space/computed", as_count) + " were computed"}});
  if (document.has("/certificate/gap"))
    tiles.push_back({.name = "above the proven bound by",
                     .figure = document.show("/certificate/gap", as_percent),
                     .remarks = {std::string(stopped(document) ? "it was stopped" : "the whole space was searched") +
                                 (document.has("/extent") ? "; the bound is of this size" : "")}});
  page.tiles(tiles);
  page.add("<p><code class=\"strategy\">strategy: {}</code></p>\n", document.text("/best/strategy"));
  page.paragraph(proof(document), "lead");
  add_extent(page, document);
}

void add_front(Page& page, const Document& document) {
  if (document.size("/pareto") == 0 && document.size("/top") == 0) return;
  page.section("pareto", "Time against memory");
  FrontPicture picture(document);
  const std::string svg = picture.draw();
  page.figure(svg, picture.shows_capacity()
                       ? fmt::format("Each point leads to its row. The dashed line is the capacity, {}.",
                                     document.show("/capacity_bytes", as_bytes))
                       : std::string("Each point leads to its row."));
  page.add("{}", legend(FrontPicture::names()));
  add_plans(page, document, "/pareto", "pareto", "Plans that none beats in both time and memory, the fastest first");
  page.section("top", "The best of each kind");
  add_plans(page, document, "/top", "top",
            "Plans of a kind have degrees, micro-batch, schedule and recomputation in common");
}

struct PointKind {
  const char* key;
  const char* fill;
};
constexpr std::array<PointKind, 5> k_point_kinds{{{"evaluated", "#3ca951"},
                                                  {"pruned", "#97bbf5"},
                                                  {"unfit", "#ff725c"},
                                                  {"illegal", "#efb118"},
                                                  {"excluded", "#aab2bc"}}};

void add_space(Page& page, const Document& document) {
  page.section("space", "What was searched");
  const double points = document.number("/space/points");
  std::vector<BarPart> parts;
  std::vector<std::pair<std::string, std::string>> names;
  Table table{.caption = "Points of the space: combinations of values",
              .columns = {{"points", false}, {"count"}, {"of the space"}, {"", false}, {"meaning", false}}};
  for (const PointKind& kind : k_point_kinds) {
    const std::string path = below("/space", kind.key);
    const bool left = has_left(document) && kind.key == std::string_view("pruned");
    const std::string name = left ? "left" : kind.key;
    const double share = points > 0.0 ? document.number(path) / points : 0.0;
    if (share <= 0.0) continue;
    parts.push_back({.share = share, .fill = kind.fill, .title = name});
    names.emplace_back(name, kind.fill);
    table.rows.push_back(
        {.cells = {name, document.show(path, as_count),
                   document.show({.value = path, .over = "/space/points"}, as_percent), bar(share, kind.fill),
                   left ? "Not looked at when the search was stopped." : label_meaning(kind.key)}});
  }
  page.add("{}{}", stacked_bar(parts, "Points of the space by what was found of them"), legend(names));
  page.table(table);
  page.paragraph(fmt::format("{} plans were computed, {} points are the same plan as another.",
                             document.show("/space/computed", as_count), document.show("/space/collapsed", as_count)));
}

void add_reasons(Page& page, const Document& document) {
  const std::string list = "/space/infeasible";
  if (document.size(list) == 0) return;
  page.section("infeasible", "Why points are no plans");
  Table table{.caption = "By reason, the most frequent first",
              .columns = {{"points"}, {"of the space"}, {"", false}, {"why", false}, {"the nearest of them", false}}};
  for (std::size_t i = 0; i < document.size(list); ++i) {
    const std::string row = below(list, i);
    const std::string kind = document.string(row + "/kind");
    const std::string reason = document.text(row + "/reason");
    const auto* look = std::find_if(k_point_kinds.begin(), k_point_kinds.end(),
                                    [&](const PointKind& each) { return each.key == kind; });
    const std::string why = kind == "unfit"      ? "do not fit into memory"
                            : kind == "excluded" ? fmt::format("break <code>{}</code>", reason)
                                                 : fmt::format("contradict themselves at <code>{}</code>", reason);
    std::string nearest =
        kind == "unfit" ? "needs " + document.text(row + "/nearest") : document.text(row + "/nearest");
    if (const std::string settings = settings_words(document, row + "/settings"); !settings.empty())
      nearest += ": " + settings;
    table.rows.push_back(
        {.cells = {document.show(row + "/count", as_count),
                   document.show({.value = row + "/count", .over = "/space/points"}, as_percent),
                   bar(document.number(row + "/count") / std::max(1.0, document.number("/space/points")),
                       look == k_point_kinds.end() ? "#5b84b1" : look->fill),
                   why, nearest}});
    // Plans that are the same are computed once, and the reason counts that one alone.
    const Figure same{.value = "/space/unfit", .less = row + "/count"};
    if (kind == "unfit" && document.number(same) > 0.0)
      table.rows.push_back(
          {.cells = {document.show(same, as_count), {}, {}, "are the same plan as one that does not fit", {}}});
  }
  page.table(table);
}

void add_axes(Page& page, const Document& document) {
  page.section("axes", "The space");
  Table table{.caption = "Keys of the strategy and the values that were tried",
              .columns = {{"key", false}, {"values", false}}};
  for (std::size_t i = 0; i < document.size("/space/axes"); ++i) {
    const std::string row = below("/space/axes", i);
    std::string values;
    const std::vector<std::string> all = document.texts(row + "/values");
    for (std::size_t j = 0; j < std::min(k_axis_values, all.size()); ++j)
      values += fmt::format("{}<code>{}</code>", values.empty() ? "" : ", ", xml_text(all[j]));
    if (all.size() > k_axis_values) values += fmt::format(" and {} more", all.size() - k_axis_values);
    table.rows.push_back({.cells = {document.text(row + "/key"), values}});
  }
  page.table(table);
  if (document.size("/space/conditions") == 0) return;
  page.paragraph("Conditions that plans must meet:");
  page.list(document.texts("/space/conditions"));
}

}  // namespace

std::string search_page(const Document& document) {
  const std::string name = document.string("/experiment");
  Page page(document, "cairn search", name.empty() ? "The best layout" : name);
  page.subtitle(fmt::format("The best layout by {}, by {}{}", objective_words(document.string("/objective")),
                            objective_words(document.string("/method")),
                            stopped(document) ? "; the search was stopped" : ""));
  add_best(page, document);
  add_front(page, document);
  add_space(page, document);
  add_reasons(page, document);
  add_axes(page, document);
  return std::move(page).finish();
}

}  // namespace cairn::report::html
