// What ranks receive and send in the schemes that share something else than softmax attention of long queries, by their
// published counts, which live here alone.
#include <numeric>

#include "cairn/sequence/block_parallel.h"
#include "cairn/sequence/decode.h"
#include "cairn/sequence/dimension_switch.h"
#include "cairn/sequence/folds.h"
#include "cairn/sequence/linear_attention.h"
#include "cairn/sequence/ring_scores.h"
#include "cairn/sequence/scheme.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::sequence;

namespace {

constexpr std::int64_t k_element_sent = 2;    // [B]
constexpr std::int64_t k_statistic_sent = 4;  // [B]

// Every rank receives as many bytes in a pass, and sends as many.
void check_each_rank(const Sharing& sharing, std::size_t pass, std::int64_t expected) {
  for (const RankPass& rank : sharing.passes.at(pass)) {
    CHECK(bytes_received(sharing.formula, rank.list) == expected);
    CHECK(bytes_sent(sharing.formula, rank.list) == expected);
  }
}

std::int64_t messages_received(const PieceList& list) {
  return std::accumulate(list.calls.begin(), list.calls.end(), std::int64_t{0},
                         [](std::int64_t sum, const PieceCall& call) { return sum + !call.receives.empty(); });
}

}  // namespace

TEST_CASE("ring scores: bytes") {
  for (const std::int64_t p : {1, 2, 3, 4, 6, 12}) {
    const std::int64_t n = 12, heads = 3, d = 5, b = 2;
    const Sharing sharing = share_ring_scores({.ranks = p, .tokens = n, .heads = heads, .head_dim = d, .sequences = b});
    const std::int64_t hops = (p - 1) * b * heads * (n / p) * d;
    check_each_rank(sharing, 0, k_element_sent * 2 * hops);
    check_each_rank(sharing, 1, k_element_sent * 6 * hops);
    CHECK(messages_received(sharing.passes[0][0].list) == 2 * (p - 1));
  }
}

TEST_CASE("linear attention: bytes do not depend on the tokens") {
  for (const std::int64_t p : {1, 2, 3, 4, 6, 12})
    for (const std::int64_t n : {12, 24})
      for (const bool causal : {false, true}) {
        const LinearAttentionShape shape{
            .ranks = p, .tokens = n, .heads = 3, .head_dim = 2, .value_dim = 4, .sequences = 5, .causal = causal};
        const std::int64_t state = 5 * 3 * 2 * 4;
        const Sharing gathered = share_gathered_states(shape);
        for (const std::size_t pass : {0, 1}) {
          check_each_rank(gathered, pass, k_element_sent * (p - 1) * state);
          CHECK(gathered.passes[pass][0].list.calls.size() == (p > 1 ? 1 : 0));
        }
        if (!causal) continue;
        // One state into every rank but the first, out of every rank but the last; backward the other way.
        const Sharing passed = share_passed_states(shape);
        for (std::int64_t rank = 0; rank < p; ++rank)
          for (const std::size_t pass : {0, 1}) {
            const bool first = rank == (pass == 0 ? 0 : p - 1), last = rank == (pass == 0 ? p - 1 : 0);
            const PieceList& list = passed.passes[pass][static_cast<std::size_t>(rank)].list;
            CHECK(bytes_received(passed.formula, list) == (first ? 0 : k_element_sent * state));
            CHECK(bytes_sent(passed.formula, list) == (last ? 0 : k_element_sent * state));
          }
      }
}

TEST_CASE("decoding: bytes") {
  for (const std::int64_t p : {1, 2, 3, 4, 6, 12}) {
    const DecodeShape shape{
        .ranks = p, .tokens = 24, .queries = 1, .kv_heads = 2, .group = 12, .head_dim = 5, .sequences = 3};
    const std::int64_t rows = 24;  // of all heads, which all these p divide
    const Sharing summed = share_tree_attention(shape);
    check_each_rank(summed, 0, 3 * 2 * (p - 1) * rows / p * (k_element_sent * 5 + 2 * k_statistic_sent));
    const Sharing ring = share_ring_decoding(shape);
    check_each_rank(ring, 0, k_element_sent * 2 * (p - 1) * 3 * (24 / p) * 2 * 5);
    CHECK(messages_received(ring.passes[0][0].list) == p - 1);
    // Every edge of the tree carries the part of its child up and the result down.
    const Sharing merged = share_tree_merging(shape, binomial_parents(p));
    std::int64_t received = 0, sent = 0;
    for (const RankPass& rank : merged.passes[0]) {
      received += bytes_received(merged.formula, rank.list);
      sent += bytes_sent(merged.formula, rank.list);
    }
    CHECK(received == (p - 1) * 3 * rows * (2 * k_element_sent * 5 + k_statistic_sent));
    CHECK(sent == received);
  }
  // Rows that ranks cannot share evenly: rank i keeps those from floor(5 i / 3) on, and receives its share twice and
  // once each of the others.
  const Sharing uneven = share_tree_attention({.ranks = 3, .tokens = 6, .kv_heads = 5, .head_dim = 4});
  const std::int64_t kept[] = {1, 2, 2}, words = 4 * k_element_sent + 2 * k_statistic_sent;
  for (std::size_t rank = 0; rank < 3; ++rank)
    CHECK(bytes_received(uneven.formula, uneven.passes[0][rank].list) == words * (2 * kept[rank] + 5 - kept[rank]));
}

