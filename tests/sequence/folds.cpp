// Bytes, pairs and buffers of lists, counted by hand.
#include "cairn/sequence/folds.h"

#include "catch.h"
#include "sequence/by_hand.h"

using namespace cairn;
using namespace cairn::sequence;
using namespace cairn::sequence::test;

namespace {

// Bytes of a token, of all heads: Q 4 x 6 x 2 = 48, K 2 x 6 x 2 = 24, V 2 x 3 x 2 = 12, O and dO 4 x 3 x 2 = 24,
// log-sum-exp and delta 4 x 4 = 16; of gradients as of their tensors, or twice that in fp32.
Problem folded(std::int64_t gradient = 2) {
  return {.tokens = 12,
          .sequences = 2,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 6,
          .value_dim = 3,
          .wire = {.gradient = gradient}};
}

std::int64_t parcel_bytes(const Problem& problem, Tensor tensor, const Heads& heads) {
  return bytes(problem, {.tensors = set_of(tensor), .tokens = chunk(0, 5), .heads = heads});
}

// A call that brings K and V of these tokens, and one that passes them on.
Call brings(std::int32_t begins, std::int32_t ends, const Tokens& tokens, const Heads& heads) {
  return {.peers = {.first = 0, .count = 3},
          .begins = begins,
          .ends = ends,
          .receives = {{.peer = 1, .parcel = {k_forward_keys, tokens, heads}}}};
}
Call passes_on(std::int32_t begins, std::int32_t ends, const Tokens& tokens, const Heads& heads) {
  Call call = brings(begins, ends, tokens, heads);
  std::swap(call.sends, call.receives);
  return call;
}
Tile tile_of(std::int32_t stage, const Tokens& keys, const Heads& heads) {
  return {.stage = stage, .queries = chunk(0, 2), .keys = keys, .heads = heads};
}

constexpr Heads k_all{.first = 0, .count = 4};

}  // namespace

TEST_CASE("a parcel has the bytes of its tensors, tokens and heads, of all sequences") {
  const Problem problem = folded(4);
  CHECK(parcel_bytes(problem, Tensor::query, k_all) == 10 * 48);
  CHECK(parcel_bytes(problem, Tensor::key, k_all) == 10 * 24);
  CHECK(parcel_bytes(problem, Tensor::value, k_all) == 10 * 12);
  CHECK(parcel_bytes(problem, Tensor::output, k_all) == 10 * 24);
  CHECK(parcel_bytes(problem, Tensor::output_gradient, k_all) == 10 * 24);
  CHECK(parcel_bytes(problem, Tensor::logsumexp, k_all) == 10 * 16);
  CHECK(parcel_bytes(problem, Tensor::delta, k_all) == 10 * 16);
  CHECK(parcel_bytes(problem, Tensor::query_gradient, k_all) == 10 * 96);
  CHECK(parcel_bytes(problem, Tensor::key_gradient, k_all) == 10 * 48);
  CHECK(parcel_bytes(problem, Tensor::value_gradient, k_all) == 10 * 24);
  // One query head reads one whole key head; the two in the middle read both.
  CHECK(parcel_bytes(problem, Tensor::key, {.first = 3, .count = 1}) == 10 * 12);
  CHECK(parcel_bytes(problem, Tensor::key, {.first = 1, .count = 2}) == 10 * 24);
  CHECK(parcel_bytes(problem, Tensor::query, {.first = 1, .count = 2}) == 10 * 24);
  CHECK(bytes(problem, {k_forward_keys, {{0, 2, 6}, {1, 1, 1}}, k_all}) == 6 * 36);
}

// Chunks of 4 tokens of 2 sequences: K, V are 8 x 36 = 288 bytes, dK, dV as many, in fp32 576.
TEST_CASE("bytes of a ring are those of its hops") {
  const Shares shares = ring(folded(), 3);
  CHECK(bytes_sent(folded(), shares.forward[1].calls[0]) == 288);
  CHECK(bytes_received(folded(), shares.forward[1].calls[0]) == 288);
  CHECK(bytes_sent(folded(), shares.forward[1]) == 2 * 288);
  CHECK(bytes_received(folded(), shares.forward[1]) == 2 * 288);
  CHECK(bytes_sent(folded(), shares.backward[1]) == 2 * 288 + 3 * 288);
  CHECK(bytes_sent(folded(4), shares.backward[1]) == 2 * 288 + 3 * 576);
}

