// Laws of all schemes that share something else than softmax attention of long queries, and lists broken on purpose.
#include "cairn/sequence/other_scheme.h"

#include <algorithm>
#include <set>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/sequence/block_parallel.h"
#include "cairn/sequence/decode.h"
#include "cairn/sequence/dimension_switch.h"
#include "cairn/sequence/linear_attention.h"
#include "cairn/sequence/ring_scores.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::sequence;

namespace {

constexpr std::int64_t k_example_ranks[] = {1, 2, 3, 4, 5, 6, 8};
constexpr std::uint64_t k_scheme_seed = 11;

void check_proven(const Sharing& sharing, std::uint64_t seed = k_scheme_seed) {
  const Proof proof = verify(sharing, seed);
  CHECK(proof.fault.value_or("") == "");
  // In fp32 no error is 0, unless nothing was compared.
  CHECK(proof.largest_error > 0);
  CHECK(proof.largest_error <= 1e-5);
}

// Points of all operators of a formula, where every point is computed once.
std::int64_t points_of(const Formula& formula) {
  return evaluate(formula, random_numbers(formula, k_scheme_seed)).points;
}

struct NamedSharing {
  std::string_view name;
  Sharing sharing;
};

// Of 3 ranks, or 2 that share whole blocks. A causal mask makes some of what is gathered or passed on useless to its receiver: those two without one.
std::vector<NamedSharing> unmasked() {
  std::vector<NamedSharing> all;
  for (const OtherScheme& scheme : other_schemes()) {
    NamedSharing each{.name = scheme.name, .sharing = {.formula = Formula({}, 1)}};
    if (scheme.name == "ring-scores")
      each.sharing = share_ring_scores({.ranks = 3, .tokens = 6, .heads = 2, .head_dim = 3});
    else if (scheme.name == "gathered-states")
      each.sharing =
          share_gathered_states({.ranks = 3, .tokens = 6, .heads = 2, .head_dim = 3, .value_dim = 4, .causal = false});
    else
      each.sharing = scheme.example(scheme.computes.find("block") == std::string_view::npos ? 3 : 2);
    all.push_back(std::move(each));
  }
  return all;
}

// Whether a call sends what its rank has had since before the pass began.
bool sends_old(const RankPass* before, const RankPass& pass, const PieceCall& call) {
  return std::all_of(call.sends.begin(), call.sends.end(), [&](const PieceMessage& message) {
    const auto same = [&](const TensorPiece& piece) { return piece.tensor == message.piece.tensor; };
    return std::any_of(pass.given.begin(), pass.given.end(), same) ||
           (before != nullptr && std::any_of(before->kept.begin(), before->kept.end(), same));
  });
}

// The end of a message at its peer, in whose list it is removed as well.
void remove_at_peer(Sharing& sharing, std::size_t pass, std::int64_t source, const PieceCall& call,
                    const PieceMessage& sent) {
  for (PieceCall& at_peer : sharing.passes[pass][static_cast<std::size_t>(sent.peer)].list.calls) {
    if (at_peer.begins != call.begins || at_peer.collective != call.collective) continue;
    std::erase_if(at_peer.receives,
                  [&](const PieceMessage& each) { return each.peer == source && each.piece == sent.piece; });
  }
}

}  // namespace

TEST_CASE("other schemes: all are right on all numbers of ranks") {
  std::set<std::string_view> names;
  for (const OtherScheme& scheme : other_schemes()) {
    CHECK(names.insert(scheme.name).second);
    CHECK(&other_scheme(scheme.name) == &scheme);
    for (const std::int64_t ranks : k_example_ranks) {
      INFO(scheme.name << " of " << ranks);
      const Sharing sharing = scheme.example(ranks);
      REQUIRE(static_cast<std::int64_t>(sharing.passes.front().size()) == ranks);
      check_proven(sharing, k_scheme_seed + static_cast<std::uint64_t>(ranks));
    }
  }
  CHECK(names.size() >= 9);
  CHECK_THROWS_AS(other_scheme("ring-of-fire"), core::ConfigurationError);
}

