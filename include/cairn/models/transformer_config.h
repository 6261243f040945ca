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
inline constexpr std::int64_t k_max_prediction_depth = 16;
inline constexpr std::int64_t k_max_ways = std::int64_t{1} << 10;
inline constexpr std::int64_t k_max_experts = std::int64_t{1} << 16;
inline constexpr std::int64_t k_max_state = std::int64_t{1} << 12;  // also of the taps of a convolution
inline constexpr std::int64_t k_max_chunk = std::int64_t{1} << 16;
inline constexpr std::int64_t k_max_vocab = std::int64_t{1} << 24;
inline constexpr std::int64_t k_max_positions = std::int64_t{1} << 32;  // also of a sliding window

enum class Norm : std::uint8_t { layernorm, rmsnorm };
// Where a sub-layer f is normalised:
//   pre        x + f(norm(x))
//   post       x + norm(f(x))
//   sandwich   x + norm'(f(norm(x)))
//   shared     as pre, attention and MLP behind the same norm; of a parallel residual only
enum class NormPlace : std::uint8_t { pre, post, sandwich, shared };
// Normalisation of queries and keys: of every head, with one gain for all heads; of all heads together, with a gain of
// its own for each element; of every head without gain, after the rotation and where there is one.
enum class QkNorm : std::uint8_t { none, head, whole, unscaled };
enum class PositionEncoding : std::uint8_t { learned, rope, alibi, none };
// clamped_silu: (clamp(up) + 1) g sigmoid(alpha g), g = clamp(gate).
enum class Activation : std::uint8_t { gelu, silu, relu, squared_relu, clamped_silu };
// parallel: attention and MLP both read what the block reads, x' = x + attention(norm1(x)) + mlp(norm2(x)); either
// joins the stream by itself.
enum class Residual : std::uint8_t { standard, ladder, kraken, parallel };
enum class MlpKind : std::uint8_t { dense, moe, none };
// nope: full attention whose queries and keys are not rotated. chunked: full attention inside consecutive chunks of the
// sequence. delta: see DeltaConfig. mamba2: a state-space mixer in place of attention, see Mamba2Config.
enum class AttentionKind : std::uint8_t { full, sliding, mla, linear, nope, chunked, delta, mamba2, none };

// What mixes the tokens of one block: causal attention, a mixer, or nothing. `window`: the number of keys a query sees,
// itself included (sliding), or the tokens of a chunk (chunked).
struct AttentionPattern {
  AttentionKind kind = AttentionKind::full;
  std::int64_t window = 0;
  friend bool operator==(const AttentionPattern&, const AttentionPattern&) = default;
};

// How tokens reach their experts and come back.
//   alltoall   every rank sends each of its tokens to the ranks that hold its experts, and gets the results back
//   merged     alltoall by a library that sends a token once to each rank that holds some of its experts, and once to
//              each domain, and sums results on their way back (DeepEP, HybridEP)
//   allgather  every rank sees all tokens and works on those of its experts; results are summed and scattered
//   smile      alltoall in two steps, to the right domain, then inside it; so does the router choose
//   exflow     every rank holds the context of all tokens (gathered once per pass): results stay with their experts
enum class Dispatcher : std::uint8_t { alltoall, merged, allgather, smile, exflow };

struct MixtureConfig {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t ffn = 0;                         // inner width of one expert
  std::int64_t shared_experts = 0;              // seen by every token
  std::optional<std::int64_t> shared_ffn = {};  // inner width of them together; default: shared_experts x ffn
  double capacity_factor = 0.0;                 // rows per expert over an even spread, padded; 0: dropless
  double imbalance = 1.0;                       // rows on the fullest rank over an even spread
  Dispatcher dispatcher = Dispatcher::alltoall;
  std::int64_t node_limit = 0;  // nodes that a token goes to at most; 0: every row crosses by itself
  bool shortcut = false;        // experts read what the block reads, not what its attention made
  bool router_bias = false;     // the router's product has a bias
  // A bias per expert that decides which experts a token goes to and not what they weigh. It is trained by counting
  // rows; their exchange and update are taken for those of a gradient of its size.
  bool balance_bias = false;
  bool shared_gate = false;  // the shared experts' result is weighted by a sigmoid of one product per token

