// Who does what when: the passes of all stages.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "cairn/core/diagnostics.h"
#include "cairn/predict/evaluate/timeline.h"
#include "html/picture.h"
#include "html/run_parts.h"
#include "picture_axis.h"
#include "schedule_picture.h"

namespace cairn::report::html {
namespace {

constexpr const char* k_timeline = "/result/timeline";
constexpr double k_pipe_left = 40.0, k_pipe_right = 10.0, k_pipe_top = 8.0, k_pipe_bottom = 44.0;  // around the rows
constexpr double k_pipe_gap = 26.0;                                               // between two windows
constexpr double k_pipe_rows = 320.0, k_pipe_highest = 26.0, k_pipe_least = 4.0;  // of all rows, and of one
constexpr double k_pipe_air = 0.12;     // of a row, above and below its passes
constexpr double k_pipe_ticks = 5.0;    // of the whole axis
constexpr double k_pipe_number = 12.0;  // a box as wide has room for a digit of its micro-batch
constexpr double k_pipe_framed = 5.0;   // boxes of that mean width
constexpr const char* k_update_fill = "#bbbbbb";
constexpr const char* k_reduction_fill = "#e08a80";

// How passes of that name are drawn.
struct PassFill {
  std::string fill;
  bool pale = false;  // chunks of odd number
  auto operator<=>(const PassFill&) const = default;
};
std::string pass_fill(const std::string& name) {
  for (std::int32_t phase = 0; phase < pipeline::k_phases; ++phase)
    if (pipeline::name(static_cast<pipeline::Phase>(phase)) == name)
      return look(static_cast<pipeline::Phase>(phase)).fill;
  return name == predict::name_at_end(program::PassKind::update) ? k_update_fill : k_reduction_fill;
}

bool is_pale(const Json& pass) { return pass.at(3).is_number() && pass.at(3).get<std::int64_t>() % 2 != 0; }

// A colour halfway to white, on which dark numbers can be read whatever the page lies on.
std::string pale_fill(const std::string& fill) {
  constexpr std::uint32_t k_even = 0xfefefe, k_half_white = 0x7f7f7f;  // in each of three bytes
  const auto colour = static_cast<std::uint32_t>(std::stoul(fill.substr(1), nullptr, 16));
  return fmt::format("#{:06x}", ((colour & k_even) >> 1U) + k_half_white);
}

std::string as_plain_seconds(double seconds) { return fmt::format("{:.1f} s", seconds); }

// All ticks of an axis in one unit.
std::string tick_words(double at, double part) {
  if (part >= 0.5) return fmt::format("{:.6g} s", at);
  return part >= 0.5e-3 ? fmt::format("{:.6g} ms", 1e3 * at) : fmt::format("{:.6g} us", 1e6 * at);
}

class PipelinePicture : Picture {
 public:
  PipelinePicture(const Document& document, double time)
      : windows_(*document.find(k_timeline)), stages_(document.size("/result/stages")) {
    row_ = std::clamp(k_pipe_rows / static_cast<double>(stages_), k_pipe_least, k_pipe_highest);
    const double gaps = k_pipe_gap * static_cast<double>(windows_.size() - 1);
    scale_ = (k_picture_width - k_pipe_left - k_pipe_right - gaps) / time;
    part_ = tick_step(time, k_pipe_ticks);
  }

  std::string draw() {
    begin(bottom() + k_pipe_bottom, "pipeline-picture", "Passes of all stages over the step",
          "A row a stage, time from left to right, a box a pass of a micro-batch; between boxes the stage waits");
    for (std::size_t stage = 0; stage < stages_; ++stage) row_name(stage);
    double left = k_pipe_left;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if (i > 0) remark(left - k_pipe_gap / 2.0, bottom() + 4.0, "middle", "…");
      left = window(i, left) + k_pipe_gap;
    }
    remark((k_pipe_left + k_picture_width - k_pipe_right) / 2.0, bottom() + 38.0, "middle",
           "time from the start of the step");
    return end();
  }

