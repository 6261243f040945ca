// What a user says about a decoder-only transformer: the `model:` block.
//
//   layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, gated_mlp: true, vocab: 128256, tied_embeddings:
//   false, norm: rmsnorm, position: rope, bias: false, activation: silu
//
// Architecture only: batch, sequence length, precision and kernels belong to the training setup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/config/fields.h"

namespace cairn::models {

// The largest sizes accepted: far beyond any model, small enough that counts of parameters and iterations stay exact in
// 63 bits.
inline constexpr std::int64_t k_max_layers = std::int64_t{1} << 16;
inline constexpr std::int64_t k_max_heads = std::int64_t{1} << 16;
inline constexpr std::int64_t k_max_width = std::int64_t{1} << 20;  // hidden
inline constexpr std::int64_t k_max_ffn = 4 * k_max_width;
inline constexpr std::int64_t k_max_vocab = std::int64_t{1} << 24;
inline constexpr std::int64_t k_max_positions = std::int64_t{1} << 32;  // also of a sliding window

enum class Norm : std::uint8_t { layernorm, rmsnorm };
enum class PositionEncoding : std::uint8_t { learned, rope, alibi, none };
enum class Activation : std::uint8_t { gelu, silu, relu, squared_relu };
enum class Residual : std::uint8_t { standard, ladder, kraken };
enum class MlpKind : std::uint8_t { dense, moe };
enum class AttentionKind : std::uint8_t { full, sliding, mla, linear };

// Causal attention of one block; `window` (sliding only) is the number of keys a query sees, itself included.
struct AttentionPattern {
  AttentionKind kind = AttentionKind::full;
  std::int64_t window = 0;
  friend bool operator==(const AttentionPattern&, const AttentionPattern&) = default;
};

// `repeat` consecutive equal blocks.
struct BlockPattern {
  std::int64_t repeat = 1;
  MlpKind mlp = MlpKind::dense;
  AttentionPattern attention = {};
};

struct TransformerConfig {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::optional<std::int64_t> kv_heads;  // default: heads
  std::optional<std::int64_t> head_dim;  // default: hidden / heads
  std::int64_t ffn = 0;                  // inner width of the MLP; of each of its two halves when gated
  bool gated_mlp = false;                // no default in files
  std::int64_t vocab = 0;
  std::optional<std::int64_t> vocab_multiple;  // absent: the vocabulary is not padded
  bool tied_embeddings = false;                // no default in files
  Norm norm = Norm::layernorm;
  PositionEncoding position = PositionEncoding::learned;
  std::optional<std::int64_t> max_positions;  // rows of the learned position table; default: the sequence length
  bool bias = true;              // of every linear layer but the head; a layernorm keeps its shift either way
  std::optional<bool> qkv_bias;  // each default: bias
  std::optional<bool> projection_bias;
  std::optional<bool> mlp_bias;
  bool causal = true;                       // false: every query sees every key, as in encoders
  bool qk_norm = false;                     // RMS normalisation of every query and key head
  bool embedding_norm = false;              // normalisation right after the embedding
  double dropout = 0.0;                     // of what joins the residual stream
  std::optional<double> embedding_dropout;  // of the embedding; default: dropout
  std::optional<double> attention_dropout;  // of the attention probabilities; default: dropout
  std::optional<Activation> activation;     // default: gelu, silu when gated
  Residual residual = Residual::standard;
  std::vector<BlockPattern> blocks;  // repeated until `layers` is reached; empty: dense blocks with full attention

  std::int64_t kv_head_count() const { return kv_heads.value_or(heads); }
  // Query heads that share one key and value head.
  std::int64_t group() const { return heads / kv_head_count(); }
  std::int64_t head_size() const { return head_dim.value_or(hidden / heads); }
  bool has_qkv_bias() const { return qkv_bias.value_or(bias); }
  bool has_projection_bias() const { return projection_bias.value_or(bias); }
  bool has_mlp_bias() const { return mlp_bias.value_or(bias); }
  double stream_entry_dropout() const { return embedding_dropout.value_or(dropout); }
  double probability_dropout() const { return attention_dropout.value_or(dropout); }
  Activation activation_function() const {
    return activation.value_or(gated_mlp ? Activation::silu : Activation::gelu);
  }
  // Rows of the embedding table: vocab, padded to a multiple of vocab_multiple x divisor where a multiple is asked for
  // and divisor is not 0.
  std::int64_t padded_vocab(std::int64_t divisor) const;
};

// Throws core::ConfigurationError with everything that is inconsistent or not modelled yet.
void validate(const TransformerConfig& config);

// The configuration as trained with sequences of `sequence` tokens: fills max_positions in where it is absent. Throws
// core::ConfigurationError when a learned position table is shorter than the sequence.
TransformerConfig for_sequence(TransformerConfig config, std::int64_t sequence);

void describe(config::Value& value, AttentionPattern& attention);
void describe(config::Fields& fields, BlockPattern& block);
void describe(config::Fields& fields, TransformerConfig& config);

}  // namespace cairn::models
