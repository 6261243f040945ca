// Functions that compute the parts of an Answer.
#pragma once

#include <optional>
#include <string_view>

#include "cairn/bound/answer.h"

namespace cairn::bound {

// Whole words that an amount holds. Errors (core::ConfigurationError) name request.fast: fewer than one, or more than
// can be counted.
pebble::Words whole_words(const Amount& amount, double bytes_per_word);

// Errors (core::ConfigurationError): fewer than one of `what`, as `field` of the request says.
void require_one(std::int64_t count, const char* field, std::string_view what);

// Errors (core::ConfigurationError) name request.devices: fewer than one, or more than collective::k_most_paired.
void require_devices(std::int64_t count);

// What moves through its memory, and how fast it computes with words of the format.
Machine machine_of(const hardware::Accelerator& accelerator, numerics::Format format);

// The links above an accelerator's levels of memory.
void add_levels(Answer& answer, const pebble::Operation& operation, const hardware::Accelerator& accelerator);
void add_levels(Answer& answer, const pebble::NamedCdag& graph, const hardware::Accelerator& accelerator);

// What some device of several must move, and what known algorithms move under the same premises. A device holds its
// accelerator's device memory, or without one `answer.fast` words. Operations of which nothing is known over several
// devices are bounded by their graphs.
void add_devices(Answer& answer, const pebble::Operation& operation, std::int64_t devices,
                 const std::optional<hardware::Accelerator>& accelerator);
// Bounds of a graph on several nodes. Large graphs get no placement (upper bound), for that costs a pass over the graph
// for each node, while lower bounds need one pass in all.
void add_nodes(Answer& answer, const pebble::Cdag& graph, std::int64_t nodes);

// The time that the links of a device take for what it must move. What a device moves passes its links both ways at
// once; of what all nodes receive, the busiest gets its share at least. What enters from slow memory crosses no link
// between nodes.
void add_network(Answer& answer, const Links& links);

}  // namespace cairn::bound