  std::int64_t shared_width() const { return shared_ffn.value_or(shared_experts * ffn); }
  friend bool operator==(const MixtureConfig&, const MixtureConfig&) = default;
};

// Latent attention: queries and keys-values pass through a narrow projection; of each head's query and key `nope`
// dimensions come from it and `rope` ones are rotated, the latter part of the key common to all heads.
struct LatentConfig {
  std::int64_t q_lora = 0;  // 0: queries are projected directly
  std::int64_t kv_lora = 0;
  std::int64_t rope_dim = 0;
  std::int64_t nope_dim = 0;
  std::int64_t v_dim = 0;
  friend bool operator==(const LatentConfig&, const LatentConfig&) = default;
};

// Attention by a gated delta rule (Yang et al. 2024, arXiv 2412.06464), its queries, keys and values behind a short
// convolution; see src/models/delta_attention.cpp. Each key head serves value_heads / key_heads value heads.
struct DeltaConfig {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t convolution = 0;  // tokens that the convolution sees, the present one included

  std::int64_t group() const { return value_heads / key_heads; }
  friend bool operator==(const DeltaConfig&, const DeltaConfig&) = default;
};

// A state-space mixer (Mamba-2, arXiv 2405.21060, sections 6 and 7): every head carries a state of head_dim x state
// numbers from token to token; B and C, which write and read it, are common to the heads of a group.
struct Mamba2Config {
  std::optional<std::int64_t> heads = {};  // default: 2 x hidden / head_dim
  std::int64_t head_dim = 64;
  std::int64_t state = 128;
  std::int64_t groups = 1;
  std::int64_t conv = 4;     // tokens that the causal convolution before it sees, the current one included
  std::int64_t chunk = 256;  // tokens between two states that are written out
  bool bias = false;         // of its input and output projections
  bool conv_bias = true;
  friend bool operator==(const Mamba2Config&, const Mamba2Config&) = default;
};

// Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): module k of `depth` predicts the token k further
// ahead from what the one before it made of the same position and the embedding of the token k ahead,
//   h_k = block_k( M_k (norm(h_{k-1}), norm(embedding)) ),  M_k [h, 2 h],  loss_k = head(h_k)
// with the model's own embedding and head, and a final norm of its own.
struct PredictionConfig {
  std::int64_t depth = 1;  // 0: none
  friend bool operator==(const PredictionConfig&, const PredictionConfig&) = default;
};

// `repeat` consecutive equal blocks.
struct BlockPattern {
  std::int64_t repeat = 1;
  std::optional<MlpKind> mlp = {};                 // default: moe where the model has experts
  std::optional<AttentionPattern> attention = {};  // default: mla where the model has it, else full
  friend bool operator==(const BlockPattern&, const BlockPattern&) = default;
};

struct TransformerConfig {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;                // 0: no block has attention
  std::optional<std::int64_t> kv_heads;  // default: heads
  std::optional<std::int64_t> head_dim;  // default: hidden x ways / heads
  std::int64_t ffn = 0;                  // inner width of the MLP, of each half when gated; 0: no dense MLP
  bool gated_mlp = false;                // no default in files
  std::int64_t vocab = 0;
  std::optional<std::int64_t> vocab_multiple;  // absent: the vocabulary is not padded
  bool tied_embeddings = false;                // no default in files
  Norm norm = Norm::layernorm;
  NormPlace norm_place = NormPlace::pre;
  PositionEncoding position = PositionEncoding::learned;
  std::optional<std::int64_t> max_positions;  // rows of the learned position table; default: the sequence length
  bool bias = true;              // of every linear layer but the head; a layernorm keeps its shift either way
  std::optional<bool> qkv_bias;  // each default: bias
  std::optional<bool> projection_bias;
  std::optional<bool> mlp_bias;
  bool causal = true;                       // false: every query sees every key, as in encoders
  QkNorm qk_norm = QkNorm::none;            // RMS normalisation of queries and keys
  std::optional<std::int64_t> rope_dim;     // rotated dimensions of a head; default: all of it
  bool nope_scale = false;                  // queries that are not rotated are scaled by their position
  bool attention_gate = false;              // context x sigmoid(gate), the gate a product of its own
  bool attention_sinks = false;             // a learned score per query head that takes part in the softmax alone
  bool score_cap = false;                   // scores pass through cap tanh(score / cap)
  bool logit_cap = false;                   // as do the logits
  bool embedding_scale = false;             // the embedding is multiplied by a constant
  bool embedding_norm = false;              // normalisation right after the embedding
  double dropout = 0.0;                     // of what joins the residual stream
  std::optional<double> embedding_dropout;  // of the embedding; default: dropout
  std::optional<double> attention_dropout;  // of the attention probabilities; default: dropout
  std::optional<Activation> activation;     // default: gelu, silu when gated
  Residual residual = Residual::standard;
  std::int64_t ways = 1;  // kraken: sub-layers side by side; hidden and ffn are those of each, heads of all together
  std::optional<MixtureConfig> moe;
  std::optional<LatentConfig> mla;
  std::optional<DeltaConfig> delta;
  std::optional<Mamba2Config> mamba2;
  std::optional<PredictionConfig> mtp;
  std::vector<BlockPattern> blocks;  // repeated until `layers` is reached; empty: equal blocks, see default_block()

