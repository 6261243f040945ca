#include "cairn/profile/kineto.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/printable.h"
#include "trace_bytes.h"
#include "trace_event.h"

namespace cairn::profile {
namespace {

constexpr Nanoseconds k_second = 1'000'000'000;
constexpr Nanoseconds k_day = 86'400 * k_second;
constexpr double k_most_days = 30.0;                       // of all kernels together
constexpr std::size_t k_most_kept = std::size_t{1} << 25;  // kernels, or calls: 1.3 GB at most
// Kernels of a stream run one after the other. Programmatic launches and branches of graphs overlap a little; units that
// are mixed overlap a thousandfold.
constexpr double k_most_overlap = 8.0;
constexpr std::string_view k_step = "ProfilerStep#";

bool is_device_work(std::string_view category) {
  for (const std::string_view each : {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
    if (fits(each, category)) return true;  // older traces write them with a capital
  return false;
}
bool is_call(std::string_view category) {
  for (const std::string_view each : {"cuda_runtime", "cuda_driver", "hip_runtime", "runtime", "driver"})
    if (fits(each, category)) return true;
  return false;
}

class Reading {
 public:
  explicit Reading(std::string file) { trace_.file = std::move(file); }

  void take(const TraceEvent& event) {
    ++events_;
    if (event.phase != "X") return;
    if (is_device_work(event.category)) return take_work(event);
    if (is_call(event.category)) return take_call(event);
    // Those of the device, gpu_user_annotation, say what it ran and not what the host issued.
    if (event.name.starts_with(k_step) && !event.category.starts_with("gpu")) take_step(event);
  }

  Trace finish(const TraceHeader& header) {
    if (!header.has_events && header.names_events)
      refuse("no trace: 'traceEvents' is no list", "name a trace that torch.profiler wrote");
    if (!header.has_events)
      refuse("no trace: the key 'traceEvents' is missing", "name a trace that torch.profiler wrote");
    raise();
    if (events_ == 0)
      refuse("no kernel ran on a device in this trace: its list of events is empty",
             "let torch.profiler record a step, with ProfilerActivity.CUDA, before it writes the trace");
    if (by_device_.empty())
      refuse("no kernel ran on a device in this trace",
             "profile with ProfilerActivity.CUDA (torch.profiler.profile(activities=[...]))");
    if (header.rank.value_or(-1) >= 0) trace_.rank = header.rank;
    if (header.ranks.value_or(0) > 0) trace_.ranks = header.ranks;
    choose_device();
    put_in_order();
    check_units();
    return std::move(trace_);
  }

 private:
  void refuse(std::string message, std::string hint) const {
    refuse_at(trace_.file, 0, 0, std::move(message), std::move(hint));
  }
  void raise() const {
    if (!wrong_.empty()) throw core::ConfigurationError(wrong_);
  }
  void error(const TraceEvent& event, std::string message, std::string hint) {
    core::Diagnostic diagnostic;
    diagnostic.file = trace_.file;
    diagnostic.line = event.place.line;
    diagnostic.column = event.place.column;
    diagnostic.message = fmt::format("{}: {}", core::quoted(event.name), message);
    diagnostic.hint = std::move(hint);
    wrong_.push_back(std::move(diagnostic));
    if (wrong_.size() >= core::k_shown_errors) raise();
  }
  void warn(std::string message, std::string hint) {
    core::Diagnostic diagnostic;
    diagnostic.severity = core::Severity::warning;
    diagnostic.file = trace_.file;
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    trace_.warnings.push_back(std::move(diagnostic));
  }

  // A time in nanoseconds; none, and an error, where it is wrong.
  std::optional<Nanoseconds> time(const TraceEvent& event, const std::optional<EventNumber>& number, const char* key) {
    if (!number) {
      error(event, fmt::format("{} is missing", key), "a complete event has ts and dur");
    } else if (!number->is_number) {
      error(event, fmt::format("{} is no number", key), "microseconds are due");
    } else if (!number->nanoseconds) {
      error(event, fmt::format("{} is out of range", key), "microseconds are due");
    } else {
      return number->nanoseconds;
    }
    return std::nullopt;
  }
  std::optional<Nanoseconds> duration(const TraceEvent& event) {
    const std::optional<Nanoseconds> value = time(event, event.duration, "dur");
    if (!value) return std::nullopt;
    if (*value < 0) {
      error(event, "dur is negative", "the trace is damaged: profile again");
    } else if (*value > k_day) {
      error(event, "dur is more than a day", "mixed units? microseconds are due");
    } else {
      return value;
    }
    return std::nullopt;
  }
  // From the first time that is read: times since 1970 leave too few digits.
  std::optional<Nanoseconds> start(const TraceEvent& event) {
    const std::optional<Nanoseconds> value = time(event, event.start, "ts");
    if (!value) return std::nullopt;
    if (!origin_) origin_ = *value;
    Nanoseconds since = 0;
    if (__builtin_sub_overflow(*value, *origin_, &since) || since > k_day || since < -k_day) {
      error(event, "ts is more than a day from the trace's first", "mixed units or clocks? microseconds are due");
      return std::nullopt;
    }
    return since;
  }

  void take_work(const TraceEvent& event) {
    const std::optional<Nanoseconds> begins = start(event), lasts = duration(event);
    const std::optional<std::int64_t> stream = event.stream ? event.stream : event.thread;
    if (!stream || *stream < 0 || *stream > std::numeric_limits<std::int32_t>::max())
      error(event, "it names no stream", "profile with a release of PyTorch that writes args.stream");
    if (!begins || !lasts || !stream) return;
    std::vector<DeviceEvent>& events = by_device_[event.device ? *event.device : event.process.value_or(0)];
    if (++kept_ > k_most_kept)
      refuse_at(trace_.file, event.place.line, event.place.column, "too many kernels", "profile fewer steps");
    events.push_back({.start = *begins,
                      .duration = *lasts,
                      .correlation = event.correlation.value_or(-1),
                      .kernel = kernel(event),
                      .stream = static_cast<std::int32_t>(*stream)});
  }

  std::uint32_t kernel(const TraceEvent& event) {
    const auto [place, is_new] =
        known_.try_emplace(event.name + '\0' + event.collective, static_cast<std::uint32_t>(trace_.kernels.size()));
    if (is_new) trace_.kernels.push_back({.name = event.name, .kind = class_of_kernel(event.name, event.collective)});
    return place->second;
  }

  void take_call(const TraceEvent& event) {
    if (!event.correlation || *event.correlation <= 0) return;
    const std::optional<Nanoseconds> begins = start(event);
    if (!begins) return;
    if (trace_.calls.size() >= k_most_kept)
      refuse_at(trace_.file, event.place.line, event.place.column, "too many calls", "profile fewer steps");
    trace_.calls.push_back({.correlation = *event.correlation, .start = *begins});
  }

  void take_step(const TraceEvent& event) {
    const std::optional<Nanoseconds> begins = start(event), lasts = duration(event);
    if (begins && lasts) trace_.steps.push_back({.name = event.name, .start = *begins, .end = *begins + *lasts});
  }

  // The one that was busy longest, of a process that drove several.
  void choose_device() {
    const auto busy = [](const std::vector<DeviceEvent>& events) {
      double sum = 0.0;
      for (const DeviceEvent& each : events) sum += static_cast<double>(each.duration);
      return sum;
    };
    auto chosen = by_device_.begin();
    for (auto each = by_device_.begin(); each != by_device_.end(); ++each)
      if (busy(each->second) > busy(chosen->second)) chosen = each;
    trace_.device = chosen->first;
    trace_.events = std::move(chosen->second);
    if (by_device_.size() > 1)
      warn(fmt::format("kernels ran on {} devices; those of device {}, the busiest, are compared", by_device_.size(),
                       trace_.device),
           "a rank has one device");
  }

  void put_in_order() {
    const auto key = [](const DeviceEvent& e) {
      return std::tuple(e.start, e.stream, e.kernel, e.duration, e.correlation);
    };
    std::sort(trace_.events.begin(), trace_.events.end(),
              [&](const DeviceEvent& a, const DeviceEvent& b) { return key(a) < key(b); });
    const auto doubled =
        std::unique(trace_.events.begin(), trace_.events.end(),
                    [&](const DeviceEvent& a, const DeviceEvent& b) { return a.duration > 0 && key(a) == key(b); });
    if (const auto count = std::distance(doubled, trace_.events.end()); count > 0) {
      warn(fmt::format("{} kernels are listed twice, with the same times on the same stream; each counts once", count),
           "was the trace merged with itself?");
      trace_.events.erase(doubled, trace_.events.end());
    }
    std::sort(trace_.calls.begin(), trace_.calls.end(), [](const Call& a, const Call& b) {
      return std::pair(a.correlation, a.start) < std::pair(b.correlation, b.start);
    });
    std::stable_sort(trace_.steps.begin(), trace_.steps.end(),
                     [](const Annotation& a, const Annotation& b) { return a.start < b.start; });
  }

  void check_units() const {
    struct Used {
      double sum = 0.0;
      Nanoseconds first = 0, last = 0;
      std::int64_t count = 0;
    };
    std::map<std::int32_t, Used> streams;
    for (const DeviceEvent& each : trace_.events) {
      Used& used = streams.try_emplace(each.stream, Used{.first = each.start}).first->second;
      used.sum += static_cast<double>(each.duration);
      used.last = std::max(used.last, each.end());
      ++used.count;
    }
    double sum = 0.0;
    for (const auto& [stream, used] : streams) {
      sum += used.sum;
      if (used.sum > k_most_overlap * static_cast<double>(used.last - used.first))
        refuse(fmt::format("stream {}: its {} kernels add up to more than {} times the time from the first to the last",
                           stream, used.count, k_most_overlap),
               "mixed units? ts and dur are microseconds");
    }
    if (sum > k_most_days * static_cast<double>(k_day))
      refuse(fmt::format("kernels add up to more than {} days", k_most_days),
             "mixed units? ts and dur are microseconds");
  }

  Trace trace_;
  std::map<std::int64_t, std::vector<DeviceEvent>> by_device_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::optional<Nanoseconds> origin_;
  std::size_t events_ = 0;  // of all kinds
  std::size_t kept_ = 0;
  std::vector<core::Diagnostic> wrong_;
};

}  // namespace

Trace read_kineto(const std::filesystem::path& file, const ReadTraceOptions& options) {
  TraceBytes bytes(file.filename().string(), file, options.progress);
  Reading reading(bytes.name());
  const TraceHeader header = for_each_event(bytes, [&](const TraceEvent& event) { reading.take(event); });
  return reading.finish(header);
}

}  // namespace cairn::profile
