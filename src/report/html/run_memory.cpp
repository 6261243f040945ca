// Memory of the stages against the capacity.
#include <algorithm>
#include <array>

#include "amounts.h"
#include "html/picture.h"
#include "html/run_parts.h"
#include "memory_parts.h"
#include "picture_axis.h"

namespace cairn::report::html {
namespace {

constexpr double k_memory_left = 52.0, k_memory_top = 30.0, k_memory_height = 240.0, k_memory_bottom = 48.0,
                 k_memory_right = 8.0;                         // around and of the bars [pixels]
constexpr double k_memory_bar = 0.72, k_memory_widest = 60.0;  // of the place of one
constexpr double k_memory_air = 1.06;                          // above the highest
constexpr double k_memory_ticks = 6.0;

constexpr const char* k_memory = "/result/memory_bytes";

// Of a stage, or of the fullest: what its memory consists of, parallel to memory_parts().
std::array<Figure, k_memory_parts> part_figures(const std::string& object) {
  std::array<Figure, k_memory_parts> all;
  for (std::size_t i = 0; i < program::k_categories; ++i) all[i] = {.value = below(object, memory_parts()[i].name)};
  all[k_allocator_part] = {.value = object + "/reserved_peak", .less = object + "/allocated_peak"};
  all[k_system_part] = {.value = object + "/device_peak", .less = object + "/reserved_peak"};
  return all;
}

std::string part_meaning(std::size_t part) {
  if (part == k_allocator_part) return "What the framework's allocator holds beyond the tensors of that instant.";
  if (part == k_system_part) return "What libraries and communicators take outside the allocator.";
  return label_meaning(memory_parts()[part].name);
}

std::string stage_object(std::size_t stage) { return below(std::string(k_memory) + "/stages", stage); }

class StagesPicture : Picture {
 public:
  explicit StagesPicture(const Document& document)
      : document_(document),
        stages_(document.size(std::string(k_memory) + "/stages")),
        capacity_(document.number(std::string(k_memory) + "/capacity")) {
    double most = capacity_;
    for (std::size_t i = 0; i < stages_; ++i) most = std::max(most, document.number(stage_object(i) + "/device_peak"));
    axis_ = {.from = 0.0, .to = most > 0.0 ? k_memory_air * most / k_gibibyte : 1.0};
    place_ = std::min(k_memory_widest, (k_picture_width - k_memory_left - k_memory_right) /
                                           static_cast<double>(std::max<std::size_t>(stages_, 1)));
  }

  std::string draw() {
    begin(k_memory_top + k_memory_height + k_memory_bottom, "memory-picture", "Memory of each stage at its peak",
          "A bar a stage, cut into what takes its memory, and a line at the capacity; the table below has the figures");
    for (const AxisTick& tick : axis_ticks(axis_, k_memory_ticks)) {
      const double at = y(tick.value * k_gibibyte);
      line(k_memory_left, at, right(), at, "class=\"grid\"");
      remark(k_memory_left - 6.0, at + 4.0, "end", fmt::format("{:g}", tick.value));
    }
    remark(2.0, k_unit_line, "start", "GiB");
    remark((k_memory_left + right()) / 2.0, bottom() + 40.0, "middle", "stage");
    for (std::size_t stage = 0; stage < stages_; ++stage) bar(stage);
    line(k_memory_left, y(capacity_), right(), y(capacity_),
         "class=\"capacity\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"");
    return end();
  }

 private:
  double right() const { return k_memory_left + place_ * static_cast<double>(stages_); }
  static double bottom() { return k_memory_top + k_memory_height; }
  double y(double bytes) const { return k_memory_top + k_memory_height * (1.0 - axis_.share(bytes / k_gibibyte)); }

  void bar(std::size_t stage) {
    const double x = k_memory_left + place_ * (static_cast<double>(stage) + (1.0 - k_memory_bar) / 2.0);
    double held = 0.0;
    begin_point(fmt::format("stage-{}", stage),
                fmt::format("stage {}: {}", stage, as_bytes(document_.number(stage_object(stage) + "/device_peak"))));
    const auto figures = part_figures(stage_object(stage));
    for (std::size_t i = 0; i < k_memory_parts; ++i) {
      const double bytes = document_.number(figures[i]);
      if (bytes <= 0.0) continue;
      add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>", x, y(held + bytes),
          k_memory_bar * place_, y(held) - y(held + bytes), memory_parts()[i].fill);
      held += bytes;
    }
    add("<rect class=\"mark\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"transparent\"/>", x,
        y(held), k_memory_bar * place_, y(0.0) - y(held));
    end_point();
    // Of narrow bars every second, fifth, ... has its number.
    const double wide = k_widest_letter * static_cast<double>(std::to_string(stages_ - 1).size() + 1);
    const double numbered = place_ >= wide ? 1.0 : tick_step(wide / place_, 1.0);
    if (stage % static_cast<std::size_t>(numbered) == 0)
      remark(x + k_memory_bar * place_ / 2.0, bottom() + 18.0, "middle", std::to_string(stage));
  }