TEST_CASE("other schemes: no point is computed twice but where ranks are meant to") {
  for (const OtherScheme& scheme : other_schemes())
    for (const std::int64_t ranks : k_example_ranks) {
      INFO(scheme.name << " of " << ranks);
      const Sharing sharing = scheme.example(ranks);
      std::int64_t expected = points_of(sharing.formula);
      // 2 key heads of 2 rows of 3 numbers: every rank divides for all of them.
      const std::int64_t outputs = 2 * 2 * 3;
      // Nobody reads the state of the last chunk, 2 heads of 3 x 4 numbers from 2 tokens, nor that of the first backward.
      if (scheme.name == "passed-states") expected -= 2 * (2 * 3 * 4 * 2);
      if (scheme.name == "tree-attention") expected += (ranks - 1) * outputs;
      // Every rank computes everything.
      if (scheme.name == "ring-decoding") expected *= ranks;
      CHECK(verify(sharing, k_scheme_seed).points == expected);
    }
}

TEST_CASE("other schemes: shapes of their own") {
  for (const bool causal : {false, true}) {
    check_proven(share_ring_scores({.ranks = 3, .tokens = 9, .heads = 1, .head_dim = 5, .causal = causal}));
    check_proven(share_ring_scores({.ranks = 4, .tokens = 4, .heads = 3, .head_dim = 1, .causal = causal}));
    for (const std::int64_t ranks : {1, 2, 3, 4, 6, 12})
      check_proven(share_gathered_states(
          {.ranks = ranks, .tokens = 12, .heads = 2, .head_dim = 4, .value_dim = 3, .causal = causal}));
  }
  for (const std::int64_t ranks : {1, 2, 3, 4, 6, 12})
    check_proven(share_passed_states({.ranks = ranks, .tokens = 12, .heads = 1, .head_dim = 2, .value_dim = 5}));
  for (const std::int64_t ranks : {1, 2, 3, 4, 6, 12}) {
    // Rows of all heads that no number of ranks above 1 divides evenly, and that some do.
    check_proven(share_tree_attention({.ranks = ranks, .tokens = 12, .kv_heads = 5, .group = 1, .head_dim = 4}));
    check_proven(
        share_tree_attention({.ranks = ranks, .tokens = 24, .queries = 3, .kv_heads = 2, .group = 4, .head_dim = 2}));
  }
  for (const std::int64_t ranks : {2, 3, 6})
    check_proven(share_switched_dimensions(
        {.ranks = ranks, .space = 6, .time = 6, .width = 5, .heads = 1, .head_dim = 2, .sequences = 3}));
  for (const std::int64_t ranks : {1, 2, 4})
    for (const KeptInput kept : {KeptInput::whole, KeptInput::share})
      check_proven(share_columns(
          {.ranks = ranks, .tokens = 8, .width = 5, .heads = 4, .head_dim = 2, .ffn = 12, .sequences = 2}, kept));
  for (const std::int64_t ranks : {1, 2, 4})
    check_proven(share_weights({.ranks = ranks, .tokens = 8, .width = 4, .heads = 8, .head_dim = 3, .ffn = 7}));
}

TEST_CASE("tree merging: every tree of the ranks gives the same") {
  core::Random random(5);
  const DecodeShape shape{.ranks = 7, .tokens = 14, .queries = 2, .kv_heads = 2, .group = 2, .head_dim = 3};
  std::set<std::vector<std::int64_t>> trees;
  for (int draw = 0; draw < 40; ++draw) {
    // Ranks join in a random order, each under one that is there.
    std::vector<std::int64_t> order = {0, 1, 2, 3, 4, 5, 6};
    for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
    std::vector<std::int64_t> parents(7, -1);
    for (std::size_t i = 1; i < order.size(); ++i) parents[static_cast<std::size_t>(order[i])] = order[random.below(i)];
    trees.insert(parents);
    check_proven(share_tree_merging(shape, parents));
  }
  CHECK(trees.size() >= 35);
  check_proven(share_tree_merging(shape, {-1, 0, 1, 2, 3, 4, 5}));  // a chain
  check_proven(share_tree_merging(shape, {3, 3, 3, -1, 3, 3, 3}));  // a star
  CHECK(binomial_parents(8) == std::vector<std::int64_t>{-1, 0, 0, 2, 0, 4, 4, 6});
}

