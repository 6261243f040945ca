// The expert part of a block, in three stretches between which tokens travel:
//   route      logits = W_r y; the top k experts of every token; rows of y by expert: R[peer, source, expert, slot]
//   transform  expert by expert W_2 activation(W_1 R)
//   combine    y'[token] = sum over its k rows of weight x row
// or (Kernels::weighted_experts)
//   transform  W_2 (weight x activation(W_1 R)), in one kernel where a gated activation is silu; weights are routed as
//              the rows are
//   combine    y'[token] = sum over its k rows
// With the all-to-all dispatcher, ranks of several experts sort rows by expert, and back, alone as well
// (Kernels::sorts_rows).
// Dispatcher::merged, too, is priced at a token's home as an all-to-all is, a permutation of its k rows out and back,
// although such a library sends from the tokens where they lie: only what travels is merged.
// A row's place says where it comes from: `source` counts the ranks that hold different experts, `peer` those that
// share one. Routing and combining are split by the place of origin, experts by expert and by their inner width, and
// the transfers between follow from that. The first two axes of R never appear in the residual stream: each rank routes
// the tokens it has.
#pragma once

#include <vector>

#include "cairn/ir/narrow.h"
#include "layer.h"

namespace cairn::models {

struct Routed {
  ir::TensorId weights = ir::k_no_tensor;  // of the chosen experts, fp32: by token or, weighted_experts, by row
  ir::TensorId rows = ir::k_no_tensor;     // before and after the experts
};

// What tells where rows come from, and what spreads them over ranks where experts work.
std::vector<ir::Journeys::Origin> row_origins();
Routed append_routing(Layer& layer, ir::TensorId y);
void append_experts(Layer& layer, Routed& routed);
ir::TensorId append_combine(Layer& layer, const Routed& routed);
// Where results stay with their experts, every rank gets the whole residual stream once, behind the embedding.
ir::TensorId append_shared_context(Layer& layer, ir::TensorId x);
// What the routed experts made and what the shared ones made of `y`, together: routed + [sigmoid(w y)] (shared + bias).
ir::TensorId append_shared_sum(Layer& layer, ir::TensorId routed, ir::TensorId y, const Biased& shared);

}  // namespace cairn::models
