// InternEvo's ISP. Weights of the next linear come beside the work of the one before, and gradients leave beside the
// work behind them.
#include "block_formula.h"
#include "list_writer.h"

namespace cairn::sequence {
namespace {

using WeightNames = std::vector<std::string_view>;

class SharedWeights {
 public:
  SharedWeights(const Formula& formula, ListWriter& writer)
      : formula_(formula), writer_(writer), tokens_(tokens_of(writer.rank())), heads_(heads_of_rank(writer.rank())) {}

  RankPass forward() {
    gather({"Wq", "Wk", "Wv"});
    writer_.next_stage();
    writer_.work("projection", tokens_);
    writer_.next_stage();
    to_heads({"Q", "K", "V"});
    gather({"Wo"});
    writer_.next_stage();
    for (const char* label : {"scores", "softmax", "values"}) writer_.work(label, heads_);
    writer_.next_stage();
    to_tokens({"A"});
    gather({"W1"});
    writer_.next_stage();
    for (const char* label : {"output", "residual"}) writer_.work(label, tokens_);
    gather({"W2"});
    writer_.work("ffn", tokens_);
    writer_.next_stage();
    for (const char* label : {"ffn output", "ffn residual"}) writer_.work(label, tokens_);
    RankPass pass{.given = writer_.of({"x"}, tokens_), .kept = writer_.of({"x", "y", "u", "H", "Z", "A"}, tokens_)};
    take_in(pass.given, shares_of({"Wq", "Wk", "Wv", "Wo", "W1", "W2"}, writer_.rank()));
    take_in(pass.kept, shares_of({"Wq", "Wk", "Wv", "Wo", "W1", "W2"}, writer_.rank()));
    take_in(pass.kept, writer_.of({"Q", "K", "V", "P"}, heads_));
    return pass;
  }

  RankPass backward() {
    gather({"W2"});
    writer_.next_stage();
    gather({"W1"});
    writer_.work("ffn gradient", tokens_);
    writer_.work("ffn weights", tokens_);
    writer_.next_stage();
    scatter({"dW1", "dW2"});
    gather({"Wo"});
    for (const char* label : {"ffn input gradient", "ffn residual gradient"}) writer_.work(label, tokens_);
    writer_.next_stage();
    for (const char* label : {"output gradient", "output weights"}) writer_.work(label, tokens_);
    writer_.next_stage();
    to_heads({"dA"});
    scatter({"dWo"});
    writer_.next_stage();
    for (const char* label :
         {"weights gradient", "values gradient", "softmax gradient", "query gradient", "keys gradient"})
      writer_.work(label, heads_);
    writer_.next_stage();
    to_tokens({"dQ", "dK", "dV"});
    gather({"Wq", "Wk", "Wv"});
    writer_.next_stage();
    for (const char* label : {"projection weights", "projection gradient", "residual gradient"})
      writer_.work(label, tokens_);
    writer_.next_stage();
    scatter({"dWq", "dWk", "dWv"});
    RankPass pass{.given = writer_.of({"du"}, tokens_), .kept = writer_.of({"dx"}, tokens_)};
    take_in(pass.kept, shares_of({"dWq", "dWk", "dWv", "dWo", "dW1", "dW2"}, writer_.rank()));
    return pass;
  }

 private:
  Range share(char loop, std::int64_t rank) const { return share_of(formula_.extent(loop), rank, writer_.count()); }
  Box tokens_of(std::int64_t rank) const { return {{'n', share('n', rank)}, {'k', share('n', rank)}}; }
  Box heads_of_rank(std::int64_t rank) const { return {{'h', share('h', rank)}}; }
  std::vector<TensorPiece> shares_of(const WeightNames& weights, std::int64_t rank) const {
    return writer_.of(weights, {{'m', share('m', rank)}});
  }

  void gather(const WeightNames& weights) {
    writer_.all_gather([&](std::int64_t rank) { return shares_of(weights, rank); });
  }
  void scatter(const WeightNames& gradients) {
    writer_.reduce_scatter([&](std::int64_t rank) { return shares_of(gradients, rank); });
  }
  // What the owner of some tokens and that of some heads have in common.
  std::vector<TensorPiece> crossing(const WeightNames& tensors, std::int64_t token_owner,
                                    std::int64_t head_owner) const {
    Box box = tokens_of(token_owner);
    box.push_back(heads_of_rank(head_owner).front());
    return writer_.of(tensors, box);
  }
  void to_heads(const WeightNames& tensors) {
    writer_.exchange(collective::Collective::all_to_all, false,
                     [&](std::int64_t source, std::int64_t to) { return crossing(tensors, source, to); });
  }
  void to_tokens(const WeightNames& tensors) {
    writer_.exchange(collective::Collective::all_to_all, false,
                     [&](std::int64_t source, std::int64_t to) { return crossing(tensors, to, source); });
  }

  const Formula& formula_;
  ListWriter& writer_;
  Box tokens_, heads_;
};

}  // namespace

Sharing share_weights(const BlockShape& shape) {
  ask_divisible("tokens", shape.tokens, shape.ranks);
  ask_divisible("heads", shape.heads, shape.ranks);
  ask_divisible("width", shape.width, shape.ranks);
  Sharing sharing{.formula = block_formula(shape), .results = {"u", "dx", "dWq", "dWk", "dWv", "dWo", "dW1", "dW2"}};
  const Formula& formula = sharing.formula;
  sharing.passes = {
      by_rank(formula, shape.ranks, [&](ListWriter& writer) { return SharedWeights(formula, writer).forward(); }),
      by_rank(formula, shape.ranks, [&](ListWriter& writer) { return SharedWeights(formula, writer).backward(); })};
  return sharing;
}

}  // namespace cairn::sequence