  // Mixture of experts and latent attention where the model has them.
  MlpKind mlp_of(const BlockPattern& block) const { return block.mlp.value_or(moe ? MlpKind::moe : MlpKind::dense); }
  AttentionPattern attention_of(const BlockPattern& block) const {
    return block.attention.value_or(AttentionPattern{.kind = mla ? AttentionKind::mla : AttentionKind::full});
  }
  std::int64_t prediction_depth() const { return mtp ? mtp->depth : 0; }
  std::int64_t kv_head_count() const { return kv_heads.value_or(heads); }
  // Query heads that share one key and value head.
  std::int64_t group() const { return heads == 0 ? 0 : heads / kv_head_count(); }
  std::int64_t head_size() const { return head_dim.value_or(heads == 0 ? 0 : hidden * ways / heads); }
  // Heads of the state-space mixer.
  std::int64_t state_heads() const {
    return mamba2->heads.value_or(mamba2->head_dim > 0 ? 2 * hidden / mamba2->head_dim : 0);
  }
  bool has_qkv_bias() const { return qkv_bias.value_or(bias); }
  bool has_projection_bias() const { return projection_bias.value_or(bias); }
  bool has_mlp_bias() const { return mlp_bias.value_or(bias); }
  std::int64_t rotated_size() const { return rope_dim.value_or(head_size()); }
  double stream_entry_dropout() const { return embedding_dropout.value_or(dropout); }
  double probability_dropout() const { return attention_dropout.value_or(dropout); }
  Activation activation_function() const {
    return activation.value_or(gated_mlp ? Activation::silu : Activation::gelu);
  }
  // Rows of the embedding table: vocab, padded to a multiple of vocab_multiple x divisor where a multiple is asked for
  // and divisor is not 0.
  std::int64_t padded_vocab(std::int64_t divisor) const;
  friend bool operator==(const TransformerConfig&, const TransformerConfig&) = default;
};

// Throws core::ConfigurationError with everything that is inconsistent or not modelled yet.
void validate(const TransformerConfig& config);

// Weights of every layer's matrices, by which a model is cut into stages: four of attention as if every head had keys
// and values of its own, or the three of a state-space mixer, and those of a dense MLP.
std::vector<std::int64_t> layer_weights(const TransformerConfig& config);

// The configuration as trained with sequences of `sequence` tokens: fills max_positions in where it is absent;
// attention in chunks that hold the whole sequence is full attention. Throws core::ConfigurationError when a learned
// position table is shorter than the sequence, or when chunks do not divide it.
TransformerConfig for_sequence(TransformerConfig config, std::int64_t sequence);

void describe(config::Value& value, AttentionPattern& attention);
void describe(config::Fields& fields, BlockPattern& block);
void describe(config::Fields& fields, MixtureConfig& mixture);
void describe(config::Fields& fields, LatentConfig& latent);
void describe(config::Fields& fields, DeltaConfig& delta);
void describe(config::Fields& fields, Mamba2Config& mixer);
void describe(config::Fields& fields, PredictionConfig& prediction);
void describe(config::Fields& fields, TransformerConfig& config);

}  // namespace cairn::models
