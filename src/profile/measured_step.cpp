#include "cairn/profile/measured_step.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/printable.h"
#include "trace_bytes.h"

namespace cairn::profile {
namespace {

constexpr core::Picoseconds k_pico_per_nano = 1000;
constexpr std::string_view k_prefix = "ProfilerStep#";
constexpr std::size_t k_named = 12;  // steps in an error

// When the host issued it; none where the trace does not say.
std::optional<Nanoseconds> issued(const Trace& trace, const DeviceEvent& event) {
  if (event.correlation <= 0) return std::nullopt;
  const auto found = std::lower_bound(trace.calls.begin(), trace.calls.end(), event.correlation,
                                      [](const Call& call, std::int64_t wanted) { return call.correlation < wanted; });
  if (found == trace.calls.end() || found->correlation != event.correlation) return std::nullopt;
  return found->start;
}

Nanoseconds last_end(const Trace& trace) {
  Nanoseconds last = std::numeric_limits<Nanoseconds>::min();
  for (const DeviceEvent& each : trace.events) last = std::max(last, each.end());
  return last;
}

std::string seconds(Nanoseconds time) { return fmt::format("{:.6f} s", static_cast<double>(time) * 1e-9); }

}  // namespace

std::vector<StepTimes> steps_of(const Trace& trace) {
  if (trace.steps.empty()) return {{.name = {}, .start = trace.events.front().start, .end = last_end(trace)}};
  constexpr Nanoseconds k_none = std::numeric_limits<Nanoseconds>::max();
  std::vector<Nanoseconds> first(trace.steps.size(), k_none), last(trace.steps.size(), 0);
  for (const DeviceEvent& each : trace.events) {
    const Nanoseconds when = issued(trace, each).value_or(each.start);
    const auto after = std::upper_bound(trace.steps.begin(), trace.steps.end(), when,
                                        [](Nanoseconds time, const Annotation& step) { return time < step.start; });
    if (after == trace.steps.begin() || std::prev(after)->end < when) continue;
    const auto step = static_cast<std::size_t>(after - trace.steps.begin()) - 1;
    last[step] = first[step] == k_none ? each.end() : std::max(last[step], each.end());
    first[step] = std::min(first[step], each.start);
  }
  std::vector<StepTimes> result;
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    if (first[i] == k_none) continue;
    // Kernels of one step may begin before those of the step before it, on another stream: time goes on all the same.
    if (!result.empty()) first[i] = std::max(first[i], result.back().start);
    if (!result.empty()) result.back().end = first[i];
    result.push_back(
        {.name = trace.steps[i].name, .start = first[i], .end = std::max({first[i], last[i], trace.steps[i].end})});
  }
  if (result.empty())
    refuse_at(
        trace.file, 0, 0,
        fmt::format("no kernel lies in a step: steps are annotated up to {} from the first, kernels run from {} to {}",
                    seconds(trace.steps.back().end - trace.steps.front().start),
                    seconds(trace.events.front().start - trace.steps.front().start),
                    seconds(last_end(trace) - trace.steps.front().start)),
        "mixed units or clocks? ts and dur are microseconds of one clock");
  return result;
}

std::size_t chosen_step(const std::vector<StepTimes>& steps, const std::string& asked) {
  if (asked.empty()) {
    std::vector<std::size_t> order(steps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return steps[a].end - steps[a].start < steps[b].end - steps[b].start;
    });
    return order[(order.size() - 1) / 2];
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].name == asked || steps[i].name == std::string(k_prefix) + asked) return i;
    if (names.size() < k_named) names.push_back(steps[i].name);
  }
  throw core::ConfigurationError(
      "--step", fmt::format("no step of the trace with kernels is called {}", core::quoted(asked)),
      steps.front().name.empty()
          ? "the trace annotates no steps: leave --step out"
          : fmt::format("there are {}{}", fmt::join(names, ", "), steps.size() > names.size() ? ", ..." : ""));
}

Step measured_step(const Trace& trace, const StepTimes& times) {
  Step step;
  step.span = (times.end - times.start) * k_pico_per_nano;
  step.next_issued = step.span;  // nothing, if it is the last one
  for (const MeasuredKernel& each : trace.kernels) step.kernels.push_back({.name = each.name, .kind = each.kind});
  std::map<std::int32_t, std::uint32_t> streams;
  for (const DeviceEvent& each : trace.events)
    if (each.start < times.end && (each.start >= times.start || each.end() > times.start))
      streams.try_emplace(each.stream, 0);
  for (auto& [stream, place] : streams) {
    place = static_cast<std::uint32_t>(step.streams.size());
    step.streams.push_back(fmt::format("stream {}", stream));
  }
  for (const DeviceEvent& each : trace.events) {
    const auto within = [&](Nanoseconds time) {
      return (std::clamp(time, times.start, times.end) - times.start) * k_pico_per_nano;
    };
    const bool begins_here = each.start >= times.start;
    if (!begins_here && each.end() <= times.start) continue;
    const std::optional<Nanoseconds> call = issued(trace, each);
    if (each.start >= times.end) {
      step.next_issued = call ? within(*call) : Work::k_unknown;
      break;
    }
    step.work.push_back({.start = within(each.start),
                         .end = within(each.end()),
                         .issued = call ? within(*call) : Work::k_unknown,
                         .kernel = each.kernel,
                         .stream = streams.at(each.stream),
                         .count = begins_here ? 1 : 0});
  }
  return step;
}

}  // namespace cairn::profile
