#include "cairn/sequence/decode.h"

#include <algorithm>

#include "attention_formula.h"
#include "cairn/core/diagnostics.h"
#include "list_writer.h"

namespace cairn::sequence {
namespace {

constexpr std::string_view k_local = "local attention";

// Loops: g key heads; r rows of one, which are its query heads of all queries; c ranks' shares of the keys; k keys of
// one, n of all; d.
Formula decode_notation(const DecodeShape& shape) {
  Formula formula({{'g', shape.kv_heads},
                   {'r', shape.group * shape.queries},
                   {'c', shape.ranks},
                   {'k', shape.tokens / shape.ranks},
                   {'n', shape.tokens},
                   {'d', shape.head_dim}},
                  k_wire.operand * shape.sequences);
  return formula;
}

Formula plain_decoding(const DecodeShape& shape) {
  Formula formula = decode_notation(shape);
  for (const char* input : {"Q[grd]", "K[ngd]", "V[ngd]"}) formula.given(input);
  formula.result("X[gr]", formula.bytes_of_element(), Meeting::largest);
  const Terms scaled{.scale = attention_scale(shape.head_dim)};
  formula.add(k_local, Kernel::product, "S[grn]", {"Q[grd]", "K[ngd]"}, scaled);
  formula.add(k_local, Kernel::product, "X[gr]", {"S[grn]"});
  formula.add(k_local, Kernel::exp_difference, "E[grn]", {"S[grn]", "X[gr]"});
  formula.add(k_local, Kernel::product, "D[gr]", {"E[grn]"});
  formula.add(k_local, Kernel::ratio, "P[grn]", {"E[grn]", "D[gr]"});
  formula.add(k_local, Kernel::product, "O[grd]", {"P[grn]", "V[ngd]"});
  return formula;
}

// The attention B of every share of the keys, and its log-sum-exp L.
Formula local_decoding(const DecodeShape& shape) {
  Formula formula = decode_notation(shape);
  for (const char* input : {"Q[grd]", "K[ckgd]", "V[ckgd]"}) formula.given(input);
  formula.result("X[grc]", formula.bytes_of_element(), Meeting::largest);
  const Terms scaled{.scale = attention_scale(shape.head_dim)};
  formula.add(k_local, Kernel::product, "S[grck]", {"Q[grd]", "K[ckgd]"}, scaled);
  formula.add(k_local, Kernel::product, "X[grc]", {"S[grck]"});
  formula.add(k_local, Kernel::exp_difference, "E[grck]", {"S[grck]", "X[grc]"});
  formula.add(k_local, Kernel::product, "Z[grc]", {"E[grck]"});
  formula.add(k_local, Kernel::product, "U[grcd]", {"E[grck]", "V[ckgd]"});
  formula.add(k_local, Kernel::ratio, "B[grcd]", {"U[grcd]", "Z[grc]"});
  formula.add(k_local, Kernel::plus_log, "L[grc]", {"X[grc]", "Z[grc]"});
  return formula;
}

Formula summed_decoding(const DecodeShape& shape) {
  Formula formula = local_decoding(shape);
  formula.result("M[gr]", k_wire.statistic * shape.sequences, Meeting::largest);
  formula.result("D[gr]", k_wire.statistic * shape.sequences);
  formula.add("largest", Kernel::product, "M[gr]", {"L[grc]"});
  formula.add("parts", Kernel::exp_difference, "W[grc]", {"L[grc]", "M[gr]"});
  formula.add("parts", Kernel::product, "N[grd]", {"W[grc]", "B[grcd]"});
  formula.add("parts", Kernel::product, "D[gr]", {"W[grc]"});
  formula.add("output", Kernel::ratio, "O[grd]", {"N[grd]", "D[gr]"});
  return formula;
}

Formula merged_decoding(const DecodeShape& shape) {
  Formula formula = local_decoding(shape);
  formula.result("R[grd]", formula.bytes_of_element(), Meeting::softmax, k_wire.statistic * shape.sequences);
  formula.add("merge", Kernel::weighted, "R[grd]", {"B[grcd]", "L[grc]"});
  formula.add("output", Kernel::product, "O[grd]", {"R[grd]"});
  return formula;
}

Sharing decode_sharing(const DecodeShape& shape, Formula (*formula)(const DecodeShape&)) {
  ask_divisible("tokens", shape.tokens, shape.ranks);
  return {.formula = formula(shape), .plain = plain_decoding(shape), .results = {"O"}};
}

Box share_of_keys(std::int64_t rank) { return {{'c', {.first = rank, .count = 1}}}; }

RankPass decode_pass(const ListWriter& writer) {
  RankPass pass{.given = writer.of({"K", "V"}, share_of_keys(writer.rank())), .kept = writer.of({"O"})};
  take_in(pass.given, writer.of({"Q"}));
  return pass;
}

// Rows of all heads by ranks: along that of their two loops which is shared evenly, or the longer.
Box rows_of(const Formula& formula, std::int64_t rank, std::int64_t ranks) {
  const std::int64_t heads = formula.extent('g'), rows = formula.extent('r');
  const bool by_heads = heads % ranks == 0 || (rows % ranks != 0 && heads >= rows);
  return {{by_heads ? 'g' : 'r', share_of(by_heads ? heads : rows, rank, ranks)}};
}

class DecodingTree {
 public:
  // Throws where `parents` is no tree.
  explicit DecodingTree(const std::vector<std::int64_t>& parents) : parents_(parents) {
    const auto ranks = static_cast<std::int64_t>(parents.size());
    const auto is_rank = [&](std::int64_t parent) { return parent >= -1 && parent < ranks; };
    bool tree =
        std::count(parents.begin(), parents.end(), -1) == 1 && std::all_of(parents.begin(), parents.end(), is_rank);
    for (std::int64_t rank = 0; tree && rank < ranks; ++rank) {
      depths_.push_back(depth_of(rank));
      tree = depths_.back() < ranks;
    }
    if (!tree)
      throw core::ConfigurationError("parents", "they are no tree of the ranks", "name one root and no cycles");
  }