TEST_CASE("other schemes: what they refuse") {
  CHECK_THROWS_AS(share_ring_scores({.ranks = 3, .tokens = 8}), core::ConfigurationError);
  CHECK_THROWS_AS(share_ring_scores({.ranks = 0, .tokens = 8}), core::ConfigurationError);
  CHECK_THROWS_AS(share_ring_scores({.ranks = 2, .tokens = 8, .head_dim = 0}), core::ConfigurationError);
  CHECK_THROWS_AS(share_ring_scores({.ranks = 2, .tokens = 8, .sequences = 0}), core::ConfigurationError);
  CHECK_THROWS_AS(share_gathered_states({.ranks = 3, .tokens = 8}), core::ConfigurationError);
  CHECK_THROWS_AS(share_passed_states({.ranks = 2, .tokens = 8, .causal = false}), core::ConfigurationError);
  CHECK_THROWS_AS(share_tree_attention({.ranks = 3, .tokens = 8}), core::ConfigurationError);
  const DecodeShape four{.ranks = 4, .tokens = 8};
  CHECK_THROWS_AS(share_tree_merging(four, {-1, 0, 0}), core::ConfigurationError);
  CHECK_THROWS_AS(share_tree_merging(four, {-1, 0, 0, -1}), core::ConfigurationError);
  CHECK_THROWS_AS(share_tree_merging(four, {-1, 2, 3, 1}), core::ConfigurationError);
  CHECK_THROWS_AS(share_tree_merging(four, {-1, 0, 0, 4}), core::ConfigurationError);
  // Tokens along one dimension.
  CHECK_THROWS_AS(share_switched_dimensions({.ranks = 2, .space = 8, .time = 1}), core::ConfigurationError);
  CHECK_THROWS_AS(share_switched_dimensions({.ranks = 1, .space = 1, .time = 8}), core::ConfigurationError);
  CHECK_THROWS_AS(share_switched_dimensions({.ranks = 2, .space = 8, .time = 3}), core::ConfigurationError);
  CHECK_THROWS_AS(share_columns({.ranks = 2, .tokens = 4, .heads = 1, .ffn = 2}, KeptInput::whole),
                  core::ConfigurationError);
  CHECK_THROWS_AS(share_weights({.ranks = 2, .tokens = 4, .width = 3, .heads = 2}), core::ConfigurationError);
}

TEST_CASE("other schemes: a list with one message less is found out") {
  for (const auto& [name, sharing] : unmasked()) {
    int broken = 0;
    for (std::size_t pass = 0; pass < sharing.passes.size(); ++pass)
      for (std::size_t rank = 0; rank < sharing.passes[pass].size(); ++rank) {
        const PieceList& list = sharing.passes[pass][rank].list;
        for (std::size_t call = 0; call < list.calls.size(); ++call)
          for (std::size_t message = 0; message < list.calls[call].sends.size(); ++message) {
            INFO(name << ", pass " << pass << ", rank " << rank << ", call " << call << ", message " << message);
            Sharing changed = sharing;
            std::vector<PieceMessage>& sends = changed.passes[pass][rank].list.calls[call].sends;
            const PieceMessage sent = sends[message];
            sends.erase(sends.begin() + static_cast<std::ptrdiff_t>(message));
            // The destination waits for it.
            CHECK(verify(changed, k_scheme_seed).fault);
            // It does not, but misses what it brought.
            remove_at_peer(changed, pass, static_cast<std::int64_t>(rank), list.calls[call], sent);
            CHECK(verify(changed, k_scheme_seed).fault);
            ++broken;
          }
      }
    INFO(name);
    CHECK(broken >= 4);
  }
}

