// When the passes of a step ran, as `result.timeline` of a run.
#include <algorithm>

#include "cairn/core/assert.h"
#include "run_keys.h"

namespace cairn::report::schema {
namespace {

constexpr std::size_t k_most_passes = 10'000;   // listed: a megabyte or less
constexpr std::size_t k_passes_of_stage = 160;  // listed of a stage on average: each is a few pixels wide on a page

struct RanPass {
  std::int32_t stage = 0;
  std::string_view phase;
  const pipeline::Operation* operation = nullptr;  // null: the end of the step
  core::Picoseconds start = 0, end = 0;
};

struct PassWindow {
  core::Picoseconds from = 0, until = 0;
  std::vector<RanPass> passes = {};
};

// Those that took time, stage after stage.
std::vector<RanPass> ran_passes(const program::Program& program, const predict::PassTimes& times) {
  std::vector<RanPass> all;
  for (std::size_t stage = 0; stage < times.size(); ++stage) {
    const auto row = program.row(static_cast<std::int32_t>(stage));
    core::Picoseconds before = 0;
    for (std::size_t position = 0; position < times[stage].size(); ++position) {
      const program::PassOrder::Entry& entry = row[position];
      const core::Picoseconds end = times[stage][position].end;
      const core::Picoseconds start = std::max(before, times[stage][position].arrival.end);
      before = std::max(before, end);
      const bool at_end = entry.kind == program::PassKind::finalize || entry.kind == program::PassKind::update;
      if (end <= start || !(at_end || program::of_chain(entry.kind))) continue;
      const pipeline::Operation* operation =
          at_end ? nullptr : &program.schedule->operations[static_cast<std::size_t>(entry.operation)];
      all.push_back({.stage = static_cast<std::int32_t>(stage),
                     .phase = at_end ? predict::name_at_end(entry.kind) : pipeline::name(operation->phase),
                     .operation = operation,
                     .start = start,
                     .end = end});
    }
  }
  return all;
}

// The whole step, or of too many passes its beginning and its end, with about as many in each: passes that run across
// the border of a window are in it, since a stage that lacked them there would seem to wait.
std::vector<PassWindow> windows(std::vector<RanPass> all, core::Picoseconds step, std::size_t stages) {
  const std::size_t most = std::min(k_most_passes, k_passes_of_stage * stages);
  if (all.size() <= most) return {{.from = 0, .until = step, .passes = std::move(all)}};
  const auto half = static_cast<std::ptrdiff_t>(most / 2);
  std::vector<core::Picoseconds> ends, starts;
  for (const RanPass& pass : all) {
    ends.push_back(pass.end);
    starts.push_back(pass.start);
  }
  std::nth_element(ends.begin(), ends.begin() + half, ends.end());
  std::nth_element(starts.begin(), starts.end() - half, starts.end());
  PassWindow beginning{.from = 0, .until = *(ends.begin() + half)};
  PassWindow end{.from = std::max(beginning.until, *(starts.end() - half)), .until = step};
  for (const RanPass& pass : all) {
    if (pass.start < beginning.until) beginning.passes.push_back(pass);
    if (pass.end > end.from) end.passes.push_back(pass);
  }
  return {std::move(beginning), std::move(end)};
}

Json pass_schema() {
  return tuple_of({count("the stage"),
                   text("forward, backward, input_gradient, weight_gradient, gradient reduction or parameter update"),
                   or_null(count("the micro-batch; null: all")), or_null(count("the chunk; null: all")),
                   amount("s from the start of the step until the pass before has computed and its message has come"),
                   amount("s until it has computed")});
}

Json pass_json(const RanPass& pass) {
  Json result = Json::array({pass.stage, std::string(pass.phase), nullptr, nullptr, core::to_seconds(pass.start),
                             core::to_seconds(pass.end)});
  if (pass.operation != nullptr) {
    result[2] = pass.operation->micro_batch;
    result[3] = pass.operation->chunk;
  }
  return result;
}

}  // namespace

Json timeline_schema() {
  return described(
      list_of(object({{"from_s", amount("s from the start of the step")},
                      {"until_s", amount("s from the start of the step")},
                      {"passes", described(list_of(pass_schema()),
                                           "[stage, phase, micro-batch, chunk, start_s, end_s], those that take time "
                                           "between from_s and until_s, in part or whole, stage after stage")}})),
      "when passes ran on one rank of each stage: the whole step, or, of one with more than 160 passes a stage "
      "or 10,000 in all, its beginning and its end; only in the document inside the page of --html");
}

Json timeline(const Run& run) {
  Json result = Json::array();
  const predict::Prediction& prediction = run.result.prediction;
  CAIRN_ASSERT(!prediction.passes.empty());  // whoever asks for a timeline has had PassTimes kept
  for (const PassWindow& window :
       windows(ran_passes(run.job.program(), prediction.passes), prediction.time, prediction.passes.size())) {
    Json passes = Json::array();
    for (const RanPass& pass : window.passes) passes.push_back(pass_json(pass));
    result.push_back({{"from_s", core::to_seconds(window.from)},
                      {"until_s", core::to_seconds(window.until)},
                      {"passes", std::move(passes)}});
  }
  return result;
}

}  // namespace cairn::report::schema
