// The published-rule rows of pipeline_golden.csv in the folder CAIRN_DATA: makespan, span, idle time and peak
// activations, all exact.
#include <algorithm>
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
using pipeline::Schedule;

namespace {

// Every time of the table, also divided by up to 8 chunks, is a whole number of these.
constexpr std::int64_t k_scale = 8'000'000;

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

struct Name {
  std::string kind;
  pipeline::Settings settings;
};

// The table's names: _ for -, and options that are part of the name.
Name named(const std::string& schedule) {
  using pipeline::WeightGradients;
  if (schedule == "2bp_1f1b_Wend") return {"2bp-1f1b", {.weight_gradients = WeightGradients::last}};
  if (schedule == "2bp_1f1b_Wfill") return {"2bp-1f1b", {.weight_gradients = WeightGradients::fill}};
  if (schedule == "hanayo_W1") return {"hanayo", {.waves = 1}};
  if (schedule == "hanayo_W2") return {"hanayo", {.waves = 2}};
  if (schedule == "v_min_plain") return {"v-min", {.reorder = false}};
  if (schedule == "v_half_plain") return {"v-half", {.reorder = false}};
  std::string kind = schedule;
  std::replace(kind.begin(), kind.end(), '_', '-');
  return {kind, {}};
}

struct Outcome {
  Schedule schedule;
  pipeline::SweepResult result;
};

Outcome run(const Row& row) {
  const auto number = [&](const char* column) { return static_cast<std::int32_t>(std::stoi(row.at(column))); };
  Name name = named(row.at("schedule"));
  name.settings.stages = number("p");
  name.settings.micro_batches = number("m");
  if ((pipeline::generator(name.kind).options & pipeline::takes::k_chunks) != 0) name.settings.chunks = number("v");
  name.settings.durations = {.forward = scaled(row.at("tF")),
                             .input_gradient = scaled(row.at("tB")),
                             .weight_gradient = scaled(row.at("tW")),
                             .delay = scaled(row.at("tcomm"))};
  const pipeline::Durations& full = name.settings.durations;
  Schedule schedule = pipeline::generate(name.kind, name.settings);
  pipeline::validate(schedule);
  const std::int32_t parts = schedule.operations_per_stage();
  pipeline::StageTimes times(schedule.virtual_stages());
  times.set_duration(Phase::forward, full.forward / parts);
  times.set_duration(Phase::backward, (full.input_gradient + full.weight_gradient) / parts);
  times.set_duration(Phase::input_gradient, full.input_gradient / parts);
  times.set_duration(Phase::weight_gradient, full.weight_gradient / parts);
  times.set_delay(full.delay);
  pipeline::SweepResult result = pipeline::sweep(schedule, times);
  return {std::move(schedule), std::move(result)};
}

std::vector<std::int64_t> scaled_list(const std::string& text) {
  std::vector<std::int64_t> values;
  if (!text.empty())
    for (const std::string& field : split(text, ';')) values.push_back(scaled(field));
  return values;
}

std::vector<std::int64_t> scaled_peaks(const Schedule& schedule, pipeline::Release release) {
  std::vector<std::int64_t> peaks;
  for (const std::int32_t sets : pipeline::peak_activations(schedule, release))
    peaks.push_back(sets * k_scale / schedule.operations_per_stage());
  return peaks;
}

std::vector<std::int64_t> half_peaks(const Schedule& schedule) {
  std::vector<std::int64_t> peaks;
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    std::int64_t halves = 0;
    std::int64_t most = 0;
    for (const pipeline::Operation& operation : schedule.row(device)) {
      halves += operation.phase == Phase::forward ? 2 : -1;
      most = std::max(most, halves);
    }
    peaks.push_back(most * k_scale / 2 / schedule.operations_per_stage());
  }
  return peaks;
}

// Rows of a published greedy: no longer, and no more memory at its fullest device.
void check_no_worse(const Row& row, const Outcome& outcome) {
  const auto most = [](const std::vector<std::int64_t>& values) {
    return *std::max_element(values.begin(), values.end());
  };
  CHECK(most(outcome.result.span) <= scaled(row.at("max_device_span")));
  if (!row.at("makespan").empty()) CHECK(outcome.result.makespan <= scaled(row.at("makespan")));
  // zb-v counts half an activation as free after the input gradient and half after the weight gradient.
  const std::vector<std::int64_t> peaks = row.at("schedule") == "zb_v"
                                              ? half_peaks(outcome.schedule)
                                              : scaled_peaks(outcome.schedule, pipeline::Release::at_weight_gradient);
  CHECK(most(peaks) <= most(scaled_list(row.at("peak_act_per_device_release_at_W"))));
}

void check_row(const Row& row) {
  const Outcome outcome = run(row);
  if (row.at("source") != "sim") return check_no_worse(row, outcome);
  CHECK(outcome.result.makespan == scaled(row.at("makespan")));
  CHECK(*std::max_element(outcome.result.span.begin(), outcome.result.span.end()) == scaled(row.at("max_device_span")));
  CHECK(outcome.result.idle == scaled_list(row.at("idle_per_device")));
  CHECK(scaled_peaks(outcome.schedule, pipeline::Release::at_input_gradient) ==
        scaled_list(row.at("peak_act_per_device_release_at_B")));
  CHECK(scaled_peaks(outcome.schedule, pipeline::Release::at_weight_gradient) ==
        scaled_list(row.at("peak_act_per_device_release_at_W")));
}

bool known(const std::string& kind) {
  const auto all = pipeline::generators();
  return std::any_of(all.begin(), all.end(), [&](const auto& generator) { return generator.kind == kind; });
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
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split(line, ',');
  std::map<std::string, int> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line, ',');
    REQUIRE(fields.size() == header.size());
    Row row;
    for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = fields[i];
    if (!known(named(row.at("schedule")).kind)) continue;
    INFO(line);
    check_row(row);
    ++rows[row.at("schedule")];
  }
  for (const auto& [schedule, count] : rows) WARN(schedule << ": " << count << " rows");
}