TEST_CASE("pairs of the lists of all ranks are those of the mask") {
  for (const auto make : {ring, gathered_queries}) {
    const Shares shares = make(folded(), 3);
    std::int64_t sum = 0;
    for (const RankList& list : shares.forward) sum += pairs(folded(), list);
    CHECK(sum == 2 * 4 * 12 * 13 / 2);
  }
  // Rank 1 of the ring: a triangle of its own chunk, all of the one before, nothing of the one behind.
  CHECK(pairs(folded(), ring(folded(), 3).forward[1]) == 2 * 4 * (4 * 5 / 2 + 4 * 4));
}

// Forward, K, V of stage 0 are read in stage 1, while the next come in: 2 x 288. Backward, in stage 1 there are beside
// these dK, dV that leave, those that the tile makes and those that come in; later fewer K, V.
TEST_CASE("buffers of a ring") {
  CHECK(buffer_bytes(folded(), ring(folded(), 1).forward[0]) == 0);
  CHECK(buffer_bytes(folded(), ring(folded(), 2).forward[0]) == 12 * 36);
  CHECK(buffer_bytes(folded(), ring(folded(), 3).forward[0]) == 2 * 288);
  CHECK(buffer_bytes(folded(), ring(folded(), 4).forward[0]) == 2 * 6 * 36);
  CHECK(buffer_bytes(folded(), ring(folded(), 1).backward[0]) == 0);
  CHECK(buffer_bytes(folded(), ring(folded(), 3).backward[0]) == 2 * 288 + 3 * 288);
  CHECK(buffer_bytes(folded(4), ring(folded(4), 3).backward[0]) == 2 * 288 + 3 * 576);
}

// Of 4 tokens of 2 sequences Q are 384 bytes, O with log-sum-exp 320, and all that a backward tile reads of a query
// 8 x (48 + 24 + 16 + 16) = 832. The tile of stage 1 reads what came of two ranks and makes what goes to them; in stage
// 2 that leaves while as much comes in.
TEST_CASE("buffers of gathered queries") {
  const Shares shares = gathered_queries(folded(), 3);
  CHECK(buffer_bytes(folded(), shares.forward[2]) == 2 * 384 + 2 * 320);
  CHECK(buffer_bytes(folded(), shares.backward[2]) == 2 * 832 + 2 * 384);
  CHECK(buffer_bytes(folded(4), shares.backward[2]) == 2 * 832 + 2 * 768);
  CHECK(buffer_bytes(folded(8), shares.backward[2]) == 4 * 1536);  // stage 2 is the fullest
}

// Half the heads of 6 tokens of 2 sequences: Q, K, V are 12 x (24 + 12 + 6) = 504 bytes, gradients as many, O and dO
// 144.
TEST_CASE("buffers of exchanged heads") {
  const Shares shares = exchanged_heads(folded(), 2);
  CHECK(buffer_bytes(folded(), shares.forward[0]) == 504 + 144);
  CHECK(buffer_bytes(folded(), shares.backward[0]) == 504 + 504);
}