TEST_CASE("decoding: a tree needs fewer bytes than a ring from some length on") {
  // 4 ranks, 2 heads of 4 and as many key heads: 2 x 3/4 x 2 x (8 + 8) = 48 B against 2 x 3 x 2 x n/4 x 4 x 2 = 24 n B.
  for (const std::int64_t n : {4, 8, 16}) {
    const DecodeShape shape{.ranks = 4, .tokens = n, .kv_heads = 2, .head_dim = 4};
    const Sharing tree = share_tree_attention(shape), ring = share_ring_decoding(shape);
    std::int64_t of_tree = 0;
    for (const RankPass& rank : tree.passes[0]) of_tree += bytes_received(tree.formula, rank.list);
    CHECK(of_tree == 4 * 48);
    CHECK(bytes_received(ring.formula, ring.passes[0][0].list) == 24 * n);
  }
}

TEST_CASE("switched dimensions: bytes, and those of an attention that shares heads") {
  for (const std::int64_t p : {1, 2, 3, 4, 6, 12}) {
    const std::int64_t space = 12, time = 24, heads = 12, b = 3, n = space * time;
    const Sharing sharing = share_switched_dimensions(
        {.ranks = p, .space = space, .time = time, .width = heads, .heads = heads, .head_dim = 1, .sequences = b});
    const std::int64_t one_switch = k_element_sent * b * n * heads / p * (p - 1) / p;
    check_each_rank(sharing, 0, 2 * one_switch);
    check_each_rank(sharing, 1, 2 * one_switch);
    if (p == 1) continue;
    CHECK(sharing.passes[0][0].list.calls.size() == 2);
    // Half of what sharing heads takes of one attention, which is a quarter of a pair's.
    const Problem one{
        .tokens = n, .sequences = b, .heads = heads, .kv_heads = heads, .head_dim = 1, .mask = Mask::full};
    const RankList ulysses = scheme("ulysses").list(one, {.head_ranks = p}, Pass::forward, 0);
    const std::int64_t switched = bytes_received(sharing.formula, sharing.passes[0][0].list);
    CHECK(2 * switched == bytes_received(one, ulysses));
  }
}

TEST_CASE("shared columns: bytes") {
  for (const std::int64_t p : {1, 2, 3, 4, 6, 12}) {
    const std::int64_t n = 12, width = 5, b = 3;
    const BlockShape shape{
        .ranks = p, .tokens = n, .width = width, .heads = 12, .head_dim = 1, .ffn = 12, .sequences = b};
    const std::int64_t once = k_element_sent * b * n * width * (p - 1) / p;
    const Sharing whole = share_columns(shape, KeptInput::whole);
    check_each_rank(whole, 0, 4 * once);
    check_each_rank(whole, 1, 4 * once);
    CHECK(whole.passes[0][0].list.calls.size() == (p > 1 ? 4 : 0));
    const Sharing again = share_columns(shape, KeptInput::share);
    check_each_rank(again, 0, 4 * once);
    check_each_rank(again, 1, 6 * once);
  }
}

TEST_CASE("shared weights: bytes of weights do not depend on the tokens") {
  for (const std::int64_t p : {1, 2, 3, 4, 6, 12})
    for (const std::int64_t n : {12, 24}) {
      const std::int64_t width = 12, heads = 12, d = 2, ffn = 5, b = 3;
      const Sharing sharing = share_weights(
          {.ranks = p, .tokens = n, .width = width, .heads = heads, .head_dim = d, .ffn = ffn, .sequences = b});
      const std::int64_t weights = 4 * width * heads * d + 2 * width * ffn;
      const std::int64_t gathered = k_element_sent * weights * (p - 1) / p;
      const std::int64_t exchanged = k_element_sent * 4 * b * n / p * heads * d * (p - 1) / p;
      check_each_rank(sharing, 0, gathered + exchanged);
      check_each_rank(sharing, 1, 2 * gathered + exchanged);
    }
}
