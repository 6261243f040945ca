#include "cairn/sequence/folds.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/container_hash/hash.hpp>

#include "families.h"

namespace cairn::sequence {
namespace {

// What tiles read and what they add to, of their queries and of their keys.
struct TileTensors {
  TensorSet reads_of_queries = 0;
  TensorSet reads_of_keys = set_of(Tensor::key, Tensor::value);
  TensorSet adds_to_queries = 0;
  TensorSet adds_to_keys = 0;
};
constexpr TileTensors k_forward_tiles{.reads_of_queries = set_of(Tensor::query),
                                      .adds_to_queries = set_of(Tensor::output, Tensor::logsumexp)};
// O is read where no delta came.
constexpr TileTensors k_backward_tiles{.reads_of_queries = set_of(Tensor::query, Tensor::output, Tensor::logsumexp,
                                                                  Tensor::output_gradient, Tensor::delta),
                                       .adds_to_queries = set_of(Tensor::query_gradient),
                                       .adds_to_keys = set_of(Tensor::key_gradient, Tensor::value_gradient)};

// Every backward list that moves anything moves dO or gradients, and no forward list does.
TileTensors tile_tensors(const RankList& list) {
  constexpr TensorSet k_of_backward = set_of(Tensor::output_gradient, Tensor::delta, Tensor::query_gradient,
                                             Tensor::key_gradient, Tensor::value_gradient);
  const auto backward = [](const Message& message) { return (message.parcel.tensors & k_of_backward) != 0; };
  const bool any = std::any_of(list.calls.begin(), list.calls.end(), [&](const Call& call) {
    return std::any_of(call.sends.begin(), call.sends.end(), backward) ||
           std::any_of(call.receives.begin(), call.receives.end(), backward);
  });
  return any ? k_backward_tiles : k_forward_tiles;
}

constexpr TensorSet k_of_keys = k_keys | k_key_gradients;

bool overlap(const Heads& a, const Heads& b) { return a.first < b.first + b.count && b.first < a.first + a.count; }

// Tensors that the list moves together or not at all, and that tiles use alike. All tensors are in one of the sets.
std::vector<TensorSet> moved_together(const RankList& list, const TileTensors& tiles) {
  std::vector<TensorSet> all{(TensorSet{1} << k_tensors) - 1};
  TensorSet latest = 0;
  const auto cut = [&](TensorSet tensors) {
    if (std::exchange(latest, tensors) == tensors) return;
    for (std::size_t i = 0, sets = all.size(); i < sets; ++i) {
      const TensorSet rest = all[i] & static_cast<TensorSet>(~tensors);
      all[i] &= tensors;
      if (all[i] == 0)
        all[i] = rest;
      else if (rest != 0)
        all.push_back(rest);
    }
  };
  for (const TensorSet each :
       {k_of_keys, tiles.reads_of_queries, tiles.reads_of_keys, tiles.adds_to_queries, tiles.adds_to_keys})
    cut(each);
  for (const Call& call : list.calls) {
    for (const Message& message : call.sends) cut(message.parcel.tensors);
    for (const Message& message : call.receives) cut(message.parcel.tensors);
  }
  return all;
}

// Tensors of a message that are moved together, and the stages of its call.
struct Moved {
  TensorSet tensors = 0;
  const Call* call = nullptr;
  const Message* message = nullptr;
  std::size_t set = 0;  // number of its tokens

  const Tokens& tokens() const { return message->parcel.tokens; }
};

// Stages [begin, end] in which so many bytes are held.
struct HeldBytes {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int64_t bytes = 0;
};

// The sets of tokens of a list by number, and which of them have tokens in common.
class TokenSets {
 public:
  std::size_t number(const Tokens& tokens) {
    const auto [known, fresh] = numbers_.try_emplace(tokens, sets_.size());
    if (fresh) sets_.push_back(&known->first);
    return known->second;
  }
  // Once all sets have their numbers. Runs can meet that have one residue modulo the divisor that their strides have in
  // common, so each is compared with its near neighbours among those alone.
  void compare() {
    meeting_.resize(sets_.size());
    const std::map<std::int64_t, std::vector<Run>> of_stride = runs_by_stride();
    for (auto some = of_stride.begin(); some != of_stride.end(); ++some)
      for (auto others = some; others != of_stride.end(); ++others)
        compare(some->second, others->second, std::gcd(some->first, others->first));
    for (std::vector<std::size_t>& sets : meeting_) {
      std::sort(sets.begin(), sets.end());
      sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    }
  }
  const std::vector<std::size_t>& meeting(std::size_t set) const { return meeting_[set]; }
  std::size_t size() const { return sets_.size(); }

