#include "schedule_picture.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "cairn/report/schedule.h"
#include "paint.h"
#include "picture_text.h"

namespace cairn::report {
namespace {

using pipeline::Phase;

struct Look {
  char letter;
  std::string_view terminal;
  const char* fill;      // of a picture
  const char* name;
};

constexpr std::array<Look, pipeline::k_phases> k_looks{{{'F', sgr::k_on_blue, "#7aa6da", "forward"},
                                                        {'B', sgr::k_on_green, "#8fc786", "backward"},
                                                        {'b', sgr::k_on_cyan, "#7fd1c7", "input gradient"},
                                                        {'w', sgr::k_on_magenta, "#c69bd6", "weight gradient"},
                                                        {'S', sgr::k_on_yellow, "#e6c36a", "vocabulary forward"},
                                                        {'T', sgr::k_on_yellow, "#d9a441", "vocabulary backward"},
                                                        {'O', sgr::k_on_white, "#bbbbbb", "optimizer"},
                                                        {'C', sgr::k_on_red, "#e08a80", "communication"},
                                                        {'>', sgr::k_on_white, "#cfcfcf", "offload"},
                                                        {'<', sgr::k_on_white, "#dddddd", "reload"},
                                                        {'+', sgr::k_on_yellow, "#f0d9a0", "extra work"}}};

const Look& look(Phase phase) { return k_looks[static_cast<std::size_t>(phase)]; }

struct Cell {
  int phase = -1;  // -1: idle
  char text = ' ';
};

// Columns per tick as a fraction: the smallest that shows every operation, or what fits.
struct Scale {
  std::int64_t columns = 1;
  std::int64_t ticks = 1;
  std::int64_t column(std::int64_t tick) const { return tick * columns / ticks; }
};

Scale scale_of(const pipeline::ExactRun& run, std::int64_t room) {
  std::int64_t common = 0;
  for (std::size_t i = 0; i < run.result.end.size(); ++i)
    common = std::gcd(std::gcd(common, run.result.start[i]), run.result.end[i]);
  if (common == 0) return {};
  const std::int64_t units = run.result.makespan / common;
  if (units > room) return {.columns = room, .ticks = run.result.makespan};
  constexpr std::int64_t k_widest = 3;
  return {.columns = std::clamp<std::int64_t>(room / units, 1, k_widest), .ticks = common};
}

// Without colour an operation is its letter, its micro-batch and a line to its end.
void draw(std::vector<Cell>& cells, const pipeline::SweepStep& step, std::int64_t from, std::int64_t to, bool color) {
  const Look& how = look(step.operation.phase);
  std::string label = std::to_string(step.operation.micro_batch);
  if (!color) label.insert(label.begin(), how.letter);
  if (std::ssize(label) > to - from) label = color ? "" : std::string(1, how.letter);
  for (std::int64_t at = from; at < to; ++at) {
    Cell& cell = cells[static_cast<std::size_t>(at)];
    cell.phase = static_cast<int>(step.operation.phase);
    const auto i = static_cast<std::size_t>(at - from);
    cell.text = i < label.size() ? label[i] : color ? ' ' : '-';
  }
}

std::string painted(const std::vector<Cell>& cells, bool color) {
  std::string row;
  for (std::size_t i = 0; i < cells.size();) {
    const int phase = cells[i].phase;
    std::string stretch;
    for (; i < cells.size() && cells[i].phase == phase; ++i) {
      stretch += phase < 0 ? ' ' : cells[i].text;
    }
    row += color && phase >= 0
               ? fmt::format("{}{}{}", k_looks[static_cast<std::size_t>(phase)].terminal, stretch, sgr::k_plain)
               : stretch;
  }
  return row;
}

}  // namespace

char phase_letter(Phase phase) { return look(phase).letter; }

std::string schedule_picture(const pipeline::ExactRun& run, bool color) {
  constexpr std::int64_t k_margin = 8;
  const Scale scale = scale_of(run, static_cast<std::int64_t>(k_text_width) - k_margin);
  const auto rows = static_cast<std::int32_t>(run.order.row_device.size());
  std::vector<std::vector<Cell>> cells(rows, std::vector<Cell>(scale.column(run.result.makespan)));
  std::array<bool, pipeline::k_phases> used{};
  for (std::size_t i = 0; i < run.order.steps.size(); ++i) {
    const pipeline::SweepStep& step = run.order.steps[i];
    used[static_cast<std::size_t>(step.operation.phase)] = true;
    std::int64_t from = scale.column(run.result.start[i]);
    std::int64_t to = scale.column(run.result.end[i]);
    // Two that run as one are shown one behind the other.
    if (step.operation.joined) to = (from + to) / 2;
    if (i > 0 && run.order.steps[i - 1].operation.joined) from = (from + to) / 2;
    draw(cells[step.device], step, from, to, color);
  }
  std::string out;
  for (std::int32_t row = 0; row < rows; ++row) {
    const bool side = row >= run.order.stages;
    out += fmt::format("{:>4}{} |{}|\n", run.order.row_device[row], side ? "'" : " ", painted(cells[row], color));
  }
  out += "      ";
  for (std::size_t phase = 0; phase < k_looks.size(); ++phase) {
    if (!used[phase]) continue;
    const Look& l = k_looks[phase];
    out += color ? fmt::format(" {} {} {}", l.terminal, l.name, sgr::k_plain) : fmt::format(" {} {}", l.letter, l.name);
  }
  return out + "\n";
}

std::string svg(const ScheduleAnswer& answer) {
  const pipeline::ExactRun& run = answer.run;
  constexpr double k_width = 1600.0, k_row = 28.0, k_left = 40.0, k_top = 24.0, k_legend = 36.0, k_letters = 7.0;
  const auto rows = static_cast<double>(run.order.row_device.size());
  const double scale = run.result.makespan > 0 ? k_width / static_cast<double>(run.result.makespan) : 0.0;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<text x=\"4\" y=\"15\">{}, {} stages, {} micro-batches</text>\n",
      k_left + k_width + 4, k_top + rows * k_row + k_legend, xml_text(run.schedule.kind), run.schedule.stages,
      run.schedule.micro_batches / run.schedule.pieces);
  for (std::size_t row = 0; row < run.order.row_device.size(); ++row)
    out += fmt::format("<text x=\"8\" y=\"{:.0f}\">{}</text>\n", k_top + static_cast<double>(row) * k_row + 18,
                       run.order.row_device[row]);
  std::array<bool, pipeline::k_phases> used{};
  for (std::size_t i = 0; i < run.order.steps.size(); ++i) {
    const pipeline::SweepStep& step = run.order.steps[i];
    used[static_cast<std::size_t>(step.operation.phase)] = true;
    const double x = k_left + scale * static_cast<double>(run.result.start[i]);
    const double width = scale * static_cast<double>(run.result.end[i] - run.result.start[i]);
    const bool second = i > 0 && run.order.steps[i - 1].operation.joined;
    const bool half = second || step.operation.joined;
    const double height = (k_row - 4) / (half ? 2 : 1);
    const double y = k_top + static_cast<double>(step.device) * k_row + (second ? height : 0.0);
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#555\" "
        "stroke-width=\"0.5\" opacity=\"{}\"/>\n",
        x, y, width, height, look(step.operation.phase).fill, step.operation.chunk % 2 == 0 ? "1" : "0.7");
    const std::string label = std::to_string(step.operation.micro_batch);
    if (width > k_letters * static_cast<double>(label.size()))
      out += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\">{}</text>\n", x + width / 2,
                         y + height / 2 + 4, label);
  }
  double x = k_left;
  const double y = k_top + rows * k_row + 8;
  for (std::size_t phase = 0; phase < k_looks.size(); ++phase) {
    if (!used[phase]) continue;
    const std::string_view name = k_looks[phase].name;
    out += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.0f}\" "
        "y=\"{:.0f}\">{}</text>\n",
        x, y, k_looks[phase].fill, x + 16, y + 10, name);
    x += 30 + k_letters * static_cast<double>(name.size());
  }
  return out + "</svg>\n";
}

}  // namespace cairn::report
