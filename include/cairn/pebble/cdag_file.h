// A CDAG as text, one item per line, '#' starts a comment:
//   v ID [in] [out] [w=WORDS]     a vertex; ID is any word without blanks; weight 1 unless given
//   e FROM TO                     an edge; both vertices must be declared, before or after
// Vertices are numbered in the order of their declarations.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cairn/pebble/cdag.h"

namespace cairn::pebble {

struct NamedCdag {
  Cdag graph;
  std::vector<std::string> names;  // by vertex
};

// Reads the whole stream; `file` only names it in diagnostics (file:line). All errors of the file are raised at once
// (core::ConfigurationError): unknown items or labels, vertices declared twice or never, repeated edges, edges into an
// input, cycles.
NamedCdag read_cdag(std::istream& stream, const std::string& file);

// Writes what read_cdag reads; vertices are named by their ids.
void write_cdag(const Cdag& graph, std::ostream& stream);

}  // namespace cairn::pebble
