#include "cairn/sequence/other_scheme.h"

#include <algorithm>
#include <array>

#include "cairn/core/diagnostics.h"
#include "cairn/sequence/block_parallel.h"
#include "cairn/sequence/decode.h"
#include "cairn/sequence/dimension_switch.h"
#include "cairn/sequence/linear_attention.h"
#include "cairn/sequence/ring_scores.h"

namespace cairn::sequence {
namespace {

// Small enough to be followed element by element, with more than one of everything on each rank.
constexpr std::int64_t k_tokens_of_rank = 2;
constexpr std::int64_t k_example_heads = 2;
constexpr std::int64_t k_example_dim = 3;

Sharing example_of_ring_scores(std::int64_t ranks) {
  return share_ring_scores({.ranks = ranks,
                            .tokens = k_tokens_of_rank * ranks,
                            .heads = k_example_heads,
                            .head_dim = k_example_dim,
                            .causal = true});
}

LinearAttentionShape linear_example(std::int64_t ranks) {
  return {.ranks = ranks,
          .tokens = k_tokens_of_rank * ranks,
          .heads = k_example_heads,
          .head_dim = k_example_dim,
          .value_dim = k_example_dim + 1};
}
Sharing example_of_gathered_states(std::int64_t ranks) { return share_gathered_states(linear_example(ranks)); }
Sharing example_of_passed_states(std::int64_t ranks) { return share_passed_states(linear_example(ranks)); }

DecodeShape decode_example(std::int64_t ranks) {
  return {.ranks = ranks,
          .tokens = k_tokens_of_rank * ranks,
          .queries = 1,
          .kv_heads = k_example_heads,
          .group = k_example_heads,
          .head_dim = k_example_dim};
}
Sharing example_of_tree_attention(std::int64_t ranks) { return share_tree_attention(decode_example(ranks)); }
Sharing example_of_tree_merging(std::int64_t ranks) {
  return share_tree_merging(decode_example(ranks), binomial_parents(ranks));
}
Sharing example_of_ring_decoding(std::int64_t ranks) { return share_ring_decoding(decode_example(ranks)); }

Sharing example_of_switched_dimensions(std::int64_t ranks) {
  return share_switched_dimensions({.ranks = ranks,
                                    .space = k_tokens_of_rank * ranks,
                                    .time = std::max<std::int64_t>(ranks, 2),
                                    .width = k_example_dim + 1,
                                    .heads = k_example_heads,
                                    .head_dim = k_example_dim});
}

BlockShape block_example(std::int64_t ranks) {
  return {.ranks = ranks,
          .tokens = k_tokens_of_rank * ranks,
          .width = k_example_heads * ranks,
          .heads = ranks,
          .head_dim = k_example_dim,
          .ffn = k_example_heads * ranks};
}
Sharing example_of_shared_columns(std::int64_t ranks) { return share_columns(block_example(ranks), KeptInput::whole); }
Sharing example_of_shared_weights(std::int64_t ranks) { return share_weights(block_example(ranks)); }

constexpr std::array k_other_schemes{
#define CAIRN_OTHER_SCHEME(name, example, computes, summary, source) \
  OtherScheme{name, computes, summary, source, example},
#include "other_schemes.def"
#undef CAIRN_OTHER_SCHEME
};

}  // namespace

std::span<const OtherScheme> other_schemes() { return k_other_schemes; }

const OtherScheme& other_scheme(std::string_view name) {
  for (const OtherScheme& each : k_other_schemes)
    if (each.name == name) return each;
  std::string known;
  for (const OtherScheme& each : k_other_schemes) known += (known.empty() ? "" : ", ") + std::string(each.name);
  throw core::ConfigurationError("scheme", "unknown scheme '" + std::string(name) + "'", "known: " + known);
}

std::string other_use(std::string_view name) {
  for (const OtherScheme& each : k_other_schemes)
    if (each.name == name)
      return "'" + std::string(name) + "' is for " + std::string(each.computes) +
             ": it is no way to share fused softmax attention in training";
  return {};
}

}  // namespace cairn::sequence
