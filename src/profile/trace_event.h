// The events of a trace as the document lists them, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cairn/profile/kineto.h"
#include "trace_bytes.h"

namespace cairn::profile {

// A number of the document: microseconds exactly, where it is a time.
struct EventNumber {
  std::optional<Nanoseconds> nanoseconds;  // none: beyond some 290 years
  std::optional<std::int64_t> whole;       // none: it has a fraction, or is too large
  bool is_number = true;                   // false: something else stands there
};

struct TraceEvent {
  TraceBytes::Place place;
  std::string phase, category, name, collective;
  std::optional<EventNumber> start, duration;
  std::optional<std::int64_t> process, thread, device, stream, correlation;
};

struct TraceHeader {
  std::optional<std::int64_t> rank, ranks;
  bool has_events = false;    // the document is a list of events, or has one
  bool names_events = false;  // the document has the key traceEvents, of whatever value
};

// Hands every event to `take`, in the order of the document. Throws core::ConfigurationError where the text is no JSON.
TraceHeader for_each_event(TraceBytes& bytes, const std::function<void(const TraceEvent&)>& take);

}  // namespace cairn::profile
