#include "cairn/sequence/dimension_switch.h"

#include "attention_formula.h"
#include "cairn/core/diagnostics.h"
#include "list_writer.h"

namespace cairn::sequence {
namespace {

constexpr const char* k_space = " along space";
constexpr const char* k_time = " along time";

// Loops: t, j times; s, k places; m width; h heads of d.
Formula grid_formula(const GridTokensShape& shape) {
  Formula formula({{'t', shape.time},
                   {'j', shape.time},
                   {'s', shape.space},
                   {'k', shape.space},
                   {'m', shape.width},
                   {'h', shape.heads},
                   {'d', shape.head_dim}},
                  k_wire.operand * shape.sequences);
  for (const char* input : {"x[tsm]", "du[tsm]"}) formula.given(input);
  const double scale = attention_scale(shape.head_dim);
  const AttentionLetters space{.suffix = k_space, .tokens = "ts", .query = 's', .key = 'k', .scale = scale};
  const AttentionLetters time{.suffix = k_time, .tokens = "ts", .query = 't', .key = 'j', .scale = scale};
  for (const std::string suffix : {k_space, k_time}) {
    for (const char* weight : {"Wq", "Wk", "Wv"}) formula.given(weight + suffix + "[mhd]", k_wire.operand);
    formula.given("Wo" + suffix + "[hdm]", k_wire.operand);
  }
  add_attention_block(formula, space, "x", "y");
  add_attention_block(formula, time, "y", "u");
  add_attention_block_gradients(formula, time, "y", "u");
  add_attention_block_gradients(formula, space, "x", "y");
  return formula;
}

class DimensionSwitch {
 public:
  DimensionSwitch(const Formula& formula, ListWriter& writer)
      : formula_(formula), writer_(writer), times_(times(writer.rank())), places_(places(writer.rank())) {}

  RankPass forward() {
    for (const char* label : {"projection", "scores", "softmax", "values", "output", "residual"})
      writer_.work(label + std::string(k_space), times_);
    switch_to_places("y");
    for (const char* label : {"projection", "scores", "softmax", "values", "output", "residual"})
      writer_.work(label + std::string(k_time), places_);
    switch_to_times("u");
    RankPass pass{.given = writer_.of({"x"}, times_), .kept = writer_.of({"x", "u"}, times_)};
    take_in(pass.given, weights());
    take_in(pass.kept, weights());
    take_in(pass.kept, writer_.of({"y"}, places_));
    keep_attention(pass, k_space, times_);
    keep_attention(pass, k_time, places_);
    return pass;
  }

  RankPass backward() {
    switch_to_places("du");
    gradients(k_time, places_);
    switch_to_times("dy");
    gradients(k_space, times_);
    return {.given = writer_.of({"du"}, times_), .kept = writer_.of({"dx"}, times_)};
  }

 private:
  Box times(std::int64_t rank) const { return {{'t', share_of(formula_.extent('t'), rank, writer_.count())}}; }
  Box places(std::int64_t rank) const { return {{'s', share_of(formula_.extent('s'), rank, writer_.count())}}; }

  // The block that `time_owner` and `place_owner` share goes from one to the other.
  std::vector<TensorPiece> crossing(std::string_view tensor, std::int64_t time_owner, std::int64_t place_owner) const {
    return writer_.of({tensor}, {times(time_owner).front(), places(place_owner).front()});
  }
  void switch_to_places(std::string_view tensor) {
    writer_.next_stage();
    writer_.exchange(collective::Collective::all_to_all, false,
                     [&](std::int64_t source, std::int64_t to) { return crossing(tensor, source, to); });
    writer_.next_stage();
  }
  void switch_to_times(std::string_view tensor) {
    writer_.next_stage();
    writer_.exchange(collective::Collective::all_to_all, false,
                     [&](std::int64_t source, std::int64_t to) { return crossing(tensor, to, source); });
    writer_.next_stage();
  }

  void gradients(const std::string& suffix, const Box& own) {
    for (const char* label :
         {"output gradient", "output weights", "weights gradient", "values gradient", "softmax gradient",
          "query gradient", "keys gradient", "projection weights", "projection gradient", "residual gradient"})
      writer_.work(label + suffix, own);
  }

  std::vector<TensorPiece> weights() const {
    std::vector<TensorPiece> all;
    for (const std::string suffix : {k_space, k_time})
      for (const char* weight : {"Wq", "Wk", "Wv", "Wo"}) take_in(all, writer_.of({weight + suffix}));
    return all;
  }
  void keep_attention(RankPass& pass, const std::string& suffix, const Box& own) const {
    for (const char* tensor : {"Q", "K", "V", "P", "A"}) take_in(pass.kept, writer_.of({tensor + suffix}, own));
  }

  const Formula& formula_;
  ListWriter& writer_;
  Box times_, places_;
};

}  // namespace

Sharing share_switched_dimensions(const GridTokensShape& shape) {
  if (shape.space < 2 || shape.time < 2)
    throw core::ConfigurationError("space", "the tokens lie along one dimension: there is none to switch to",
                                   "share heads, or pass keys on");
  ask_divisible("space", shape.space, shape.ranks);
  ask_divisible("time", shape.time, shape.ranks);
  Sharing sharing{.formula = grid_formula(shape), .results = {"u", "dx"}};
  for (const std::string suffix : {k_space, k_time})
    for (const char* weight : {"dWq", "dWk", "dWv", "dWo"}) sharing.summed.push_back(weight + suffix);
  const Formula& formula = sharing.formula;
  sharing.passes = {
      by_rank(formula, shape.ranks, [&](ListWriter& writer) { return DimensionSwitch(formula, writer).forward(); }),
      by_rank(formula, shape.ranks, [&](ListWriter& writer) { return DimensionSwitch(formula, writer).backward(); })};
  return sharing;
}

}  // namespace cairn::sequence
