// `cairn bound --moves` and `--write-moves`: plays of a graph as files.
#pragma once

#include "cairn/bound/answer.h"
#include "cairn/config/sources.h"

namespace cairn::cli {

// The moves of a file; vertices by their names, or by their numbers where the graph has none.
bound::Moves read_moves(const std::string& file, const pebble::NamedCdag& graph);

// The cheapest play of the answer, to a file that is none of those read. Errors (core::ConfigurationError): none was
// written down.
void write_moves(const bound::Answer& answer, const pebble::NamedCdag& graph, const std::string& file,
                 const config::Sources& read);

}  // namespace cairn::cli
