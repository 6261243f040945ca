// How sure a run's numbers are, key by key.
#include "interval_words.h"
#include "run_keys.h"

namespace cairn::report::schema {
namespace {

using experiment::Interval;
using OfRun = std::optional<Interval> experiment::RunIntervals::*;

Json share_of_runs(std::string_view of) {
  Json result = ratio(of);
  result["maximum"] = 1;
  return result;
}

// The keys that both intervals have, of one of them.
template <class Value>
auto from_interval(OfRun which, Value value) {
  return [which, value](const Run& run) { return Json(std::invoke(value, *(run.result.intervals.*which))); };
}
Key<Run> coverage_key() {
  return {"coverage", share_of_runs("of runs that lie between p10 and p90"),
          [](const Run&) { return experiment::k_interval_coverage; }};
}
Key<Run> family_key(OfRun which) {
  return {"family", text("of measured runs that it rests on: framework, architecture, precision, layers, scale"),
          from_interval(which, &Interval::family)};
}
Key<Run> rows_key(OfRun which) {
  return {"rows", count("measured runs of the family"), from_interval(which, &Interval::rows)};
}
Key<Run> models_key(OfRun which) {
  return {"models", count("models among them; of all runs: frameworks on architectures"),
          from_interval(which, &Interval::models)};
}
Key<Run> extrapolated_key(OfRun which) {
  return {"extrapolated", texts("why it is wider than the family's"), from_interval(which, &Interval::extrapolated)};
}
Key<Run> basis_key(OfRun which) { return {"basis", text("what says so"), from_interval(which, basis_words)}; }

}  // namespace

const Described<Run>& time_interval_keys() {
  constexpr OfRun k_time = &experiment::RunIntervals::time;
  static const Described<Run> keys{
      {"p10", amount("s that nine in ten steps exceed"), [](const Run& run) { return time_range(run)->low; }},
      {"p90", amount("s that nine in ten steps stay below"), [](const Run& run) { return time_range(run)->high; }},
      coverage_key(),
      family_key(k_time),
      rows_key(k_time),
      models_key(k_time),
      extrapolated_key(k_time),
      basis_key(k_time)};
  return keys;
}

const Described<Run>& memory_interval_keys() {
  constexpr OfRun k_memory = &experiment::RunIntervals::memory;
  static const Described<Run> keys{
      {"p10", amount("bytes that nine in ten runs exceed"), [](const Run& run) { return memory_range(run)->low; }},
      {"p90", amount("bytes that nine in ten runs stay below"), [](const Run& run) { return memory_range(run)->high; }},
      coverage_key(),
      {"share_that_fits",
       or_null(share_of_runs("of runs like this whose peak is within the capacity; null: nothing is held")),
       [](const Run& run) { return nullable(share_that_fits(run)); }},
      family_key(k_memory),
      rows_key(k_memory),
      models_key(k_memory),
      extrapolated_key(k_memory),
      basis_key(k_memory)};
  return keys;
}

}  // namespace cairn::report::schema
