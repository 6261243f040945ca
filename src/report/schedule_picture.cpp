#include "schedule_picture.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "paint.h"

namespace cairn::report {
namespace {

using pipeline::Phase;

constexpr std::array<PhaseLook, pipeline::k_phases> k_looks{{{sgr::k_on_blue, "#7aa6da", "forward"},
                                                             {sgr::k_on_green, "#8fc786", "backward"},
                                                             {sgr::k_on_cyan, "#7fd1c7", "input gradient"},
                                                             {sgr::k_on_magenta, "#c69bd6", "weight gradient"},
                                                             {sgr::k_on_yellow, "#e6c36a", "vocabulary forward"},
                                                             {sgr::k_on_yellow, "#d9a441", "vocabulary backward"},
                                                             {sgr::k_on_white, "#bbbbbb", "optimizer"},
                                                             {sgr::k_on_red, "#e08a80", "communication"},
                                                             {sgr::k_on_white, "#cfcfcf", "offload"},
                                                             {sgr::k_on_white, "#dddddd", "reload"},
                                                             {sgr::k_on_yellow, "#f0d9a0", "extra work"}}};

struct Cell {
  int phase = -1;  // -1: idle
  char text = ' ';
};

// Columns per tick as a fraction.
struct Scale {
  std::int64_t columns = 1;
  std::int64_t ticks = 1;
  std::int64_t column(std::int64_t tick) const {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(static_cast<Wide>(tick) * columns / ticks);
  }
};

// The shortest operation has room for its letter and its micro-batch, and up to three columns where all fit.
Scale scale_of(const pipeline::ExactRun& run, std::int64_t room) {
  std::int64_t common = 0, shortest = 0;
  for (std::size_t i = 0; i < run.result.end.size(); ++i) {
    common = std::gcd(std::gcd(common, run.result.start[i]), run.result.end[i]);
    const std::int64_t time = run.result.end[i] - run.result.start[i];
    if (time > 0 && (shortest == 0 || time < shortest)) shortest = time;
  }
  if (common == 0) return {};
  const auto label = static_cast<std::int64_t>(1 + std::to_string(std::max(1, run.schedule.micro_batches - 1)).size());
  constexpr std::int64_t k_widest = 3;
  for (std::int64_t columns = std::max(label, k_widest); columns > 0; --columns)
    if (shortest / common * columns >= label && run.result.makespan / common <= room / columns)
      return {.columns = columns, .ticks = common};
  return {.columns = label, .ticks = shortest};
}

// The columns of a picture that are shown: all, or the first and the last of them.
class Window {
 public:
  Window(std::int64_t all, std::int64_t room) : all_(all) {
    if (all <= room) return;
    head_ = (room - std::ssize(k_cut)) / 2;
    tail_ = room - std::ssize(k_cut) - head_;
  }
  bool cuts() const { return head_ > 0; }
  std::int64_t size() const { return cuts() ? head_ + tail_ : all_; }
  std::int64_t head() const { return cuts() ? head_ : all_; }
  // Where a column is shown, or -1.
  std::int64_t at(std::int64_t column) const {
    if (column < head()) return column;
    return column >= all_ - tail_ ? head_ + column - (all_ - tail_) : -1;
  }
  // The next column from `column` on that is shown.
  std::int64_t next(std::int64_t column) const { return at(column) < 0 ? all_ - tail_ : column; }
  static constexpr std::string_view k_cut = " ... ";

