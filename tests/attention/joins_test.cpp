// What joining the tiles of a shared attention reads and writes, by hand: 1,024 tokens, 4 heads of 16.
#include <string_view>

#include "cairn/attention/layer.h"
#include "cairn/plan/layer.h"
#include "cairn/sequence/scheme.h"
#include "catch.h"

using namespace cairn;

namespace {

struct Joined {
  double bytes = 0.0;
  int kernels = 0;
};

Joined joined(const program::Block& block) {
  Joined sum;
  for (const program::Step& step : block.steps) {
    if (step.work < 0) continue;
    const auto* shard = std::get_if<ir::Shard>(&block.works[static_cast<std::size_t>(step.work)]);
    if (shard == nullptr || !std::string_view(shard->op->name).starts_with("attention.join")) continue;
    sum.bytes += ir::bytes(*shard);
    ++sum.kernels;
  }
  return sum;
}

struct Passes {
  Joined forward;
  Joined backward;
};

Passes passes(const char* name, std::int64_t ranks, bool causal, bool eager) {
  const ir::LayerClass layer =
      attention::attention_layer({.heads = 4, .kv_heads = 4, .head_dim = 16, .causal = causal});
  const sequence::Scheme& scheme = sequence::scheme(name);
  plan::LayerOptions options;
  options.sizes = {.batch = 1, .sequence = 1024 / ranks};
  options.context = {.group = {.axis = program::Axis::context, .size = ranks},
                     .sharing = {.scheme = &scheme, .grid = scheme.grids(ranks).front()}};
  options.behaviour.eager_joins = eager;
  const plan::LayerLowering lowering(layer, std::move(options));
  return {.forward = joined(lowering.forward()), .backward = joined(lowering.backward())};
}

}  // namespace

// Four ranks, each with 256 tokens, 16,384 elements of Q; every tile is of all of them.
TEST_CASE("joins of whole tiles: one pass, or an operation a kernel", "[attention]") {
  constexpr double k_elements = 256 * 4 * 16, k_rows = 256 * 4;
  // Three tiles join: 2 bytes read of each, 4 read and 4 written of the part.
  const Passes fused = passes("ring", 4, false, false);
  CHECK(fused.forward.bytes == 3 * 10 * k_elements);
  CHECK(fused.forward.kernels == 3);
  // dQ, dK and dV each.
  CHECK(fused.backward.bytes == 3 * 10 * 3 * k_elements);
  CHECK(fused.backward.kernels == 3);
  // Four widened; of three difference, product and sum, beside five kernels over numbers of rows: three of two numbers,
  // two of one; the end narrowed.
  const Passes eager = passes("ring", 4, false, true);
  CHECK(eager.forward.bytes == (4 * 6 + 3 * (12 + 8 + 12) + 6) * k_elements + 3 * (3 * 12 + 2 * 8) * k_rows);
  CHECK(eager.forward.kernels == 4 + 3 * (3 + 5) + 1);
  CHECK(eager.backward.bytes == fused.backward.bytes);
  CHECK(eager.backward.kernels == 3);
}

// Two ranks: 0 has chunks 0 and 3 of four, 1 the others. Of the keys of rank 1 chunk 3 alone sees any, and sees all;
// the queries of rank 1 all see chunk 0. Both ranks compute as many pairs, so the one that joins more stands for both:
// forward rank 1, all of whose rows are joined; backward rank 0, half of whose dQ and all of whose dK, dV are, against
// all and half.
TEST_CASE("joins of half a rank's rows put these back", "[attention]") {
  constexpr double k_elements = 512 * 4 * 16, k_half = k_elements / 2, k_rows = 512 * 4;
  const Passes fused = passes("zigzag", 2, true, false);
  CHECK(fused.forward.bytes == 10 * k_elements);
  CHECK(fused.backward.bytes == 10 * (k_half + 2 * k_elements));
  const Passes eager = passes("zigzag", 2, true, true);
  CHECK(eager.forward.bytes == (6 + (6 + 12 + 8 + 12) + 6) * k_elements + (3 * 12 + 2 * 8) * k_rows);
  // dQ is read and written whole.
  CHECK(eager.backward.bytes == fused.backward.bytes + 8 * k_elements);
}

TEST_CASE("where nothing is joined eager joins change nothing", "[attention]") {
  for (const char* scheme : {"all-gather", "ulysses"}) {
    const Passes eager = passes(scheme, 4, false, true);
    CHECK(eager.forward.kernels == 0);
    CHECK(eager.backward.kernels == 0);
  }
}
