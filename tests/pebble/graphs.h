// Random graphs and named ones for the tests of this folder.
#pragma once

#include <algorithm>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/pebble/cdag.h"

namespace cairn::pebble::testing {

enum class Labels : std::uint8_t { compulsory, flexible };

struct RandomGraph {
  std::size_t vertices = 8;
  std::size_t max_in_degree = 3;
  Labels labels = Labels::flexible;
  Words max_weight = 1;
};

// Each vertex reads up to max_in_degree earlier ones. compulsory: all sources are inputs, all sinks outputs (and some
// others outputs too); flexible: any source may be an input, any vertex an output, at least one output in all.
inline Cdag random_graph(core::Random& random, const RandomGraph& shape) {
  CdagBuilder builder;
  std::vector<char> has_reader(shape.vertices, 0);
  std::vector<char> is_source(shape.vertices, 0);
  for (std::size_t v = 0; v < shape.vertices; ++v) {
    const Vertex mine =
        builder.vertex(1 + static_cast<Words>(random.below(static_cast<std::uint64_t>(shape.max_weight))));
    const std::size_t reads = v == 0 ? 0 : random.below(std::min(v, shape.max_in_degree) + 1);
    is_source[v] = reads == 0 ? 1 : 0;
    for (std::size_t i = 0; i < reads; ++i) {
      const Vertex from = static_cast<Vertex>(random.below(v));
      builder.edge(from, mine);
      has_reader[from] = 1;
    }
  }
  bool any_output = false;
  for (Vertex v = 0; v < shape.vertices; ++v) {
    const bool fixed = shape.labels == Labels::compulsory;
    if (is_source[v] != 0 && (fixed || random.below(4) != 0)) builder.label_input(v);
    if ((fixed && has_reader[v] == 0) || random.below(4) == 0) {
      builder.label_output(v);
      any_output = true;
    }
  }
  if (!any_output) builder.label_output(static_cast<Vertex>(shape.vertices - 1));
  return builder.build();
}

}  // namespace cairn::pebble::testing
