// Megatron's sequence parallelism.
#include "block_formula.h"
#include "list_writer.h"

namespace cairn::sequence {
namespace {

class SharedColumns {
 public:
  SharedColumns(const Formula& formula, ListWriter& writer, KeptInput kept)
      : formula_(formula), writer_(writer), kept_(kept), tokens_(tokens_of(writer.rank())) {
    const auto own = [&](char loop) { return share_of(formula.extent(loop), writer.rank(), writer.count()); };
    columns_ = {{'h', own('h')}, {'f', own('f')}};
  }

  RankPass forward() {
    gather({"x"});
    for (const char* label : {"projection", "scores", "softmax", "values", "output"}) writer_.work(label, columns_);
    scatter("y");
    writer_.work("residual", tokens_);
    writer_.next_stage();
    gather({"y"});
    for (const char* label : {"ffn", "ffn output"}) writer_.work(label, columns_);
    scatter("u");
    writer_.work("ffn residual", tokens_);
    RankPass pass{.given = writer_.of({"x"}, tokens_), .kept = writer_.of({"u"}, tokens_)};
    take_in(pass.given, writer_.of(k_column_weights, columns_));
    take_in(pass.kept, writer_.of(k_column_weights, columns_));
    take_in(pass.kept, writer_.of({"x", "y"}, kept_ == KeptInput::whole ? Box{} : tokens_));
    take_in(pass.kept, writer_.of({"Q", "K", "V", "P", "A", "H", "Z"}, columns_));
    return pass;
  }

  RankPass backward() {
    const bool again = kept_ == KeptInput::share;
    gather({"du"});
    if (again) gather_beside("y");
    writer_.work("ffn gradient", columns_);
    next_after_gathering(again);
    for (const char* label : {"ffn weights", "ffn input gradient"}) writer_.work(label, columns_);
    scatter("dy");
    writer_.work("ffn residual gradient", tokens_);
    writer_.next_stage();
    gather({"dy"});
    if (again) gather_beside("x");
    for (const char* label : {"output gradient", "output weights", "weights gradient", "values gradient",
                              "softmax gradient", "query gradient", "keys gradient"})
      writer_.work(label, columns_);
    next_after_gathering(again);
    for (const char* label : {"projection weights", "projection gradient"}) writer_.work(label, columns_);
    scatter("dx");
    writer_.work("residual gradient", tokens_);
    RankPass pass{.given = writer_.of({"du"}, tokens_), .kept = writer_.of({"dx"}, tokens_)};
    take_in(pass.kept, writer_.of({"dWq", "dWk", "dWv", "dWo", "dW1", "dW2"}, columns_));
    return pass;
  }

 private:
  inline static const std::vector<std::string_view> k_column_weights = {"Wq", "Wk", "Wv", "Wo", "W1", "W2"};

  Box tokens_of(std::int64_t rank) const { return {{'n', share_of(formula_.extent('n'), rank, writer_.count())}}; }

  void gather_beside(std::string_view tensor) {
    writer_.all_gather([&](std::int64_t rank) { return writer_.of({tensor}, tokens_of(rank)); });
  }
  void gather(const std::vector<std::string_view>& tensors) {
    for (const std::string_view tensor : tensors) gather_beside(tensor);
    writer_.next_stage();
  }
  // The input comes again beside the work that does not need it.
  void next_after_gathering(bool again) {
    if (again) writer_.next_stage();
  }
  void scatter(std::string_view tensor) {
    writer_.next_stage();
    writer_.reduce_scatter([&](std::int64_t rank) { return writer_.of({tensor}, tokens_of(rank)); });
    writer_.next_stage();
  }

  const Formula& formula_;
  ListWriter& writer_;
  KeptInput kept_;
  Box tokens_, columns_;
};

}  // namespace

Sharing share_columns(const BlockShape& shape, KeptInput kept) {
  ask_divisible("tokens", shape.tokens, shape.ranks);
  ask_divisible("heads", shape.heads, shape.ranks);
  ask_divisible("ffn", shape.ffn, shape.ranks);
  Sharing sharing{.formula = block_formula(shape), .results = {"u", "dx", "dWq", "dWk", "dWv", "dWo", "dW1", "dW2"}};
  const Formula& formula = sharing.formula;
  sharing.passes = {
      by_rank(formula, shape.ranks, [&](ListWriter& w) { return SharedColumns(formula, w, kept).forward(); }),
      by_rank(formula, shape.ranks, [&](ListWriter& w) { return SharedColumns(formula, w, kept).backward(); })};
  return sharing;
}

}  // namespace cairn::sequence