  // Whether a chunk of odd number is drawn.
  bool has_pale() const {
    return std::any_of(windows_.begin(), windows_.end(), [](const Json& window) {
      const Json& passes = window.at("passes");
      return std::any_of(passes.begin(), passes.end(), is_pale);
    });
  }
  // Whether boxes that were drawn cannot be told apart.
  bool narrow() const { return narrow_; }
  // Names of passes that are drawn, with their colours.
  std::vector<std::pair<std::string, std::string>> names() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const Json& window : windows_)
      for (const Json& pass : window.at("passes")) {
        std::string name = pass.at(1).get<std::string>();
        const std::string fill = pass_fill(name);
        name = plain_label(name);
        if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return each.first == name; }))
          all.emplace_back(name, fill);
      }
    return all;
  }

 private:
  double bottom() const { return k_pipe_top + row_ * static_cast<double>(stages_); }
  double top(std::size_t stage) const { return k_pipe_top + row_ * static_cast<double>(stage); }

  void row_name(std::size_t stage) {
    const double numbered = row_ >= k_picture_font + 2.0 ? 1.0 : tick_step((k_picture_font + 6.0) / row_, 1.0);
    if (stage % static_cast<std::size_t>(numbered) == 0)
      remark(k_pipe_left - 6.0, top(stage) + row_ / 2.0 + 4.0, "end", std::to_string(stage));
  }

  // One window from x = `left` on; gives where it ends.
  double window(std::size_t index, double left) {
    const Json& window = windows_.at(index);
    const double from = window.at("from_s").get<double>(), until = window.at("until_s").get<double>();
    const double right = left + scale_ * (until - from);
    add("<rect class=\"idle\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n", left, k_pipe_top,
        right - left, bottom() - k_pipe_top);
    const double first = std::ceil(from / part_);
    for (double i = 0.0; i <= 2.0 * k_pipe_ticks && (first + i) * part_ <= until; ++i) {
      const double at = (first + i) * part_;
      const double x = left + scale_ * (at - from);
      line(x, k_pipe_top, x, bottom() + 4.0, "class=\"frame\"");
      const std::string words = tick_words(at, part_);
      const double half = k_widest_letter * static_cast<double>(words.size()) / 2.0;
      remark(std::min(x, k_picture_width - half), bottom() + 18.0, "middle", words);
    }
    boxes(window, left);
    for (std::size_t stage = 0; stage < stages_; ++stage)
      add("<rect class=\"hit\" data-window=\"{}\" data-stage=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" "
          "height=\"{:.2f}\"/>\n",
          index, stage, left, top(stage), right - left, row_);
    return right;
  }

  // All boxes of a colour in one path, cut at the borders of the window.
  void boxes(const Json& window, double left) {
    const double from = window.at("from_s").get<double>(), until = window.at("until_s").get<double>();
    std::map<PassFill, std::string> paths;
    std::string numbers;
    double widths = 0.0;
    const double air = k_pipe_air * row_, height = row_ - 2.0 * air;
    for (const Json& pass : window.at("passes")) {
      const double start = std::max(from, pass.at(4).get<double>()), end = std::min(until, pass.at(5).get<double>());
      if (!(end > start)) continue;
      const double x = left + scale_ * (start - from), width = scale_ * (end - start);
      widths += width;
      const double y = top(pass.at(0).get<std::size_t>()) + air;
      paths[{.fill = pass_fill(pass.at(1).get<std::string>()), .pale = is_pale(pass)}] +=
          fmt::format("M{:.2f} {:.2f}h{:.2f}v{:.2f}H{:.2f}z", x, y, width, height, x);
      if (!pass.at(2).is_number() || row_ < k_picture_font + 3.0) continue;
      const std::string number = pass.at(2).dump();
      if (width >= k_pipe_number * static_cast<double>(number.size()))
        numbers += fmt::format("<text class=\"small\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", x + width / 2.0,
                               y + height / 2.0 + 4.0, number);
    }
    // Of narrow boxes frames would be all that is seen.
    const auto passes = static_cast<double>(std::max<std::size_t>(window.at("passes").size(), 1));
    const double mean = widths / passes;
    narrow_ = narrow_ || (widths > 0.0 && mean < 1.0);
    for (const auto& [look, path] : paths)
      add("<path d=\"{}\" fill=\"{}\"{}/>\n", path, look.pale ? pale_fill(look.fill) : look.fill,
          mean >= k_pipe_framed ? " stroke=\"#3a3f45\" stroke-width=\"0.4\"" : "");
    if (!numbers.empty()) add("<g class=\"numbers\" text-anchor=\"middle\" font-size=\"10\">{}</g>\n", numbers);
  }

  const Json& windows_;
  std::size_t stages_ = 1;
  bool narrow_ = false;
  double row_ = k_pipe_highest, scale_ = 1.0, part_ = 1.0;
};

// What the windows take together; of a document that is none of ours it may be nothing.
double drawn_time(const Document& document) {
  double time = 0.0;
  for (const Json& window : *document.find(k_timeline)) {
    time += window.at("until_s").get<double>() - window.at("from_s").get<double>();
    for (const Json& pass : window.at("passes"))
      if (pass.at(0).get<std::size_t>() >= document.size("/result/stages"))
        throw core::ConfigurationError(k_timeline, "a pass is of a stage that is not there",
                                       "list it in result.stages");
  }
  return time;
}

}  // namespace

void add_run_pipeline(Page& page, const Document& document) {
  const Json* windows = document.find(k_timeline);
  if (windows == nullptr || windows->empty()) return;
  const double time = drawn_time(document);
  if (!(time > 0.0)) return;
  page.section("pipeline", "The pipeline over the step");
  PipelinePicture picture(document, time);
  const std::string svg = picture.draw();
  const bool cut = windows->size() > 1;
  // The axis counts seconds, while the other figures of the page tell long times in minutes, hours or days.
  const std::string step = "/result/iteration_time_s";
  const std::string length =
      time_unit(document.number(step)).seconds > 1.0
          ? fmt::format(" The step takes {}, {}.", document.show(step, as_time), document.show(step, as_plain_seconds))
          : std::string();
  page.figure(svg, fmt::format("One rank of each stage: rows are stages, boxes passes, numbers micro-batches{}. Where "
                               "nothing is drawn a stage waits.{}{}{}",
                               picture.has_pale() ? ", pale ones of chunks of odd number" : "",
                               cut ? " The beginning and the end of the step; the middle is left out." : "", length,
                               picture.narrow() ? " Some boxes are narrower than a pixel." : ""));
  page.add("{}", legend(picture.names()));
}

}  // namespace cairn::report::html
