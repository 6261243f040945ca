// Three ways of sharing an attention, written down by hand: keys and values that go round, queries that are gathered,
// heads that are exchanged for tokens.
#pragma once

#include <cstdint>

#include "cairn/sequence/oracle.h"

namespace cairn::sequence::test {

inline constexpr TensorSet k_forward_keys = set_of(Tensor::key, Tensor::value);
inline constexpr TensorSet k_gradient_keys = set_of(Tensor::key_gradient, Tensor::value_gradient);
inline constexpr TensorSet k_whole_output = set_of(Tensor::output, Tensor::logsumexp);
inline constexpr TensorSet k_kept =
    set_of(Tensor::query, Tensor::key, Tensor::value, Tensor::output, Tensor::logsumexp);

inline Tokens chunk(std::int64_t first, std::int64_t count) { return {{.first = first, .count = count, .stride = 1}}; }
inline Tokens striped(std::int64_t rank, std::int64_t ranks, std::int64_t tokens) {
  return {{.first = rank, .count = tokens / ranks, .stride = ranks}};
}

inline Call send_of(std::int64_t ranks, std::int32_t stage, Message sent, Message received) {
  return {.collective = collective::Collective::send,
          .peers = {.first = 0, .count = ranks},
          .begins = stage,
          .ends = stage,
          .sends = {std::move(sent)},
          .receives = {std::move(received)}};
}

// Rank r has chunk r. In stage s it computes with the keys of chunk r - s, which it then sends on, as it sends their
// gradients a stage later: these are at home after as many hops as there are ranks.
inline Shares ring(const Problem& problem, std::int64_t ranks) {
  const Heads heads = all_heads(problem);
  const std::int64_t size = problem.tokens / ranks;
  const auto chunk_of = [&](std::int64_t rank) { return chunk((rank % ranks + ranks) % ranks * size, size); };
  Shares all;
  for (std::int64_t r = 0; r < ranks; ++r) {
    const std::int64_t next = (r + 1) % ranks, before = (r + ranks - 1) % ranks;
    const auto hop = [&](std::int32_t stage, TensorSet tensors, std::int64_t chunk, bool gives) {
      return send_of(ranks, stage, {next, {tensors, chunk_of(chunk), heads}, gives},
                     {before, {tensors, chunk_of(chunk - 1), heads}, gives});
    };
    const auto last = static_cast<std::int32_t>(ranks);
    RankList forward{.stages = last}, backward{.stages = ranks > 1 ? last + 1 : last};
    for (std::int32_t s = 0; s < last; ++s) {
      const Tile tile{.stage = s, .queries = chunk_of(r), .keys = chunk_of(r - s), .heads = heads};
      forward.tiles.push_back(tile);
      backward.tiles.push_back(tile);
      if (s + 1 < last) forward.calls.push_back(hop(s, k_forward_keys, r - s, false));
      if (s + 1 < last) backward.calls.push_back(hop(s, k_forward_keys, r - s, false));
      if (ranks > 1 && s > 0) backward.calls.push_back(hop(s, k_gradient_keys, r - s + 1, true));
    }
    if (ranks > 1) backward.calls.push_back(hop(last, k_gradient_keys, r - last + 1, true));
    all.owned.push_back(chunk_of(r));
    all.kept.push_back({k_kept, chunk_of(r), heads});
    all.forward.push_back(forward);
    all.backward.push_back(backward);
  }
  return all;
}

inline Call call_of_all(collective::Collective collective, std::int64_t ranks, std::int32_t stage) {
  return {.collective = collective, .peers = {.first = 0, .count = ranks}, .begins = stage, .ends = stage};
}

// Rank r has every token r + i ranks, and after stage 0 all queries: the parts of O, or of dQ, that it computes with
// its own keys it gives to their owners.
inline Shares gathered_queries(const Problem& problem, std::int64_t ranks) {
  using collective::Collective;
  const Heads heads = all_heads(problem);
  const auto tokens_of = [&](std::int64_t rank) { return striped(rank, ranks, problem.tokens); };
  Tokens everything;
  for (std::int64_t r = 0; r < ranks; ++r) everything = joined(everything, tokens_of(r));
  Shares all;
  const auto list_of = [&](std::int64_t r, TensorSet gathered, TensorSet given) {
    RankList list{.stages = 3, .tiles = {{.stage = 1, .queries = everything, .keys = tokens_of(r), .heads = heads}}};
    Call gather = call_of_all(Collective::all_gather, ranks, 0),
         scatter = call_of_all(Collective::all_to_all, ranks, 2);
    for (std::int64_t other = 0; other < ranks; ++other) {
      if (other == r) continue;
      gather.sends.push_back({other, {gathered, tokens_of(r), heads}});
      gather.receives.push_back({other, {gathered, tokens_of(other), heads}});
      scatter.sends.push_back({other, {given, tokens_of(other), heads}, true});
      scatter.receives.push_back({other, {given, tokens_of(r), heads}, true});
    }
    list.calls = {gather, scatter};
    return list;
  };
  for (std::int64_t r = 0; r < ranks; ++r) {
    all.owned.push_back(tokens_of(r));
    all.kept.push_back({k_kept, tokens_of(r), heads});
    all.forward.push_back(list_of(r, set_of(Tensor::query), k_whole_output));
    all.backward.push_back(list_of(r, set_of(Tensor::query, Tensor::output_gradient, Tensor::logsumexp, Tensor::delta),
                                   set_of(Tensor::query_gradient)));
  }
  return all;
}

// Rank r has chunk r, and between the two exchanges all tokens of its share of the heads.
inline Shares exchanged_heads(const Problem& problem, std::int64_t ranks) {
  using collective::Collective;
  const std::int64_t size = problem.tokens / ranks, share = problem.heads / ranks;
  const Tokens everything = chunk(0, problem.tokens);
  Shares all;
  const auto list_of = [&](std::int64_t r, TensorSet to_heads, TensorSet to_tokens, bool gives) {
    const Heads heads{.first = r * share, .count = share};
    RankList list{.stages = 3, .tiles = {{.stage = 1, .queries = everything, .keys = everything, .heads = heads}}};
    Call before = call_of_all(Collective::all_to_all, ranks, 0), behind = call_of_all(Collective::all_to_all, ranks, 2);
    for (std::int64_t other = 0; other < ranks; ++other) {
      if (other == r) continue;
      const Heads theirs{.first = other * share, .count = share};
      before.sends.push_back({other, {to_heads, chunk(r * size, size), theirs}});
      before.receives.push_back({other, {to_heads, chunk(other * size, size), heads}});
      behind.sends.push_back({other, {to_tokens, chunk(other * size, size), heads}, gives});
      behind.receives.push_back({other, {to_tokens, chunk(r * size, size), theirs}, gives});
    }
    list.calls = {before, behind};
    return list;
  };
  for (std::int64_t r = 0; r < ranks; ++r) {
    all.owned.push_back(chunk(r * size, size));
    all.kept.push_back({k_kept, everything, {.first = r * share, .count = share}});
    all.forward.push_back(list_of(r, set_of(Tensor::query, Tensor::key, Tensor::value), set_of(Tensor::output), false));
    all.backward.push_back(list_of(r, set_of(Tensor::output_gradient),
                                   set_of(Tensor::query_gradient, Tensor::key_gradient, Tensor::value_gradient), true));
  }
  return all;
}

}  // namespace cairn::sequence::test