 private:
  struct Run {
    TokenRun tokens;
    std::size_t set;
    std::int64_t last() const { return tokens.first + (tokens.count - 1) * tokens.stride; }
  };
  struct Place {
    std::int64_t residue;
    std::int64_t first;
    const Run* run;
    bool operator<(const Place& other) const {
      return residue != other.residue ? residue < other.residue : first < other.first;
    }
  };

  std::map<std::int64_t, std::vector<Run>> runs_by_stride() const {
    std::map<std::int64_t, std::vector<Run>> all;
    for (std::size_t set = 0; set < sets_.size(); ++set)
      for (const TokenRun& run : *sets_[set])
        if (run.count > 0) all[run.stride].push_back({.tokens = run, .set = set});
    return all;
  }

  void compare(const std::vector<Run>& some, const std::vector<Run>& others, std::int64_t divisor) {
    std::vector<Place> sorted;
    sorted.reserve(others.size());
    std::int64_t longest = 0;
    for (const Run& run : others) {
      sorted.push_back({.residue = run.tokens.first % divisor, .first = run.tokens.first, .run = &run});
      longest = std::max(longest, run.last() - run.tokens.first);
    }
    std::sort(sorted.begin(), sorted.end());
    for (const Run& run : some) {
      const std::int64_t residue = run.tokens.first % divisor;
      const Place least{.residue = residue, .first = run.tokens.first - longest, .run = nullptr};
      auto other = std::lower_bound(sorted.begin(), sorted.end(), least);
      for (; other != sorted.end() && other->residue == residue && other->first <= run.last(); ++other)
        if (meet(run, *other->run)) {
          meeting_[run.set].push_back(other->run->set);
          meeting_[other->run->set].push_back(run.set);
        }
    }
  }
  // Of runs with one residue.
  static bool meet(const Run& a, const Run& b) {
    if (a.last() < b.tokens.first || b.last() < a.tokens.first) return false;
    return a.tokens.stride == b.tokens.stride || common({a.tokens}, {b.tokens}) > 0;
  }

  struct Hash {
    std::size_t operator()(const Tokens& tokens) const {
      std::size_t seed = 0;
      for (const TokenRun& run : tokens)
        for (const std::int64_t number : {run.first, run.count, run.stride}) boost::hash_combine(seed, number);
      return seed;
    }
  };

  std::unordered_map<Tokens, std::size_t, Hash> numbers_;
  std::vector<const Tokens*> sets_;
  std::vector<std::vector<std::size_t>> meeting_;
};

class Buffers {
 public:
  Buffers(const Problem& problem, const RankList& list)
      : problem_(problem), list_(list), of_tiles_(tile_tensors(list)), together_(moved_together(list, of_tiles_)) {
    for (const Call& call : list.calls) {
      append(received_, call, call.receives);
      append(sent_, call, call.sends);
    }
    std::vector<std::array<std::size_t, 2>> of_tile;
    for (const Tile& tile : list.tiles) of_tile.push_back({sets_.number(tile.queries), sets_.number(tile.keys)});
    sets_.compare();
    uses_.resize(sets_.size());
    for (std::size_t i = 0; i < of_tile.size(); ++i) {
      uses_[of_tile[i][0]].by_queries.push_back(&list.tiles[i]);
      uses_[of_tile[i][1]].by_keys.push_back(&list.tiles[i]);
    }
    for (const Moved& moved : received_) uses_[moved.set].received.push_back(&moved);
    for (const Moved& moved : sent_) uses_[moved.set].sent.push_back(&moved);
  }