TEST_CASE("other schemes: work that is left out or done twice is found out") {
  for (const auto& [name, sharing] : unmasked()) {
    const std::int64_t points = verify(sharing, k_scheme_seed).points;
    for (std::size_t pass = 0; pass < sharing.passes.size(); ++pass)
      for (std::size_t rank = 0; rank < sharing.passes[pass].size(); ++rank)
        for (std::size_t i = 0; i < sharing.passes[pass][rank].list.work.size(); ++i) {
          const auto changed_proof = [&](auto change) {
            Sharing changed = sharing;
            std::vector<Work>& work = changed.passes[pass][rank].list.work;
            change(work, work.begin() + static_cast<std::ptrdiff_t>(i));
            return verify(changed, k_scheme_seed);
          };
          const Proof twice = changed_proof([](std::vector<Work>& work, auto at) { work.insert(at, Work(*at)); });
          const Proof less = changed_proof([](std::vector<Work>& work, auto at) { work.erase(at); });
          INFO(name << ", pass " << pass << ", rank " << rank << ", " << sharing.passes[pass][rank].list.work[i].label);
          // Work on no point does no harm: the sum of states of nobody.
          CHECK((twice.fault || twice.points == points));
          CHECK((less.fault || less.points == points));
        }
  }
}

TEST_CASE("other schemes: what is sent too early is found out") {
  // Of every pass, all calls of one stage begin with the first, at all ranks, and last until they did.
  for (const auto& [name, sharing] : unmasked()) {
    int found = 0;
    for (std::size_t pass = 0; pass < sharing.passes.size(); ++pass) {
      std::set<std::int32_t> stages;
      for (const RankPass& rank : sharing.passes[pass])
        for (const PieceCall& call : rank.list.calls) stages.insert(call.begins);
      stages.erase(0);
      for (const std::int32_t stage : stages) {
        Sharing changed = sharing;
        bool harmless = true;
        for (std::size_t rank = 0; rank < sharing.passes[pass].size(); ++rank) {
          std::vector<PieceCall>& calls = changed.passes[pass][rank].list.calls;
          for (PieceCall& call : calls) {
            if (call.begins != stage) continue;
            call.begins = 0;
            const RankPass* before = pass == 0 ? nullptr : &sharing.passes[pass - 1][rank];
            harmless = harmless && sends_old(before, sharing.passes[pass][rank], call);
          }
          std::stable_sort(calls.begin(), calls.end(),
                           [](const PieceCall& a, const PieceCall& b) { return a.begins < b.begins; });
        }
        INFO(name << ", pass " << pass << ", stage " << stage);
        const Proof proof = verify(changed, k_scheme_seed);
        CHECK((proof.fault || harmless));
        found += proof.fault ? 1 : 0;
      }
    }
    INFO(name);
    CHECK(found >= 1);
  }
}

TEST_CASE("other schemes: lists that name what there is not are found out") {
  const Sharing sharing = other_scheme("ring-scores").example(3);
  const auto fault_of = [&](auto change) {
    Sharing changed = sharing;
    change(changed.passes[0][1]);
    return verify(changed, k_scheme_seed).fault.value_or("");
  };
  CHECK(fault_of([](RankPass& pass) { pass.list.work[0].label = "nothing"; }) != "");
  CHECK(fault_of([](RankPass& pass) { pass.list.work[0].stage = pass.list.stages; }) != "");
  CHECK(fault_of([](RankPass& pass) { std::swap(pass.list.work.front(), pass.list.work.back()); }) != "");
  CHECK(fault_of([](RankPass& pass) { pass.list.calls[0].ends = pass.list.stages; }) != "");
  CHECK(fault_of([](RankPass& pass) { pass.list.calls[0].peers.first = 2; }) != "");
  CHECK(fault_of([](RankPass& pass) { pass.list.calls[0].sends[0].peer = 1; }) != "");
  CHECK(fault_of([](RankPass& pass) { pass.list.calls[0].sends[0].piece.ranges[0].count = 7; }) != "");
  CHECK(fault_of([](RankPass& pass) { pass.list.calls[0].sends[0].piece.tensor = 99; }) != "");
  CHECK(fault_of([](RankPass& pass) { pass.given.pop_back(); }) != "");
  CHECK(fault_of([](RankPass& pass) { pass.kept.clear(); }) != "");
  // A collective that one of its ranks leaves out.
  Sharing apart = other_scheme("gathered-states").example(3);
  apart.passes[0][2].list.calls.clear();
  CHECK(verify(apart, k_scheme_seed).fault);
  // A number that is wrong by more than rounding.
  CHECK(verify(sharing, k_scheme_seed, 1e-12).fault);
}
