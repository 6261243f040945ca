#include "cairn/sequence/ring_scores.h"

#include "attention_formula.h"
#include "list_writer.h"

namespace cairn::sequence {
namespace {

Formula ring_scores_formula(const RingScoresShape& shape) {
  Formula formula({{'n', shape.tokens}, {'k', shape.tokens}, {'h', shape.heads}, {'d', shape.head_dim}},
                  k_wire.operand * shape.sequences);
  for (const char* input : {"Q[nhd]", "K[khd]", "V[khd]", "dA[nhd]"}) formula.given(input);
  const AttentionLetters letters{.causal = shape.causal, .scale = attention_scale(shape.head_dim)};
  add_attention(formula, letters);
  add_attention_gradients(formula, letters);
  return formula;
}

class RingScores {
 public:
  RingScores(const Formula& formula, ListWriter& writer)
      : formula_(formula), writer_(writer), queries_{{'n', own(writer.rank())}}, keys_(keys_of(writer.rank())) {}

  RankPass forward() {
    pass_keys("K", "scores");
    writer_.work("softmax", queries_);
    pass_keys("V", "values");
    RankPass pass{.given = writer_.of({"Q"}, queries_), .kept = writer_.of({"Q", "P", "A"}, queries_)};
    take_in(pass.given, writer_.of({"K", "V"}, keys_));
    take_in(pass.kept, writer_.of({"K", "V"}, keys_));
    return pass;
  }

  RankPass backward() {
    pass_keys("V", "weights gradient");
    writer_.work("values gradient", queries_);
    writer_.work("softmax gradient", queries_);
    pass_keys("K", "query gradient");
    writer_.work("keys gradient", queries_);
    const auto gradients_of = [&](std::int64_t rank) { return writer_.of({"dK", "dV"}, keys_of(rank)); };
    writer_.next_stage();
    writer_.reduce_scatter(gradients_of);
    writer_.next_stage();
    writer_.all_gather(gradients_of);
    RankPass pass{.given = writer_.of({"dA"}, queries_), .kept = writer_.of({"dK", "dV"})};
    take_in(pass.kept, writer_.of({"dQ"}, queries_));
    return pass;
  }

 private:
  Range own(std::int64_t rank) const { return share_of(formula_.extent('n'), rank, writer_.count()); }
  Box keys_of(std::int64_t rank) const { return {{'k', own(rank)}}; }

  // Work on own queries and every rank's keys, whose tensor passes by.
  void pass_keys(std::string_view tensor, std::string_view label) {
    for (std::int64_t step = 0; step < writer_.count(); ++step) {
      const Box here = keys_of(writer_.neighbour(-step));
      writer_.work(label, {queries_.front(), here.front()});
      if (step + 1 == writer_.count()) return;
      writer_.hop(writer_.of({tensor}, here), writer_.of({tensor}, keys_of(writer_.neighbour(-step - 1))));
      writer_.next_stage();
    }
  }

  const Formula& formula_;
  ListWriter& writer_;
  Box queries_, keys_;
};

}  // namespace

Sharing share_ring_scores(const RingScoresShape& shape) {
  ask_divisible("tokens", shape.tokens, shape.ranks);
  Sharing sharing{.formula = ring_scores_formula(shape), .results = {"A", "dQ", "dK", "dV"}};
  const Formula& formula = sharing.formula;
  sharing.passes = {
      by_rank(formula, shape.ranks, [&](ListWriter& writer) { return RingScores(formula, writer).forward(); }),
      by_rank(formula, shape.ranks, [&](ListWriter& writer) { return RingScores(formula, writer).backward(); })};
  return sharing;
}

}  // namespace cairn::sequence