  std::int64_t most_bytes() const {
    std::vector<HeldBytes> all;
    for (const Moved& received : received_) all.push_back(held(received));
    for (const Moved& sent : sent_)
      if (const auto part = travelling(sent)) all.push_back(*part);
    std::vector<std::int64_t> change(static_cast<std::size_t>(list_.stages) + 1, 0);
    for (const HeldBytes& each : all) {
      change[static_cast<std::size_t>(each.begin)] += each.bytes;
      change[static_cast<std::size_t>(each.end) + 1] -= each.bytes;
    }
    std::int64_t most = 0, now = 0;
    for (const std::int64_t each : change) most = std::max(most, now += each);
    return most;
  }

 private:
  // Who uses one set of tokens.
  struct Uses {
    std::vector<const Tile*> by_queries, by_keys;
    std::vector<const Moved*> received, sent;
  };

  void append(std::vector<Moved>& all, const Call& call, const Messages& messages) {
    const Message* before = nullptr;
    for (const Message& message : messages) {
      // Copies of the same for several peers leave from one place.
      const bool again = before != nullptr && !message.gives && message.parcel == before->parcel;
      before = &message;
      if (again) continue;
      const std::size_t set = sets_.number(message.parcel.tokens);
      for (const TensorSet tensors : together_)
        if ((message.parcel.tensors & tensors) != 0)
          all.push_back({.tensors = tensors, .call = &call, .message = &message, .set = set});
    }
  }

  std::int64_t bytes_of(const Moved& moved) const {
    const Parcel& parcel = moved.message->parcel;
    return bytes(problem_, {.tensors = moved.tensors, .tokens = parcel.tokens, .heads = parcel.heads});
  }

  bool heads_meet(const Moved& moved, const Heads& heads) const {
    const Heads& own = moved.message->parcel.heads;
    if (own == heads || overlap(own, heads)) return true;
    return (moved.tensors & k_of_keys) != 0 && overlap(kv_heads(problem_, own), kv_heads(problem_, heads));
  }

  // Calls `see` for everything of one kind that has tokens and heads in common with what was moved.
  template <class See>
  void each_tile(const Moved& moved, TensorSet of_queries, TensorSet of_keys, See see) const {
    const auto go = [&](const std::vector<const Tile*>& tiles) {
      for (const Tile* tile : tiles)
        if (heads_meet(moved, tile->heads)) see(*tile);
    };
    for (const std::size_t set : sets_.meeting(moved.set)) {
      if ((of_queries & moved.tensors) != 0) go(uses_[set].by_queries);
      if ((of_keys & moved.tensors) != 0) go(uses_[set].by_keys);
    }
  }
  template <class See>
  void each_moved(const Moved& moved, std::vector<const Moved*> Uses::*which, See see) const {
    for (const std::size_t set : sets_.meeting(moved.set))
      for (const Moved* other : uses_[set].*which)
        if (other->tensors == moved.tensors && heads_meet(moved, other->message->parcel.heads)) see(*other);
  }

  // A part of a result joins the rank's when its call is over; a copy stays while it is read or sent.
  HeldBytes held(const Moved& received) const {
    HeldBytes all{.begin = received.call->begins, .end = received.call->ends, .bytes = bytes_of(received)};
    if (received.message->gives) return all;
    const std::int32_t renewed = renewal(received);
    each_tile(received, of_tiles_.reads_of_queries, of_tiles_.reads_of_keys, [&](const Tile& tile) {
      if (tile.stage > all.end && tile.stage <= renewed) all.end = tile.stage;
    });
    each_moved(received, &Uses::sent, [&](const Moved& sent) {
      if (sent.call->begins > received.call->ends && sent.call->begins <= renewed)
        all.end = std::max(all.end, sent.call->ends);
    });
    return all;
  }

  // The stage with which the same arrives again, to be read instead; the last one where it does not.
  std::int32_t renewal(const Moved& received) const {
    std::int32_t first = list_.stages;
    each_moved(received, &Uses::received, [&](const Moved& again) {
      if (again.call->begins > received.call->ends) first = std::min(first, again.call->ends);
    });
    return first;
  }