  std::int64_t parent(std::int64_t rank) const { return parents_[static_cast<std::size_t>(rank)]; }
  std::int64_t depth(std::int64_t rank) const { return depths_[static_cast<std::size_t>(rank)]; }
  std::int64_t deepest() const { return *std::max_element(depths_.begin(), depths_.end()); }
  // visit(child)
  template <class Visit>
  void for_children(std::int64_t rank, Visit&& visit) const {
    for (std::size_t child = 0; child < parents_.size(); ++child)
      if (parents_[child] == rank) visit(static_cast<std::int64_t>(child));
  }

 private:
  // As many as there are ranks, or more, in a cycle.
  std::int64_t depth_of(std::int64_t rank) const {
    std::int64_t depth = 0;
    while (parent(rank) >= 0 && depth < static_cast<std::int64_t>(parents_.size())) {
      rank = parent(rank);
      ++depth;
    }
    return depth;
  }

  std::vector<std::int64_t> parents_;
  std::vector<std::int64_t> depths_;
};

// Parts go up, from the deepest ranks first, then O comes down.
RankPass merge_along(const DecodingTree& tree, ListWriter& writer) {
  const std::int64_t rank = writer.rank(), depth = tree.depth(rank);
  const std::vector<TensorPiece> part = writer.of({"R"}), output = writer.of({"O"});
  writer.work(k_local, share_of_keys(rank));
  writer.work("merge", share_of_keys(rank));
  for (std::int64_t level = tree.deepest(); level > 0; --level) {
    writer.next_stage();
    if (depth == level) writer.send(tree.parent(rank), part, true);
    if (depth + 1 == level) tree.for_children(rank, [&](std::int64_t child) { writer.receive(child, part, true); });
  }
  writer.next_stage();
  if (depth == 0) writer.work("output");
  for (std::int64_t level = 0; level < tree.deepest(); ++level) {
    writer.next_stage();
    if (depth == level) tree.for_children(rank, [&](std::int64_t child) { writer.send(child, output); });
    if (depth == level + 1) writer.receive(tree.parent(rank), output);
  }
  return decode_pass(writer);
}

RankPass sum_up(const Formula& formula, ListWriter& writer) {
  const auto all_reduce = [&](const std::vector<std::string_view>& tensors) {
    const auto shares = [&](std::int64_t rank) { return writer.of(tensors, rows_of(formula, rank, writer.count())); };
    writer.next_stage();
    writer.reduce_scatter(shares);
    writer.next_stage();
    writer.all_gather(shares);
    writer.next_stage();
  };
  writer.work(k_local, share_of_keys(writer.rank()));
  writer.work("largest", share_of_keys(writer.rank()));
  all_reduce({"M"});
  writer.work("parts", share_of_keys(writer.rank()));
  all_reduce({"N", "D"});
  writer.work("output");
  return decode_pass(writer);
}

RankPass decode_in_ring(ListWriter& writer) {
  for (std::int64_t step = 0; step < writer.count(); ++step) {
    const Box here = share_of_keys(writer.neighbour(-step));
    writer.work(k_local, here);
    writer.work("merge", here);
    if (step + 1 == writer.count()) break;
    writer.hop(writer.of({"K", "V"}, here), writer.of({"K", "V"}, share_of_keys(writer.neighbour(-step - 1))));
    writer.next_stage();
  }
  writer.work("output");
  return decode_pass(writer);
}

}  // namespace

Sharing share_tree_attention(const DecodeShape& shape) {
  Sharing sharing = decode_sharing(shape, summed_decoding);
  sharing.passes = {
      by_rank(sharing.formula, shape.ranks, [&](ListWriter& writer) { return sum_up(sharing.formula, writer); })};
  return sharing;
}

Sharing share_tree_merging(const DecodeShape& shape, const std::vector<std::int64_t>& parents) {
  Sharing sharing = decode_sharing(shape, merged_decoding);
  const DecodingTree tree(parents);
  if (static_cast<std::int64_t>(parents.size()) != shape.ranks)
    throw core::ConfigurationError("parents", "they are not of all ranks", "name a parent of every rank");
  sharing.passes = {
      by_rank(sharing.formula, shape.ranks, [&](ListWriter& writer) { return merge_along(tree, writer); })};
  return sharing;
}

Sharing share_ring_decoding(const DecodeShape& shape) {
  Sharing sharing = decode_sharing(shape, merged_decoding);
  sharing.passes = {by_rank(sharing.formula, shape.ranks, [](ListWriter& writer) { return decode_in_ring(writer); })};
  return sharing;
}

std::vector<std::int64_t> binomial_parents(std::int64_t ranks) {
  std::vector<std::int64_t> parents;
  for (std::int64_t rank = 0; rank < ranks; ++rank) parents.push_back(rank == 0 ? -1 : rank & (rank - 1));
  return parents;
}

}  // namespace cairn::sequence
