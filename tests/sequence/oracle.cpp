// The oracle on lists that are right by hand, and on the same lists broken on purpose.
#include "cairn/sequence/oracle.h"

#include <algorithm>

#include "catch.h"
#include "sequence/by_hand.h"

using namespace cairn;
using namespace cairn::sequence;
using namespace cairn::sequence::test;

namespace {

template <class Which>
void erase_if(Messages& messages, Which which) {
  messages.erase(std::remove_if(messages.begin(), messages.end(), which), messages.end());
}

constexpr std::uint64_t k_seed = 7;

struct OracleCase {
  std::string name;
  Problem problem;
  std::int64_t ranks = 1;
  Shares (*make)(const Problem& problem, std::int64_t ranks) = nullptr;

  Shares made() const { return make(problem, ranks); }
  std::string fault(const Shares& shares, Pass pass) const {
    return verify(problem, shares, pass, k_seed).fault.value_or("");
  }
};

Problem small(Mask mask, std::vector<std::int64_t> documents = {}) {
  return {.tokens = 24,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 6,
          .value_dim = 3,
          .mask = mask,
          .documents = std::move(documents)};
}

std::vector<OracleCase> cases_of(const std::vector<Problem>& problems) {
  std::vector<OracleCase> cases;
  for (const Problem& problem : problems) {
    for (const std::int64_t ranks : {1, 2, 3, 4}) cases.push_back({"ring", problem, ranks, ring});
    for (const std::int64_t ranks : {2, 3, 4}) cases.push_back({"gathered queries", problem, ranks, gathered_queries});
    // 4 ranks have half a key head each: their parts of dK and dV are added up.
    for (const std::int64_t ranks : {2, 4}) cases.push_back({"exchanged heads", problem, ranks, exchanged_heads});
  }
  return cases;
}

std::vector<OracleCase> right_cases() {
  return cases_of({small(Mask::causal), small(Mask::full), small(Mask::causal, {5, 1, 18})});
}

// To be broken in every place.
std::vector<OracleCase> cases_to_break() {
  return cases_of({{.tokens = 12, .heads = 4, .kv_heads = 2, .head_dim = 2}});
}

std::vector<RankList>& lists(Shares& shares, Pass pass) {
  return pass == Pass::forward ? shares.forward : shares.backward;
}

// Of the call that begins with `stage` and moves `tensor`.
Call& call_at(RankList& list, std::int32_t stage, Tensor tensor) {
  const auto found = std::find_if(list.calls.begin(), list.calls.end(), [&](const Call& call) {
    return call.begins == stage && contains(call.sends.at(0).parcel.tensors, tensor);
  });
  REQUIRE(found != list.calls.end());
  return *found;
}

// A ring of so many ranks with a list changed.
template <class Change>
std::string ring_fault(std::int64_t ranks, Pass pass, Change&& change) {
  const OracleCase base{"ring", small(Mask::causal), ranks, ring};
  Shares shares = base.made();
  change(shares, lists(shares, pass));
  return base.fault(shares, pass);
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr Pass k_both[] = {Pass::forward, Pass::backward};

}  // namespace

TEST_CASE("lists that are right by hand are found right") {
  for (const OracleCase& each : right_cases())
    for (const Pass pass : k_both) {
      INFO(each.name << " of " << each.ranks << ", pass " << static_cast<int>(pass));
      const Verdict verdict = verify(each.problem, each.made(), pass, k_seed);
      CHECK(verdict.fault.value_or("") == "");
      CHECK(verdict.pairs == each.problem.heads * pairs(each.problem, chunk(0, 24), chunk(0, 24)));
      CHECK(verdict.largest_error > 0);
      CHECK(verdict.largest_error < 2e-6);
    }
}

TEST_CASE("two hundred tokens stay within the tolerance") {
  const Problem problem{.tokens = 200, .heads = 4, .kv_heads = 2, .head_dim = 16};
  for (const Pass pass : k_both) {
    const Verdict verdict = verify(problem, ring(problem, 8), pass, k_seed);
    CHECK(verdict.fault.value_or("") == "");
    CHECK(verdict.largest_error < 5e-6);
  }
}

// A query that sees one key alone: P = 1, so that dQ and dK are zero and dV is dO.
TEST_CASE("gradients of documents of one token") {
  const Problem problem{.tokens = 4, .heads = 2, .kv_heads = 1, .head_dim = 3, .documents = {1, 1, 1, 1}};
  const Verdict verdict = verify(problem, ring(problem, 2), Pass::backward, k_seed);
  CHECK(verdict.fault.value_or("") == "");
  CHECK(verdict.pairs == 2 * 4);
  CHECK(verdict.largest_error < 1e-6);
}

TEST_CASE("an error above the tolerance is a fault") {
  const Problem problem = small(Mask::causal);
  CHECK(says(verify(problem, ring(problem, 2), Pass::forward, k_seed, 0.0).fault.value_or(""), "results are wrong by"));
}

TEST_CASE("no tile can be left out or computed twice") {
  for (const OracleCase& each : cases_to_break())
    for (const Pass pass : k_both)
      for (std::size_t rank = 0; rank < static_cast<std::size_t>(each.ranks); ++rank) {
        const Shares right = each.made();
        for (std::size_t i = 0; i < right.lists(pass)[rank].tiles.size(); ++i) {
          const Tile tile = right.lists(pass)[rank].tiles[i];
          if (pairs(each.problem, tile.queries, tile.keys) == 0) continue;
          INFO(each.name << " of " << each.ranks << ", rank " << rank << ", tile " << i);
          Shares changed = right;
          std::vector<Tile>& tiles = lists(changed, pass)[rank].tiles;
          tiles.insert(tiles.begin() + static_cast<std::ptrdiff_t>(i), tile);
          CHECK(says(each.fault(changed, pass), " again"));
          tiles.erase(tiles.begin() + static_cast<std::ptrdiff_t>(i),
                      tiles.begin() + static_cast<std::ptrdiff_t>(i) + 2);
          CHECK(each.fault(changed, pass) != "");
        }
      }
}

// Of the ring's messages one can: the gradients of a rank's own tile need not travel, as the others come to it.
TEST_CASE("no message can be left out, nor be known to one end alone") {
  for (const OracleCase& each : cases_to_break())
    for (const Pass pass : k_both) {
      const Shares right = each.made();
      for (std::size_t rank = 0; rank < static_cast<std::size_t>(each.ranks); ++rank)
        for (std::size_t c = 0; c < right.lists(pass)[rank].calls.size(); ++c)
          for (std::size_t m = 0; m < right.lists(pass)[rank].calls[c].sends.size(); ++m) {
            INFO(each.name << " of " << each.ranks << ", rank " << rank << ", call " << c << ", message " << m);
            Shares changed = right;
            Call& call = lists(changed, pass)[rank].calls[c];
            const Message message = call.sends[m];
            call.sends.erase(call.sends.begin() + static_cast<std::ptrdiff_t>(m));
            CHECK(says(each.fault(changed, pass), "the source does not send what is awaited"));
            // Calls stand in the same order at all ranks.
            Messages& awaited = lists(changed, pass)[static_cast<std::size_t>(message.peer)].calls[c].receives;
            erase_if(awaited, [&](const Message& other) { return other.peer == static_cast<std::int64_t>(rank); });
            const bool own = each.make == ring && message.gives && call.begins == 1;
            const std::string fault = each.fault(changed, pass);
            CHECK((fault == "") == own);
            CHECK(!says(fault, "await"));
          }
    }
}

TEST_CASE("what one end says of a message, the other says") {
  const auto fault = [](auto&& change) {
    return ring_fault(3, Pass::backward,
                      [&](Shares&, std::vector<RankList>& all) { change(call_at(all[1], 1, Tensor::key_gradient)); });
  };
  const std::string unsent = "stage 1, 0 -> 1: the source does not send what is awaited";
  const std::string unawaited = "stage 1, 0 -> 1: the destination does not await what is sent";
  CHECK(fault([](Call& call) { call.receives[0].parcel.tokens = chunk(8, 8); }) == unawaited);
  CHECK(fault([](Call& call) { call.receives[0].parcel.tokens = chunk(1, 7); }) == unawaited);
  CHECK(fault([](Call& call) { call.receives[0].parcel.tensors = set_of(Tensor::key_gradient); }) == unsent);
  CHECK(fault([](Call& call) { call.receives[0].parcel.heads = {0, 3}; }) == unsent);
  CHECK(fault([](Call& call) { call.receives[0].gives = false; }) == unsent);
  CHECK(fault([](Call& call) { call.receives[0].peer = 2; }) == unawaited);
  CHECK(says(fault([](Call& call) { call.ends = 2; }), "await"));
  CHECK(says(fault([](Call& call) { call.collective = collective::Collective::broadcast; }), "await"));
  CHECK(says(fault([](Call& call) { call.peers = {0, 2, 2}; }), "a call of others"));
  CHECK(says(fault([](Call& call) { call.peers = {0, 2, 1}; }), "a message with 2, which is no peer"));
}

TEST_CASE("a peer that takes no part in a collective is missed") {
  const OracleCase base{"gathered queries", small(Mask::causal), 3, gathered_queries};
  Shares shares = base.made();
  // Rank 2 neither sends queries nor gets any, and leaves the call.
  for (RankList& list : shares.forward)
    for (Messages* messages : {&list.calls[0].sends, &list.calls[0].receives})
      erase_if(*messages, [](const Message& message) { return message.peer == 2; });
  shares.forward[2].calls.erase(shares.forward[2].calls.begin());
  CHECK(base.fault(shares, Pass::forward) == "stage 0: not all peers take part in all-gather");
}

TEST_CASE("a message to a wrong destination is missed where it is needed") {
  // Rank 0 sends its first keys to rank 2 instead of 1, and both know.
  const std::string fault = ring_fault(4, Pass::forward, [](Shares&, std::vector<RankList>& all) {
    Call& sending = call_at(all[0], 0, Tensor::key);
    sending.sends[0].peer = 2;
    Messages& lost = call_at(all[1], 0, Tensor::key).receives;
    Message moved = lost[0];
    lost.clear();
    call_at(all[2], 0, Tensor::key).receives.push_back(moved);
  });
  CHECK(fault == "stage 1, 1 -> 2: the source does not hold K of token 0, head 0");
}

TEST_CASE("nothing is sent or read before it has arrived") {
  const auto earlier = [](Pass pass, Tensor tensor, std::int32_t stage) {
    return ring_fault(3, pass, [&](Shares&, std::vector<RankList>& all) {
      for (RankList& list : all) {
        Call& call = call_at(list, stage, tensor);
        call.begins = call.ends = stage - 1;
        std::stable_sort(list.calls.begin(), list.calls.end(),
                         [](const Call& a, const Call& b) { return a.begins < b.begins; });
      }
    });
  };
  CHECK(earlier(Pass::forward, Tensor::key, 1) == "stage 0, 0 -> 1: the source does not hold K of token 16, head 0");
  CHECK(earlier(Pass::backward, Tensor::key_gradient, 1) ==
        "stage 0, 0 -> 1: the source does not hold dK of token 0, head 0");
  CHECK(earlier(Pass::backward, Tensor::key_gradient, 3) ==
        "stage 2, 0 -> 1: the source does not hold dK of token 8, head 0");

  const std::string late = ring_fault(3, Pass::forward, [](Shares&, std::vector<RankList>& all) {
    for (RankList& list : all) call_at(list, 0, Tensor::key).ends = 1;
  });
  CHECK(late == "stage 1, 0 -> 1: the source does not hold K of token 16, head 0");
  const std::string early_tile =
      ring_fault(2, Pass::forward, [](Shares&, std::vector<RankList>& all) { all[1].tiles[1].stage = 0; });
  CHECK(early_tile == "stage 0, rank 1: the tile reads K of token 0, head 0, which the rank does not hold");
}

TEST_CASE("gradients must come home") {
  for (const std::int64_t ranks : {2, 3, 4}) {
    const std::string fault = ring_fault(ranks, Pass::backward, [](Shares&, std::vector<RankList>& all) {
      for (RankList& list : all) list.calls.pop_back();
    });
    CHECK(says(fault, " ends with "));
    CHECK(says(fault, " of dK of token 0"));
  }
}

TEST_CASE("parts are given away whole or with all that joins them") {
  const OracleCase base{"gathered queries", small(Mask::full), 2, gathered_queries};
  Shares shares = base.made();
  const auto set_last = [&](TensorSet tensors, bool gives) {
    for (RankList& list : shares.forward)
      for (Messages* messages : {&list.calls[1].sends, &list.calls[1].receives})
        for (Message& message : *messages) message.parcel.tensors = tensors, message.gives = gives;
  };
  set_last(set_of(Tensor::output), true);
  CHECK(base.fault(shares, Pass::forward) ==
        "stage 2, 0 -> 1: gives away O of token 1, head 0, which is not whole, without its log-sum-exp");
  set_last(set_of(Tensor::logsumexp), true);
  CHECK(base.fault(shares, Pass::forward) ==
        "stage 2, 0 -> 1: gives away log-sum-exp of token 1, head 0, which is not whole, without its O");
  set_last(k_whole_output, false);
  CHECK(base.fault(shares, Pass::forward) == "stage 2, 0 -> 1: copies O of token 1, head 0, which is not whole");
  set_last(set_of(Tensor::query_gradient), true);
  CHECK(base.fault(shares, Pass::forward) == "stage 2, 0 -> 1: there is no dQ in this pass");
  set_last(k_whole_output, true);
  CHECK(base.fault(shares, Pass::forward) == "");
}

TEST_CASE("operands cannot be given away, and nothing is brought twice") {
  CHECK(ring_fault(2, Pass::forward, [](Shares&, std::vector<RankList>& all) {
          for (RankList& list : all) list.calls[0].sends[0].gives = list.calls[0].receives[0].gives = true;
        }) == "stage 0, 0 -> 1: gives away K, which is an operand");
  CHECK(ring_fault(2, Pass::forward, [](Shares&, std::vector<RankList>& all) {
          for (RankList& list : all) list.calls.push_back(list.calls[0]);
        }) == "stage 0, 0 -> 1: brings nothing that the destination lacks");
  // A whole O that was copied to its owner is given to it as well.
  const OracleCase heads{"exchanged heads", small(Mask::causal), 2, exchanged_heads};
  Shares shares = heads.made();
  for (RankList& list : shares.forward) {
    list.calls.push_back(list.calls[1]);
    for (Messages* messages : {&list.calls[2].sends, &list.calls[2].receives}) (*messages)[0].gives = true;
  }
  CHECK(heads.fault(shares, Pass::forward) ==
        "stage 2, 0 -> 1: adds to O of token 12, head 0 what the destination has already");
}

TEST_CASE("the backward pass begins with what the forward pass left, and no more") {
  const OracleCase base{"ring", small(Mask::causal), 2, ring};
  Shares shares = base.made();
  shares.kept[0].tokens = chunk(0, 24);
  CHECK(base.fault(shares, Pass::backward) ==
        "forward: rank 0 keeps Q of token 12, head 0, which it does not hold after the forward pass");
  shares.kept[0].tensors = k_forward_keys;  // which came in the forward pass
  CHECK(base.fault(shares, Pass::backward) ==
        "stage 0, rank 0: the tile reads Q of token 0, head 0, which the rank does not hold");
  shares.kept[0] = {set_of(Tensor::query_gradient), chunk(0, 12), {0, 4}};
  CHECK(base.fault(shares, Pass::backward) == "forward: rank 0 keeps what is of no forward pass");
  shares = base.made();
  shares.forward[1].tiles.pop_back();
  CHECK(says(base.fault(shares, Pass::backward), "forward: rank 1 ends with "));
}

TEST_CASE("lists name what there is, in order") {
  const auto fault = [](auto&& change) {
    return ring_fault(2, Pass::forward, [&](Shares&, std::vector<RankList>& all) { change(all[0]); });
  };
  CHECK(fault([](RankList& list) { std::swap(list.tiles[0], list.tiles[1]); }) == "rank 0: tiles are out of order");
  CHECK(fault([](RankList& list) { list.tiles[1].stage = 2; }) == "stage 2, rank 0: a tile of no such stage");
  CHECK(fault([](RankList& list) { list.tiles[0].keys = chunk(20, 5); }) ==
        "stage 0, rank 0: there are no such tokens");
  CHECK(fault([](RankList& list) { list.tiles[0].heads = {1, 4}; }) == "stage 0, rank 0: there are no such heads");
  CHECK(fault([](RankList& list) { list.calls[0].ends = 2; }) == "stage 0, rank 0: a call of no such stages");
  CHECK(fault([](RankList& list) { list.calls[0].peers.count = 3; }) ==
        "stage 0, rank 0: a call with peers that there are not");
  CHECK(fault([](RankList& list) { list.calls[0].sends[0].peer = 0; }) ==
        "stage 0, rank 0: a message with 0, which is no peer");
  CHECK(fault([](RankList& list) { list.calls[0].sends[0].parcel.tensors = 0; }) ==
        "stage 0, rank 0: a message of nothing");
}

TEST_CASE("every token has one owner") {
  CHECK(ring_fault(2, Pass::forward, [](Shares& shares, std::vector<RankList>&) { shares.owned[1] = chunk(12, 11); }) ==
        "token 23 has 0 owners");
  CHECK(ring_fault(2, Pass::forward, [](Shares& shares, std::vector<RankList>&) { shares.owned[1] = chunk(11, 13); }) ==
        "token 11 has 2 owners");
}
