// Graphs of operators that the generators do not make: any number of heads, rows and dimensions.
#pragma once

#include "cairn/pebble/operation.h"

namespace cairn::pebble {

Cdag copies(const Cdag& graph, Words times);
Cdag attention_graph(const AttentionSizes& sizes);  // row by row, as attention_graph(n, d) for one head without a mask
Cdag attention_backward_graph(const AttentionSizes& sizes);  // key row by key row
Cdag embedding_graph(const EmbeddingSizes& sizes);           // token t wants row t modulo the distinct ones
Cdag syrk_graph(Words n, Words m);                           // one running sum for each pair i > j
Cdag star_stencil_graph(const JacobiSizes& sizes);           // a point reads itself and its neighbours inside the grid

}  // namespace cairn::pebble
