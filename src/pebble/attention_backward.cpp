// The derivative of attention, its scores made again from queries and keys:
//   s = q k^T    p = exp(s - L)    dV += p^T dO    dp = dO v^T    ds = p (dp - D)    dQ += ds k    dK += ds^T q
// L (log of the row's sum) and D (row sum of O dO) are two words for each query row, made before.
#include <algorithm>

#include "attention_sizes.h"
#include "cairn/pebble/operation.h"
#include "checked.h"
#include "operation_graphs.h"
#include "paired_rows.h"

namespace cairn::pebble {

namespace {

using loopnest::Affine;
using loopnest::DimId;
using loopnest::Extent;

// The five products, over (b, kv head g, query head h of the group, query q, key k, channel d). Arrays by query row are
// indexed (b, g, h, q, d), by key row (b, g, k, d), pairs (b, g, h, q, k).
enum class Index : std::uint8_t { query_row, key_row, pair };

struct Factor {
  const char* array;
  Index index;
  Role role;
};

Contraction product_of(const AttentionSizes& sizes, const char* name, std::initializer_list<Factor> factors) {
  Contraction part;
  part.name = name;
  const DimId b = part.domain.add("b", Extent::of(sizes.batch));
  const DimId g = part.domain.add("g", Extent::of(sizes.kv_heads));
  const DimId h = part.domain.add("h", Extent::of(sizes.heads / sizes.kv_heads));
  const DimId q = part.domain.add("q", Extent::of(sizes.sequence));
  const DimId k = part.domain.add("k", Extent::of(sizes.sequence));
  const DimId d = part.domain.add("d", Extent::of(sizes.head_dim));
  if (sizes.causal) {
    loopnest::Guard guard;
    guard.terms = {{.dim = q, .stride = 1}, {.dim = k, .stride = -1}};
    part.domain.add_guard(guard);
  }
  const auto at = [](std::initializer_list<DimId> dims) {
    loopnest::Projection projection;
    for (DimId dim : dims) projection.push_back(Affine::of(dim));
    return projection;
  };
  for (const Factor& factor : factors) {
    loopnest::Projection index = at({b, g, h, q, k});
    if (factor.index == Index::query_row) index = at({b, g, h, q, d});
    if (factor.index == Index::key_row) index = at({b, g, k, d});
    part.accesses.push_back({.array = factor.array, .index = index, .role = factor.role});
  }
  return part;
}

// Key rows, their values and both gradients stay, query rows pass by with their dO, two statistics and the running dQ:
//   4 B d  +  3 d + 2  +  6 for one pair on its way (s, p, dp, ds, a new value beside its old one)  <= S
// dQ is loaded and stored once a block, not loaded in the first that touches the row.
constexpr Words k_words_for_one_pair = 6;

constexpr long double k_backward_spread = 72.0L / 5.0L;  // paired_rows.h

std::optional<UpperBound> keys_stay(const AttentionSizes& sizes, Words fast, Sliding sliding) {
  const Words d = sizes.head_dim, group = sizes.heads / sizes.kv_heads, n = sizes.sequence;
  const Words rows = std::min(n, (fast - 3 * d - 2 - k_words_for_one_pair) / (4 * d));
  if (fast < 7 * d + 2 + k_words_for_one_pair || rows < 1) return std::nullopt;
  const Words blocks = ceil_div(n, rows);
  // Query rows that a block of keys meets: all, or from its first key on.
  Words met = blocks * n;
  if (sizes.causal) met -= rows * (blocks * (blocks - 1) / 2);
  const Words heads = sizes.batch * sizes.kv_heads;
  UpperBound upper;
  upper.loads = heads * (2 * n * d + group * (met * (2 * d + 2) + (met - n) * d));
  upper.stores = heads * (2 * n * d + group * met * d);
  upper.words = upper.loads + upper.stores;
  upper.games = GameSet::of({Rules::hong_kung, sliding}) | GameSet::of({Rules::red_blue_white, sliding});
  upper.method = "keys stay: blocks of " + std::to_string(rows) + " key rows, query rows pass by";
  return upper;
}

// Two passes, the scores made again in the second, so that no running sum ever leaves the chip before it is whole:
//   queries stay   R (3 d + 2)  +  2 d  +  6 <= S   Q, dO, dQ and two statistics of R rows; keys and values pass by
//   keys stay      4 B d  +  2 d + 2  +  6 <= S     as above without the running dQ
// 6 n^2 d^2 / S and 8 n^2 d^2 / S for large S, against 16 in one pass.
std::optional<UpperBound> two_passes(const AttentionSizes& sizes, Words fast, Sliding sliding) {
  const Words d = sizes.head_dim, group = sizes.heads / sizes.kv_heads, n = sizes.sequence;
  const Words queries = std::min(n, (fast - 2 * d - k_words_for_one_pair) / (3 * d + 2));
  const Words keys = std::min(n, (fast - 2 * d - 2 - k_words_for_one_pair) / (4 * d));
  if (queries < 1 || keys < 1) return std::nullopt;
  const Words query_blocks = ceil_div(n, queries), key_blocks = ceil_div(n, keys);
  Words keys_met = query_blocks * n, queries_met = key_blocks * n;
  if (sizes.causal) {
    keys_met -= queries * (query_blocks * (query_blocks - 1) / 2);  // the first block of queries is the short one
    queries_met -= keys * (key_blocks * (key_blocks - 1) / 2);
  }
  const Words heads = sizes.batch * sizes.kv_heads;
  UpperBound upper;
  upper.loads = heads * (group * (n * (2 * d + 2) + keys_met * 2 * d) + 2 * n * d + group * queries_met * (2 * d + 2));
  upper.stores = heads * (group * n * d + 2 * n * d);
  upper.words = upper.loads + upper.stores;
  upper.games = GameSet::of({Rules::hong_kung, sliding});
  upper.method = "two passes: blocks of " + std::to_string(queries) + " query rows for dQ, then of " +
                 std::to_string(keys) + " key rows for dK and dV, scores made again";
  return upper;
}

}  // namespace

Operation attention_backward_operation(AttentionSizes sizes) {
  check(sizes, 10);
  Operation operation;
  operation.name = "derivative of attention";
  operation.notes = {"scores made again once, from queries, keys and the logarithm of each row's sum",
                     "one running sum per score and per element of each gradient"};
  using enum Index;
  const Role in = Role::read, made = Role::read_free, used = Role::result_free, out = Role::produce;
  operation.contractions = {product_of(sizes, "scores", {{"Q", query_row, in}, {"K", key_row, in}, {"s", pair, used}}),
                            product_of(sizes, "dV", {{"p", pair, made}, {"dO", query_row, in}, {"dV", key_row, out}}),
                            product_of(sizes, "dP", {{"dO", query_row, in}, {"V", key_row, in}, {"dp", pair, used}}),
                            product_of(sizes, "dQ", {{"ds", pair, made}, {"K", key_row, in}, {"dQ", query_row, out}}),
                            product_of(sizes, "dK", {{"ds", pair, made}, {"Q", query_row, in}, {"dK", key_row, out}})};
  const Words rows = sizes.batch * sizes.heads * sizes.sequence;
  const Words keys = sizes.batch * sizes.kv_heads * sizes.sequence;
  const Contraction& first = operation.contractions.front();
  const Words pairs = first.domain.points(first.domain.box({})) / sizes.head_dim;
  operation.inputs = 2 * rows * sizes.head_dim + 2 * rows + 2 * keys * sizes.head_dim;
  operation.outputs = (rows + 2 * keys) * sizes.head_dim;
  operation.flops =
      pairs * (10 * sizes.head_dim + 4);  // five products; subtraction and exponential, subtraction, product
  operation.max_operands = 3;
  operation.graph = [sizes] { return attention_backward_graph(sizes); };
  // Q, dO and dQ of a query row; K, V, dK and dV of a key row.
  operation.proved.push_back([pairs, d = sizes.head_dim, results = operation.outputs](Words fast) {
    return std::vector{
        paired_rows_bound({.pairs = pairs, .query_words = 3 * d, .key_words = 4 * d, .results = results}, fast)};
  });
  operation.proved.push_back([sizes](Words fast) {
    // A key row meets `group` times as many queries as a query row keys, in each of which dK and dV have a step.
    const Words group = sizes.heads / sizes.kv_heads;
    const auto steps = [&](Words skipped) {
      return pairs_beyond(sizes, skipped) + 2 * pairs_beyond(sizes, ceil_div(skipped, group));
    };
    return std::vector{
        summed_steps_bound({.steps = steps, .width = sizes.head_dim, .spread = k_backward_spread, .sums = 3}, fast)};
  });
  operation.schedules.push_back([sizes](Words fast, Sliding sliding) { return keys_stay(sizes, fast, sliding); });
  operation.schedules.push_back([sizes](Words fast, Sliding sliding) { return two_passes(sizes, fast, sliding); });
  return operation;
}

}  // namespace cairn::pebble
