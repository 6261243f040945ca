// Attention, convolution, row-wise and streaming operators.
#include <algorithm>
#include <bit>
#include <cmath>

#include "attention_sizes.h"
#include "cairn/pebble/contraction_graph.h"
#include "cairn/pebble/generators.h"
#include "cairn/pebble/operation.h"
#include "checked.h"
#include "operation_graphs.h"
#include "paired_rows.h"
#include "stationary_schedules.h"

namespace cairn::pebble {

namespace {

using loopnest::Affine;
using loopnest::DimId;
using loopnest::Extent;
using loopnest::Projection;
using loopnest::projection_of;

constexpr GameSet sliding_games() {
  return GameSet::of({Rules::hong_kung, Sliding::allowed}) | GameSet::of({Rules::red_blue_white, Sliding::allowed});
}
constexpr GameSet games_with(Sliding sliding) {
  return sliding == Sliding::allowed ? sliding_games() : GameSet::plain();
}

UpperBound schedule_cost(Words loads, Words stores, GameSet games, std::string method) {
  UpperBound upper;
  upper.loads = loads;
  upper.stores = stores;
  upper.words = loads + stores;
  upper.games = games;
  upper.method = std::move(method);
  return upper;
}

// The two products of attention. Loops: b, kv head g, query q of any head of the group, key k, channel d.
struct AttentionLoops {
  DimId b, g, h, q, k, d;
};

AttentionLoops add_attention_loops(loopnest::Domain& domain, const AttentionSizes& sizes) {
  AttentionLoops loops{};
  loops.b = domain.add("b", Extent::of(sizes.batch));
  loops.g = domain.add("g", Extent::of(sizes.kv_heads));
  loops.h = domain.add("h", Extent::of(sizes.heads / sizes.kv_heads));
  loops.q = domain.add("q", Extent::of(sizes.sequence));
  loops.k = domain.add("k", Extent::of(sizes.sequence));
  loops.d = domain.add("d", Extent::of(sizes.head_dim));
  if (sizes.causal) {
    loopnest::Guard guard;
    guard.terms = {{.dim = loops.q, .stride = 1}, {.dim = loops.k, .stride = -1}};
    domain.add_guard(guard);
  }
  return loops;
}

Contraction score_product(const AttentionSizes& sizes) {
  Contraction part;
  part.name = "scores";
  const AttentionLoops l = add_attention_loops(part.domain, sizes);
  part.accesses = {{.array = "Q", .index = projection_of({l.b, l.g, l.h, l.q, l.d}), .role = Role::read},
                   {.array = "K", .index = projection_of({l.b, l.g, l.k, l.d}), .role = Role::read},
                   {.array = "scores", .index = projection_of({l.b, l.g, l.h, l.q, l.k}), .role = Role::result_free}};
  return part;
}

Contraction value_product(const AttentionSizes& sizes) {
  Contraction part;
  part.name = "values";
  const AttentionLoops l = add_attention_loops(part.domain, sizes);
  part.accesses = {
      {.array = "probabilities", .index = projection_of({l.b, l.g, l.h, l.q, l.k}), .role = Role::read_free},
      {.array = "V", .index = projection_of({l.b, l.g, l.k, l.d}), .role = Role::read},
      {.array = "O", .index = projection_of({l.b, l.g, l.h, l.q, l.d}), .role = Role::produce}};
  return part;
}

// Rows of Q and their sums stay, keys and values pass by. For each block of `rows` query rows: 2 rows d words of Q and
// O, two words per row for the sum and a maximum, a row of K and of V, and four for a score on its way (online: score
// or weight, new maximum, scale, and a new value beside its old one).
constexpr Words k_words_for_one_score = 4;

std::optional<UpperBound> attention_rows_stay(const AttentionSizes& sizes, Words fast, Sliding sliding) {
  const Words d = sizes.head_dim, group = sizes.heads / sizes.kv_heads;
  const Words all_rows = group * sizes.sequence;  // query rows that share the keys of one kv head
  const Words rows = std::min(all_rows, (fast - 2 * d - k_words_for_one_score) / (2 * d + 2));
  if (rows < 1) return std::nullopt;
  Words keys = 0;  // rows of K read, for one kv head
  if (!sizes.causal) {
    keys = ceil_div(all_rows, rows) * sizes.sequence;
  } else {
    // Blocks take the rows in the order of their query, all heads of the group together; a block reads the keys up to
    // its last query. The first block is the one that may be short, since it reads the fewest.
    const Words blocks = ceil_div(all_rows, rows);
    if (blocks > k_max_words / sizes.sequence) return std::nullopt;
    for (Words block = 0; block < blocks; ++block) keys += ceil_div(all_rows - block * rows, group);
  }
  const Words per_head = all_rows * d + 2 * keys * d;
  const Words heads = sizes.batch * sizes.kv_heads;
  return schedule_cost(heads * per_head, heads * all_rows * d, games_with(sliding),
                       "rows stay: blocks of " + std::to_string(rows) + " query rows, keys and values pass by");
}

// n words wanted again after their sum: those that do not fit beside the sum and the result in the making move once
// more.
//   sliding: n + 1 - S, otherwise n + 2 - S, at least 0
Words unkept(Words columns, Words fast, Sliding sliding) {
  return std::max<Words>(0, columns + (sliding == Sliding::allowed ? 1 : 2) - fast);
}

}  // namespace

void check(const AttentionSizes& sizes, Words flops_per_pair) {
  product({sizes.batch, sizes.heads, sizes.sequence, sizes.sequence, sizes.head_dim, flops_per_pair});
  if (sizes.kv_heads < 1 || sizes.heads % sizes.kv_heads != 0)
    throw core::ConfigurationError(
        "attention.kv_heads",
        std::to_string(sizes.heads) + " heads cannot share " + std::to_string(sizes.kv_heads) + " key heads evenly",
        "give a divisor of the heads");
}

Operation attention_operation(AttentionSizes sizes) {
  check(sizes, 4);
  Operation operation;
  operation.name = "attention";
  operation.notes = {sizes.online
                         ? "softmax with a running maximum; one running sum per score and per output element"
                         : "softmax without a running maximum; one running sum per score and per output element",
                     "one head width for queries, keys and values"};
  operation.contractions = {score_product(sizes), value_product(sizes)};
  const Words row_words = sizes.batch * sizes.sequence * sizes.head_dim;
  operation.inputs = row_words * (sizes.heads + 2 * sizes.kv_heads);
  operation.outputs = row_words * sizes.heads;
  const Words pairs =
      operation.contractions.front().domain.points(operation.contractions.front().domain.box({})) / sizes.head_dim;
  operation.flops =
      4 * pairs * sizes.head_dim + 2 * pairs + operation.outputs;  // products; exponentials, sums; divisions
  operation.max_operands = sizes.head_dim > 1 || sizes.sequence > 1 ? 3 : 2;
  if (sizes.online) {
    operation.flops += pairs * (sizes.head_dim + 3);  // outputs and sum scaled; maximum, second exponential
    if (sizes.sequence > 1) operation.max_operands = 4;
  }
  operation.graph = [sizes] { return attention_graph(sizes); };
  operation.proved.push_back([pairs, d = sizes.head_dim, results = operation.outputs](Words fast) {
    return std::vector{
        paired_rows_bound({.pairs = pairs, .query_words = 2 * d, .key_words = 2 * d, .results = results}, fast)};
  });
  operation.proved.push_back([sizes](Words fast) {
    const auto steps = [&](Words skipped) { return pairs_beyond(sizes, skipped); };
    return std::vector{summed_steps_bound({.steps = steps, .width = sizes.head_dim}, fast)};
  });
  operation.schedules.push_back(
      [sizes](Words fast, Sliding sliding) { return attention_rows_stay(sizes, fast, sliding); });
  operation.over_devices = [sizes](double devices, double /*memory*/) {
    return attention_over_devices({.tokens = static_cast<double>(sizes.sequence),
                                   .width = static_cast<double>(sizes.heads * sizes.head_dim),
                                   .kv_width = static_cast<double>(sizes.kv_heads * sizes.head_dim),
                                   .devices = devices,
                                   .sequences = sizes.batch},
                                  sizes.causal);
  };
  return operation;
}

Operation conv2d_operation(ConvSizes sizes) {
  product({sizes.batch, sizes.in_channels, sizes.out_channels, sizes.height, sizes.width, sizes.filter_height,
           sizes.filter_width, sizes.stride, 4});
  Operation operation;
  operation.name = "2-d convolution";
  operation.notes = {"valid positions only: the input holds every element that a filter touches"};
  Contraction part;
  part.name = "conv2d";
  const DimId b = part.domain.add("b", Extent::of(sizes.batch));
  const DimId co = part.domain.add("co", Extent::of(sizes.out_channels));
  const DimId ci = part.domain.add("ci", Extent::of(sizes.in_channels));
  const DimId y = part.domain.add("h", Extent::of(sizes.height));
  const DimId x = part.domain.add("w", Extent::of(sizes.width));
  const DimId r = part.domain.add("r", Extent::of(sizes.filter_height));
  const DimId s = part.domain.add("s", Extent::of(sizes.filter_width));
  const auto sliding_index = [&](DimId out, DimId tap) {
    Affine form;
    form.terms = {{.dim = out, .stride = static_cast<std::int32_t>(sizes.stride)}, {.dim = tap, .stride = 1}};
    return form;
  };
  Projection image = projection_of({b, ci});
  image.push_back(sliding_index(y, r));
  image.push_back(sliding_index(x, s));
  part.accesses = {{.array = "image", .index = image, .role = Role::read},
                   {.array = "filter", .index = projection_of({co, ci, r, s}), .role = Role::read},
                   {.array = "output", .index = projection_of({b, co, y, x}), .role = Role::produce}};
  operation.inputs = footprint(part, part.accesses[0]) + footprint(part, part.accesses[1]);
  operation.outputs = footprint(part, part.accesses[2]);
  const Words products = sizes.in_channels * sizes.filter_height * sizes.filter_width;  // of one result
  operation.flops = 2 * operation.outputs * products;
  operation.max_operands = products > 1 ? 3 : 2;
  operation.graph = [part] { return contraction_graph(part, program_order(part)); };
  operation.schedules.push_back([sizes](Words fast, Sliding sliding) { return conv2d_schedule(sizes, fast, sliding); });
  operation.contractions = {std::move(part)};
  return operation;
}

Operation embedding_operation(EmbeddingSizes sizes) {
  product({sizes.tokens, sizes.width, 4});
  product({sizes.distinct_rows, sizes.width, 4});
  if (sizes.distinct_rows > sizes.tokens)
    throw core::ConfigurationError("embedding.distinct_rows", "more distinct rows than tokens",
                                   "give at most one per token");
  Operation operation;
  operation.name = "embedding";
  operation.inputs = sizes.tokens + sizes.distinct_rows * sizes.width;
  operation.outputs = sizes.tokens * sizes.width;
  operation.max_operands = 2;
  operation.graph = [sizes] { return embedding_graph(sizes); };
  // In the order of the tokens every row is read anew.
  operation.schedules.push_back([sizes](Words fast, Sliding) -> std::optional<UpperBound> {
    if (fast < 3) return std::nullopt;
    return schedule_cost(sizes.tokens + sizes.tokens * sizes.width, sizes.tokens * sizes.width, GameSet::all(),
                         "in the order of the tokens");
  });
  // Sorted by id each word of a distinct row is read once and copied to every token that wants it; the ids of a row's
  // tokens stay meanwhile, unless they are read again for each word: all at once when they fit.
  operation.schedules.push_back([sizes](Words fast, Sliding) -> std::optional<UpperBound> {
    if (fast < sizes.tokens + 2) return std::nullopt;
    return schedule_cost(sizes.tokens + sizes.distinct_rows * sizes.width, sizes.tokens * sizes.width, GameSet::all(),
                         "tokens sorted by id");
  });
  return operation;
}

// After the sum of a row is made and while its first quotient is made, fast memory holds the sum, that quotient and
// (without sliding) its exponential; of the other n - 1 exponentials at most S - 3 (sliding: S - 2) are there, each of
// the rest costs a load and, unless it is made again from its input at the price of a load, a store.
Operation softmax_operation(Words rows, Words columns) {
  product({rows, columns, 8});
  Operation operation;
  operation.name = "softmax";
  operation.notes = {"no maximum taken; the exponentials are values of their own"};
  operation.inputs = operation.outputs = rows * columns;
  operation.flops = rows * (3 * columns - 1);  // exponentials, sum, quotients
  operation.max_operands = columns > 1 ? 2 : 1;
  operation.graph = [rows, columns] { return copies(softmax_graph(static_cast<int>(columns)), rows); };
  if (columns < 2) return operation;
  const auto cost = [rows, columns](Words fast, Game game) {
    const Words again = unkept(columns, fast, game.sliding);
    return rows * (2 * columns + (game.rules == Rules::red_blue_white ? 2 : 1) * again);
  };
  operation.proved.push_back([cost, rows, columns](Words fast) {
    std::vector<LowerBound> bounds;
    for (Game game : k_all_games) {
      LowerBound bound;
      bound.words = cost(fast, game);
      bound.games = GameSet::of(game);
      bound.method = "row by row: exponentials that do not fit beside the sum";
      bound.parts = {{.what = "inputs and outputs", .words = 2 * rows * columns},
                     {.what = "exponentials moved again", .words = bound.words - 2 * rows * columns}};
      bounds.push_back(std::move(bound));
    }
    return bounds;
  });
  operation.schedules.push_back([cost, rows, columns](Words fast, Sliding sliding) -> std::optional<UpperBound> {
    if (fast < (sliding == Sliding::allowed ? 2 : 3)) return std::nullopt;
    const Words words = cost(fast, {Rules::red_blue_white, sliding});
    const Words again = (words - 2 * rows * columns) / 2;
    return schedule_cost(rows * columns + again, rows * columns + again, games_with(sliding),
                         "row by row, exponentials that do not fit stored and loaded");
  });
  operation.schedules.push_back([cost, rows, columns](Words fast, Sliding sliding) -> std::optional<UpperBound> {
    if (fast < (sliding == Sliding::allowed ? 2 : 3)) return std::nullopt;
    const Words words = cost(fast, {Rules::hong_kung, sliding});
    return schedule_cost(words - rows * columns, rows * columns, GameSet::of({Rules::hong_kung, sliding}),
                         "row by row, exponentials that do not fit made again");
  });
  return operation;
}

Operation reduce_broadcast_operation(Words rows, Words columns) {
  product({rows, columns, 8});
  Operation operation;
  operation.name = "row sum and broadcast";
  operation.inputs = operation.outputs = rows * columns;
  operation.flops = rows * (2 * columns - 1);
  operation.max_operands = columns > 1 ? 2 : 1;
  operation.graph = [rows, columns] { return copies(reduce_broadcast_graph(static_cast<int>(columns)), rows); };
  if (columns < 2) return operation;
  const auto cost = [rows, columns](Words fast, Sliding sliding) {
    return rows * (2 * columns + unkept(columns, fast, sliding));
  };
  operation.proved.push_back([cost, rows, columns](Words fast) {
    std::vector<LowerBound> bounds;
    for (Game game : k_all_games) {
      LowerBound bound;
      bound.words = cost(fast, game.sliding);
      bound.games = GameSet::of(game);
      bound.method = "row by row: inputs that do not fit beside the sum";
      bound.parts = {{.what = "inputs and outputs", .words = 2 * rows * columns},
                     {.what = "inputs loaded again", .words = bound.words - 2 * rows * columns}};
      bounds.push_back(std::move(bound));
    }
    return bounds;
  });
  operation.schedules.push_back([cost, rows, columns](Words fast, Sliding sliding) -> std::optional<UpperBound> {
    if (fast < (sliding == Sliding::allowed ? 2 : 3)) return std::nullopt;
    return schedule_cost(cost(fast, sliding) - rows * columns, rows * columns, games_with(sliding),
                         "row by row, inputs that do not fit loaded twice");
  });
  return operation;
}

}  // namespace cairn::pebble