 private:
  std::int64_t all_;
  std::int64_t head_ = 0, tail_ = 0;
};

// Without colour an operation is its letter, its micro-batch and a line to its end.
void draw(std::vector<Cell>& cells, const Window& window, const pipeline::SweepStep& step, std::int64_t from,
          std::int64_t to, bool color) {
  std::string label = std::to_string(step.operation.micro_batch);
  if (!color) label.insert(label.begin(), pipeline::letter(step.operation.phase));
  if (std::ssize(label) > to - from) label = color ? "" : std::string(1, pipeline::letter(step.operation.phase));
  for (std::int64_t at = window.next(from); at < to; at = window.next(at + 1)) {
    Cell& cell = cells[static_cast<std::size_t>(window.at(at))];
    cell.phase = static_cast<int>(step.operation.phase);
    const auto i = static_cast<std::size_t>(at - from);
    cell.text = i < label.size() ? label[i] : color ? ' ' : '-';
  }
}

std::string painted(std::span<const Cell> cells, bool color) {
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

const PhaseLook& look(Phase phase) { return k_looks[static_cast<std::size_t>(phase)]; }

std::vector<std::int32_t> shown_rows(const pipeline::ExactRun& run) {
  std::vector<char> works(run.order.row_device.size());
  for (std::size_t i = 0; i < run.order.steps.size(); ++i)
    if (run.result.end[i] > run.result.start[i]) works[run.order.steps[i].device] = 1;
  std::vector<std::int32_t> rows;
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(works.size()); ++row)
    if (row < run.order.stages || works[row] != 0) rows.push_back(row);
  return rows;
}

std::string schedule_picture(const pipeline::ExactRun& run, std::string_view row, const std::string& makespan,
                             bool color) {
  constexpr std::int64_t k_margin = 8;
  const std::int64_t room = static_cast<std::int64_t>(k_text_width) - k_margin;
  const Scale scale = scale_of(run, room);
  const Window window(scale.column(run.result.makespan), room);
  std::vector<std::vector<Cell>> cells(run.order.row_device.size(),
                                       std::vector<Cell>(static_cast<std::size_t>(window.size())));
  std::array<bool, pipeline::k_phases> used{};
  for (std::size_t i = 0; i < run.order.steps.size(); ++i) {
    const pipeline::SweepStep& step = run.order.steps[i];
    if (run.result.end[i] == run.result.start[i]) continue;
    used[static_cast<std::size_t>(step.operation.phase)] = true;
    std::int64_t from = scale.column(run.result.start[i]);
    std::int64_t to = scale.column(run.result.end[i]);
    // Two that run as one are shown one behind the other.
    if (step.operation.joined) to = (from + to) / 2;
    if (i > 0 && run.order.steps[i - 1].operation.joined) from = (from + to) / 2;
    draw(cells[step.device], window, step, from, to, color);
  }
  std::string out = fmt::format("{}\n", row);
  const std::vector<std::int32_t> rows = shown_rows(run);
  for (const std::int32_t each : rows) {
    const std::span<const Cell> all(cells[each]);
    const auto head = static_cast<std::size_t>(window.head());
    std::string shown = painted(all.first(head), color);
    if (window.cuts()) shown += std::string(Window::k_cut) + painted(all.subspan(head), color);
    out += fmt::format("{:>4}{} |{}|\n", run.order.row_device[each], each >= run.order.stages ? "'" : " ", shown);
  }
  const auto width = static_cast<std::size_t>(window.size() + (window.cuts() ? std::ssize(Window::k_cut) : 0));
  out += fmt::format("time   0{:>{}}\n      ", makespan, std::max<std::size_t>(width, 2) - 1);
  for (std::size_t phase = 0; phase < k_looks.size(); ++phase) {
    if (!used[phase]) continue;
    const PhaseLook& l = k_looks[phase];
    out += color ? fmt::format(" {} {} {}", l.terminal, l.name, sgr::k_plain)
                 : fmt::format(" {} {}", pipeline::letter(static_cast<Phase>(phase)), l.name);
  }
  if (std::ssize(rows) > run.order.stages) out += fmt::format("; 0' runs beside the computation of {} 0", row);
  out += '\n';
  if (window.cuts()) out += "       the beginning and the end; --svg FILE draws all of it\n";
  return out;
}

}  // namespace cairn::report
