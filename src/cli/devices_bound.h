// `cairn bound --devices N`: what some device of several must move, and what known algorithms move under the same
// premises.
#pragma once

#include <cstdint>
#include <optional>

#include "arguments.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/pebble/cdag.h"
#include "cairn/pebble/operation.h"
#include "cairn/report/bound.h"

namespace cairn::cli {

// The graph itself on several nodes. Larger ones are not placed: their bounds take a look at every edge, a placement
// some for each node.
void add_nodes(report::BoundAnswer& answer, const pebble::Cdag& graph, std::int64_t nodes);

// A device holds its accelerator's device memory, or without one `answer.fast` words. Operators other than products,
// convolutions and attention are bounded by their graphs, as above.
void add_devices(report::BoundAnswer& answer, const pebble::Operation& operation, const BoundArguments& arguments,
                 const std::optional<hardware::Accelerator>& accelerator);

}  // namespace cairn::cli
