// The picture of memory, measured on the picture itself.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cairn/core/format_units.h"
#include "cairn/report/run.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"

using namespace cairn;
using report_tests::k_tool;
using report_tests::loader;
using report_tests::small;

namespace {

struct Measured {
  struct Box {
    double top = 0.0;
    double bottom = 0.0;
  };
  std::map<int, std::vector<Box>> bars;  // by stage
  std::map<double, double> ticks;        // GiB -> y of its line
  double capacity = 0.0;                 // y of the line at it
  std::string text;
};

// The number behind `name="` of one element.
double attribute(const std::string& element, const std::string& name) {
  const std::size_t at = element.find(" " + name + "=\"");
  REQUIRE(at != std::string::npos);
  return std::stod(element.substr(at + name.size() + 3));
}

Measured measured(const std::string& svg) {
  Measured result;
  result.text = svg;
  std::istringstream lines(svg);
  double line_y = 0.0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t stage = line.find("<title>stage ");
    if (stage != std::string::npos) {
      const double top = attribute(line, "y");
      result.bars[std::stoi(line.substr(stage + 13))].push_back({top, top + attribute(line, "height")});
    } else if (line.starts_with("<line") && line.find("stroke-dasharray") == std::string::npos) {
      line_y = attribute(line, "y1");
    } else if (line.starts_with("<line") && result.capacity == 0.0) {
      result.capacity = attribute(line, "y1");
    } else if (line.find("text-anchor=\"end\"") != std::string::npos) {
      result.ticks[std::stod(line.substr(line.find('>') + 1))] = line_y;
    }
  }
  return result;
}

std::string bytes_shown(double bytes) { return core::format(core::Bytes::from_base(bytes)); }

}  // namespace

TEST_CASE("Memory as a picture: bars are as high as the axis says their stages' peaks are") {
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{},
                                                    {"training.global_batch=65536", "strategy.micro_batch=8192"},
                                                    {"strategy.zero={stage: 1, offload: {policy: zero-offload}}"}}) {
    experiment::Job job(small(overrides), loader());
    const experiment::Result result = job.run(predict::Engine::both);
    const Measured picture = measured(report::memory_svg({.job = job, .result = result, .tool = k_tool}));
    const predict::MemoryReport& memory = result.prediction.memory;
    REQUIRE(picture.ticks.size() > 2);
    const auto& [most, highest] = *picture.ticks.rbegin();
    const double pixels = (picture.ticks.at(0.0) - highest) / most / (1024.0 * 1024.0 * 1024.0);  // of a byte
    // Lines are placed to a tenth of a pixel, boxes to a hundredth.
    constexpr double k_tenth = 0.1;
    CHECK(picture.ticks.at(0.0) - picture.capacity == Approx(pixels * memory.capacity).margin(2 * k_tenth));
    REQUIRE(picture.bars.size() == memory.stages.size());
    for (const auto& [stage, boxes] : picture.bars) {
      const predict::StageMemory& expected = memory.stages[static_cast<std::size_t>(stage)];
      CHECK(boxes.front().bottom == Approx(picture.ticks.at(0.0)).margin(k_tenth));
      for (std::size_t i = 1; i < boxes.size(); ++i) CHECK(boxes[i].bottom == Approx(boxes[i - 1].top).margin(k_tenth));
      CHECK(picture.ticks.at(0.0) - boxes.back().top == Approx(pixels * expected.device_peak).margin(2 * k_tenth));
      for (std::size_t i = 0; i < program::k_categories; ++i)
        if (expected.at_peak[i] > 0.0)
          CHECK(picture.text.find("stage " + std::to_string(stage) + ", " +
                                  std::string(report::category_name(static_cast<program::Category>(i))) + ": " +
                                  bytes_shown(expected.at_peak[i]) + "<") != std::string::npos);
    }
    for (const std::string& said :
         {std::string(">GiB<"), std::string(">stage<"), std::string(">parameters<"), std::string(">workspace<"),
          "capacity for programs, " + bytes_shown(memory.capacity),
          memory.headroom() < 0.0 ? bytes_shown(-memory.headroom()) + " too much<"
                                  : bytes_shown(memory.headroom()) + " to spare<"})
      CHECK(picture.text.find(said) != std::string::npos);
  }
}

TEST_CASE("Memory as a picture: names are escaped, and many stages keep their numbers apart") {
  experiment::Job job(small({"name=a<b & c", "model.layers=64", "cluster={file: dgx-h100, nodes: 16}", "strategy.pp=64",
                             "strategy.dp=1"}),
                      loader());
  const experiment::Result result = job.run(predict::Engine::analytic);
  const std::string svg = report::memory_svg({.job = job, .result = result, .tool = k_tool});
  CHECK(svg.find("a&lt;b &amp; c: memory") != std::string::npos);
  // 960 pixels for 64 bars are 15 for each: numbers of two digits fit, of 7 pixels a letter and one of air not.
  CHECK(svg.find(">62<") != std::string::npos);
  CHECK(svg.find(">63<") == std::string::npos);
  CHECK(measured(svg).bars.size() == 64);
}
