// The published-rule rows of pipeline_golden.csv in the folder CAIRN_DATA: makespan, span, idle time and peak
// activations, all exact.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"
#include "catch.h"

using namespace cairn;
using pipeline::Phase;

namespace {

// Every time of the table, also divided by up to 8 chunks, is a whole number of these.
constexpr std::int64_t k_scale = 1'000'000;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == separator && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

std::int64_t scaled(const std::string& text) { return std::llround(std::stod(text) * static_cast<double>(k_scale)); }

using Row = std::map<std::string, std::string>;

void check_row(const std::string& kind, const Row& row) {
  const auto number = [&](const char* column) { return static_cast<std::int32_t>(std::stoi(row.at(column))); };
  const std::int32_t chunks = number("v");
  const pipeline::Schedule schedule =
      pipeline::generate(kind, {.stages = number("p"), .micro_batches = number("m"), .chunks = chunks});
  pipeline::validate(schedule);
  pipeline::StageTimes times(schedule.virtual_stages());
  times.set_duration(Phase::forward, scaled(row.at("tF")) / chunks);
  times.set_duration(Phase::backward, (scaled(row.at("tB")) + scaled(row.at("tW"))) / chunks);
  times.set_delay(scaled(row.at("tcomm")));
  const pipeline::SweepResult result = pipeline::sweep(schedule, times);
  CHECK(result.makespan == scaled(row.at("makespan")));
  std::int64_t span = 0;
  for (const std::int64_t s : result.span) span = std::max(span, s);
  CHECK(span == scaled(row.at("max_device_span")));
  const std::vector<std::string> idle = split(row.at("idle_per_device"), ';');
  const std::vector<std::string> at_b = split(row.at("peak_act_per_device_release_at_B"), ';');
  const std::vector<std::string> at_w = split(row.at("peak_act_per_device_release_at_W"), ';');
  const auto peaks_b = pipeline::peak_activations(schedule, pipeline::Release::at_input_gradient);
  const auto peaks_w = pipeline::peak_activations(schedule, pipeline::Release::at_weight_gradient);
  REQUIRE(idle.size() == result.idle.size());
  for (std::size_t d = 0; d < idle.size(); ++d) {
    CHECK(result.idle[d] == scaled(idle[d]));
    CHECK(peaks_b[d] * k_scale == scaled(at_b[d]) * chunks);
    CHECK(peaks_w[d] * k_scale == scaled(at_w[d]) * chunks);
  }
}

}  // namespace

TEST_CASE("golden schedules are reproduced exactly") {
  const char* const folder = std::getenv("CAIRN_DATA");
  if (folder == nullptr) {
    WARN("CAIRN_DATA is not set: golden schedules skipped");
    return;
  }
  std::ifstream file(std::string(folder) + "/pipeline_golden.csv");
  REQUIRE(file);
  const std::map<std::string, std::string> kinds{
      {"gpipe", "gpipe"}, {"1f1b", "1f1b"}, {"interleaved_1f1b", "interleaved-1f1b"}};
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split(line, ',');
  int rows = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line, ',');
    const auto kind = kinds.find(fields[0]);
    if (kind == kinds.end()) continue;
    REQUIRE(fields.size() == header.size());
    Row row;
    for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = fields[i];
    INFO(line);
    check_row(kind->second, row);
    ++rows;
  }
  CHECK(rows == 96);
}