  // The rank's part of a result that it sends, from the first that is in it to the end of the call.
  std::optional<HeldBytes> travelling(const Moved& sent) const {
    const std::int32_t leaves = sent.call->begins;
    std::int32_t since = 0;  // the rank's part was given away before
    each_moved(sent, &Uses::sent, [&](const Moved& before) {
      if (before.message->gives && before.call->begins < leaves) since = std::max(since, before.call->begins);
    });
    std::int32_t begin = leaves;
    each_tile(sent, of_tiles_.adds_to_queries, of_tiles_.adds_to_keys, [&](const Tile& tile) {
      if (tile.stage >= since) begin = std::min(begin, tile.stage);
    });
    each_moved(sent, &Uses::received, [&](const Moved& received) {
      if (received.message->gives && received.call->ends >= since && received.call->ends < begin)
        begin = received.call->ends + 1;
    });
    const bool relayed = begin == leaves && !sent.message->gives;  // held as what was received, or owned
    if (relayed || sent_again(sent)) return std::nullopt;
    return HeldBytes{.begin = begin, .end = sent.call->ends, .bytes = bytes_of(sent)};
  }

  // Whether another copy of the same leaves after this one.
  bool sent_again(const Moved& sent) const {
    const std::vector<const Moved*>& same = uses_[sent.set].sent;
    return !sent.message->gives && std::any_of(same.begin(), same.end(), [&](const Moved* other) {
      return other->tensors == sent.tensors && other->message->parcel.heads == sent.message->parcel.heads &&
             (other->call->ends > sent.call->ends || (other->call->ends == sent.call->ends && other > &sent));
    });
  }

  const Problem& problem_;
  const RankList& list_;
  TileTensors of_tiles_;
  std::vector<TensorSet> together_;
  TokenSets sets_;
  std::vector<Moved> received_, sent_;
  std::vector<Uses> uses_;  // by number of the set
};

std::int64_t bytes_of_all(const Problem& problem, const Messages& messages) {
  std::int64_t sum = 0;
  for (const Message& message : messages) sum += bytes(problem, message.parcel);
  return sum;
}

}  // namespace

std::int64_t bytes_sent(const Problem& problem, const Call& call) { return bytes_of_all(problem, call.sends); }

std::int64_t bytes_received(const Problem& problem, const Call& call) { return bytes_of_all(problem, call.receives); }

std::int64_t bytes_sent(const Problem& problem, const RankList& list) {
  std::int64_t sum = 0;
  for (const Call& call : list.calls) sum += bytes_sent(problem, call);
  return sum;
}

std::int64_t bytes_received(const Problem& problem, const RankList& list) {
  std::int64_t sum = 0;
  for (const Call& call : list.calls) sum += bytes_received(problem, call);
  return sum;
}

std::int64_t pairs(const Problem& problem, const RankList& list) {
  std::int64_t sum = 0;
  for (const Tile& tile : list.tiles) sum += tile.heads.count * pairs(problem, tile.queries, tile.keys);
  return problem.sequences * sum;
}

std::int64_t joined_elements(const Problem& problem, const Tile& tile, Pass pass) {
  const std::int64_t queries = problem.sequences * count(tile.queries) * tile.heads.count;
  if (pass == Pass::forward) return queries * problem.values();
  const std::int64_t keys = problem.sequences * count(tile.keys) * kv_heads(problem, tile.heads).count;
  return queries * problem.head_dim + keys * (problem.head_dim + problem.values());
}

std::int64_t joined_elements(const Problem& problem, const RankList& list, Pass pass) {
  std::int64_t sum = 0;
  for (const Tile& tile : list.tiles) sum += tile.joins ? joined_elements(problem, tile, pass) : 0;
  return sum;
}

std::int64_t buffer_bytes(const Problem& problem, const RankList& list) { return Buffers(problem, list).most_bytes(); }

}  // namespace cairn::sequence