  const Document& document_;
  std::size_t stages_ = 0;
  double capacity_ = 0.0, place_ = k_memory_widest;
  AxisSpan axis_;
};

// Parts that some stage has.
std::array<bool, k_memory_parts> parts_there(const Document& document) {
  std::array<bool, k_memory_parts> there{};
  for (std::size_t stage = 0; stage < document.size(std::string(k_memory) + "/stages"); ++stage) {
    const auto figures = part_figures(stage_object(stage));
    for (std::size_t i = 0; i < k_memory_parts; ++i) there[i] = there[i] || document.number(figures[i]) > 0.0;
  }
  return there;
}

void add_peak(Page& page, const Document& document) {
  const std::string memory = k_memory, capacity = memory + "/capacity";
  Table table{.caption = fmt::format("At the peak of stage {:.0f}: {}", document.number(memory + "/peak_at/stage"),
                                     document.string(memory + "/peak_at/phase")),
              .columns = {{"what", false}, {"bytes"}, {"of the capacity"}, {"", false}, {"meaning", false}}};
  const auto figures = part_figures(memory);
  // Where the plan does not fit, the peak has the longest bar, and the capacity a shorter one.
  const double longest = std::max(document.number(capacity), document.number(memory + "/device_peak"));
  const auto row = [&](std::string name, const Figure& figure, std::string_view fill, std::string meaning, bool whole) {
    const double bytes = document.number(figure);
    if (bytes <= 0.0) return;
    Figure share = figure;
    share.over = capacity;
    table.rows.push_back({.cells = {std::move(name), document.show(figure, as_bytes), document.show(share, as_percent),
                                    bar(bytes / longest, fill), std::move(meaning)},
                          .marked = whole});
  };
  for (std::size_t i = 0; i < k_memory_parts; ++i)
    row(std::string(memory_parts()[i].name), figures[i], memory_parts()[i].fill, part_meaning(i), false);
  row("in all", {.value = memory + "/device_peak"}, "#5f6b7a", label_meaning("device_peak"), true);
  row("capacity for programs", {.value = capacity}, document.flag("/result/fits") ? "#aab2bc" : "#b3261e",
      label_meaning("capacity"), true);
  page.table(table);
  for (const char* away : {"host", "storage"})
    if (document.number(below(memory, away)) > 0.0)
      page.paragraph(fmt::format("{} of a node hold {} of what is offloaded.",
                                 std::string_view(away) == "host" ? "Host memory and processors" : "Drives",
                                 document.show(below(memory, away), as_bytes)));
}

void add_stages(Page& page, const Document& document) {
  const auto there = parts_there(document);
  Table table{.caption = "Each stage at its own peak", .columns = {{"stage"}, {"in all"}, {"of the capacity"}}};
  for (std::size_t i = 0; i < k_memory_parts; ++i)
    if (there[i])
      table.columns.push_back({std::string(memory_parts()[i].name.substr(0, memory_parts()[i].name.find(':')))});
  const bool times = document.size("/result/stages") == document.size(std::string(k_memory) + "/stages");
  if (times) table.columns.push_back({"time without waiting"});
  for (std::size_t stage = 0; stage < document.size(std::string(k_memory) + "/stages"); ++stage) {
    const std::string object = stage_object(stage);
    const Figure peak{.value = object + "/device_peak"};
    TableRow row{
        .cells = {std::to_string(stage), document.show(peak, as_bytes),
                  document.show({.value = peak.value, .over = std::string(k_memory) + "/capacity"}, as_percent)},
        .id = fmt::format("stage-{}", stage)};
    const auto figures = part_figures(object);
    for (std::size_t i = 0; i < k_memory_parts; ++i)
      if (there[i]) row.cells.push_back(document.show(figures[i], as_bytes));
    if (times) row.cells.push_back(document.show(below("/result/stages", stage) + "/time_s", as_time));
    table.rows.push_back(std::move(row));
  }
  page.table(table);
}

}  // namespace

void add_run_memory(Page& page, const Document& document) {
  page.section("memory", "Memory of the stages");
  std::vector<std::pair<std::string, std::string>> names;
  const auto there = parts_there(document);
  for (std::size_t i = k_memory_parts; i-- > 0;)
    if (there[i]) names.emplace_back(std::string(memory_parts()[i].name), memory_parts()[i].fill);
  page.figure(StagesPicture(document).draw(),
              fmt::format("One device of each stage at its peak; the dashed line is the capacity, {}.",
                          document.show(std::string(k_memory) + "/capacity", as_bytes)));
  page.add("{}", legend(names));
  add_peak(page, document);
  add_stages(page, document);
}

}  // namespace cairn::report::html
