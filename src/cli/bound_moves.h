// `cairn bound --moves` and `--write-moves`: plays of a graph as files.
#pragma once

#include "arguments.h"
#include "cairn/config/sources.h"
#include "cairn/pebble/cdag_file.h"
#include "cairn/report/bound.h"

namespace cairn::cli {

// Follows the moves of a file; vertices by their names, or by their numbers where the graph has none.
void verify_moves(report::BoundAnswer& answer, const pebble::NamedCdag& graph, const std::string& file);

// The play that the answer's upper side rests on, to a file that is none of those read. Errors
// (core::ConfigurationError): none was written down.
void write_moves(const report::BoundAnswer& answer, const pebble::NamedCdag& graph, const std::string& file,
                 const config::Sources& read);

}  // namespace cairn::cli