// K, V of 2 tokens of 2 sequences: 144 bytes. What else is there is a message of 4 tokens, 288 bytes, for one stage.
TEST_CASE("what came is held while it is read or sent on") {
  const Problem problem = folded();
  const Tokens tokens = chunk(4, 2), others = chunk(8, 4);
  const auto held_in = [&](std::int32_t stage, RankList list) {
    list.stages = 8;
    list.calls.push_back(brings(stage, stage, others, k_all));
    return buffer_bytes(problem, list) == 288 + 144;
  };
  const auto held = [&](const RankList& list) {
    std::vector<std::int32_t> stages;
    for (std::int32_t stage = 0; stage < 8; ++stage)
      if (held_in(stage, list)) stages.push_back(stage);
    return stages;
  };
  using Stages = std::vector<std::int32_t>;
  const Call call = brings(1, 2, tokens, k_all);
  CHECK(held({.calls = {call}}) == Stages{1, 2});
  CHECK(held({.tiles = {tile_of(4, tokens, k_all)}, .calls = {call}}) == Stages{1, 2, 3, 4});
  CHECK(held({.tiles = {tile_of(4, {{5, 2, 2}}, k_all)}, .calls = {call}}) == Stages{1, 2, 3, 4});  // one of the two
  CHECK(held({.tiles = {tile_of(4, {{3, 2, 3}}, k_all)}, .calls = {call}}) == Stages{1, 2});        // neither
  CHECK(held({.calls = {call, passes_on(3, 5, tokens, k_all)}}) == Stages{1, 2, 3, 4, 5});
  // Another key head, though of other query heads of the same group it is the same one.
  const Call half = brings(1, 1, chunk(4, 4), {.first = 0, .count = 1});
  CHECK(held({.tiles = {tile_of(3, tokens, {.first = 2, .count = 2})}, .calls = {half}}) == Stages{1});
  CHECK(held({.tiles = {tile_of(3, tokens, {.first = 1, .count = 1})}, .calls = {half}}) == Stages{1, 2, 3});
}

TEST_CASE("what arrives once more is not kept in between") {
  const Tokens tokens = chunk(4, 2);
  RankList list{.stages = 6,
                .tiles = {tile_of(1, tokens, k_all), tile_of(5, tokens, k_all)},
                .calls = {brings(0, 0, tokens, k_all), brings(3, 3, chunk(8, 4), k_all), brings(4, 4, tokens, k_all)}};
  CHECK(buffer_bytes(folded(), list) == 288);
  list.calls.pop_back();
  CHECK(buffer_bytes(folded(), list) == 288 + 144);
}

// A whole O of 2 tokens of 2 sequences, 4 x 24 = 96 bytes, goes to two ranks.
TEST_CASE("one result that is copied twice is held once") {
  const Message to_one{.peer = 1, .parcel = {set_of(Tensor::output), chunk(0, 2), k_all}};
  Message to_another = to_one;
  to_another.peer = 2;
  const Call call{.peers = {.first = 0, .count = 3}, .begins = 1, .ends = 1, .sends = {to_one, to_another}};
  CHECK(buffer_bytes(folded(), {.stages = 2, .tiles = {tile_of(0, chunk(0, 2), k_all)}, .calls = {call}}) == 96);
}

// dK, dV of 2 tokens of 2 sequences, 144 bytes, given away in stage 1; what the tile of stage 3 makes of the same keys
// is another part, given away in stage 4.
TEST_CASE("a part that was given away is gone") {
  const auto gives = [](std::int32_t stage) {
    return Call{.peers = {.first = 0, .count = 3},
                .begins = stage,
                .ends = stage,
                .sends = {{.peer = 1, .parcel = {k_gradient_keys, chunk(4, 2), k_all}, .gives = true}}};
  };
  const Call meanwhile = brings(2, 2, chunk(8, 4), k_all);
  RankList list{.stages = 5,
                .tiles = {tile_of(0, chunk(4, 2), k_all), tile_of(3, chunk(4, 2), k_all)},
                .calls = {gives(1), meanwhile, gives(4)}};
  CHECK(buffer_bytes(folded(), list) == 288);
  list.calls.erase(list.calls.begin());
  CHECK(buffer_bytes(folded(), list) == 288 + 144);
}

// Operands that a rank owns are sent from where they are.
TEST_CASE("what a rank owns needs no buffer") {
  CHECK(buffer_bytes(folded(), {.stages = 1, .calls = {passes_on(0, 0, chunk(0, 4), k_all)}}) == 0);
  const Call statistics{
      .peers = {.first = 0, .count = 3},
      .begins = 1,
      .ends = 1,
      .sends = {{.peer = 1, .parcel = {set_of(Tensor::output_gradient, Tensor::logsumexp), chunk(0, 2), k_all}}}};
  CHECK(buffer_bytes(folded(), {.stages = 2, .tiles = {tile_of(0, chunk(0, 2), k_all)}, .calls = {statistics}}) == 0);
}
