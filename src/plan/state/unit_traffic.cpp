#include "cairn/plan/unit_traffic.h"

#include "vocabulary.h"

namespace cairn::plan {

Leg leg(const Transfer& transfer) {
  return {.stream = stream_of(transfer.group.axis), .axis = transfer.group.axis, .work = transfer};
}
Leg leg(const Copy& copy) { return {.stream = stream_of(copy.lane), .axis = Axis::data, .work = copy}; }

Step step_of(const Leg& leg) {
  const bool transfers = std::holds_alternative<Transfer>(leg.work);
  return {.kind = transfers ? StepKind::transfer : StepKind::copy,
          .stream = leg.stream,
          .axis = leg.axis,
          .launches = static_cast<std::uint16_t>(leg.stream == Stream::storage ? 0 : 1)};
}

}  // namespace cairn::plan
