#include "cairn/models/kernels.h"

#include <array>

namespace cairn::models {
namespace {

enum class Scores : std::uint8_t { in_memory, on_chip };
struct AttentionForm {
  const char* variant;
  std::string_view text;
  Scores scores;
};
constexpr std::array k_attention_forms{
#define CAIRN_ATTENTION_KERNEL(name, text, scores) AttentionForm{#name, text, Scores::scores},
#include "cairn/models/attention_kernels.def"
#undef CAIRN_ATTENTION_KERNEL
};

const AttentionForm& form(AttentionKernel kernel) { return k_attention_forms.at(static_cast<std::size_t>(kernel)); }

const config::Choices<AttentionKernel>& attention_kernels() {
  static const config::Choices<AttentionKernel> choices = [] {
    config::Choices<AttentionKernel> all;
    for (std::size_t i = 0; i < k_attention_forms.size(); ++i)
      all.emplace_back(k_attention_forms.at(i).text, static_cast<AttentionKernel>(i));
    return all;
  }();
  return choices;
}

const config::Choices<NormKernel> k_norm_kernels{{"fused", NormKernel::fused}, {"unfused", NormKernel::unfused}};
const config::Choices<PointwiseKernel> k_pointwise_kernels{{"fused", PointwiseKernel::fused},
                                                           {"eager", PointwiseKernel::eager}};
const config::Choices<LossKernel> k_loss_kernels{{"fused", LossKernel::fused},
                                                 {"unfused", LossKernel::unfused},
                                                 {"log-softmax", LossKernel::log_softmax},
                                                 {"fused-linear", LossKernel::fused_linear}};
constexpr std::string_view k_transformer_engine = "transformer-engine";
const config::Choices<TransposeKernel> k_transpose_kernels{{"plain", TransposeKernel::plain},
                                                           {k_transformer_engine, TransposeKernel::transformer_engine}};

}  // namespace

std::string_view name(AttentionKernel kernel) { return form(kernel).text; }
const char* variant(AttentionKernel kernel) { return form(kernel).variant; }
std::string name(TransposeKernel kernel) {
  return std::string(kernel == TransposeKernel::plain ? "" : k_transformer_engine);
}
bool keeps_scores(AttentionKernel kernel) { return form(kernel).scores == Scores::in_memory; }

Kernels KernelChoice::over(Kernels kernels) const {
  kernels.attention = attention.value_or(kernels.attention);
  kernels.norm = norm.value_or(kernels.norm);
  kernels.pointwise = pointwise.value_or(kernels.pointwise);
  kernels.loss = loss.value_or(kernels.loss);
  kernels.compiled = compiled.value_or(kernels.compiled);
  return kernels;
}

KernelChoice choice_of(const Kernels& kernels) {
  return {.attention = kernels.attention,
          .norm = kernels.norm,
          .pointwise = kernels.pointwise,
          .loss = kernels.loss,
          .compiled = kernels.compiled};
}

void describe(config::Value& value, AttentionKernel& kernel) { value.choice(kernel, attention_kernels()); }

void describe(config::Fields& fields, Kernels& kernels) {
  fields.choice("attention", kernels.attention, attention_kernels(),
                {.doc = "attention kernel of experiments that name none"});
  fields.choice("norm", kernels.norm, k_norm_kernels, {.doc = "likewise, of normalisations"});
  fields.choice("pointwise", kernels.pointwise, k_pointwise_kernels,
                {.doc = "bias, activation, dropout, residual and rotation fused by hand, or a kernel each"});
  fields.choice("loss", kernels.loss, k_loss_kernels, {.doc = "likewise, of the cross-entropy"});
  fields.choice("transpose", kernels.transpose, k_transpose_kernels,
                {.doc = "what writes transposed copies of operands in FP8, for units that take one layout"});
  fields.flag("wide_scores", kernels.wide_scores,
              {.doc = "unfused attention widens the scores to fp32 before it scales and masks them"});
  fields.flag("scaled_product", kernels.scaled_product,
              {.doc = "the product of queries and keys scales its result itself"});
  fields.flag("separate_qkv", kernels.separate_qkv, {.doc = "queries, keys and values are products of their own"});
  fields.flag(
      "repeats_keys", kernels.repeats_keys,
      {.doc = "with separate_qkv, keys and values are copied to every query head that shares them, and attention "
              "takes, keeps and exchanges the copies"});
  fields.flag(
      "copies_qkv", kernels.copies_qkv,
      {.doc = "of one product, where every head has its own keys: queries, keys and values are copied into another "
              "order, keys and values again into a tensor of their own, and both copies rotated in place and kept; not "
              "where a compiler is used"});
  fields.flag("separate_gate", kernels.separate_gate,
              {.doc = "a gated MLP's two input projections are products of their own"});
  fields.flag("narrow_norm", kernels.narrow_norm,
              {.doc = "unfused RMS normalisation computes in the activations' format"});
  fields.flag("wide_norm", kernels.wide_norm,
              {.doc = "fused normalisation reads a widened copy, which is made again for its derivative"});
  fields.flag("one_pass_norm", kernels.one_pass_norm,
              {.doc = "the derivative of a fused normalisation makes its parameters' gradients in the same pass"});
  fields.flag("joins_qkv", kernels.joins_qkv,
              {.doc = "gradients of queries, keys and values are made apart and copied into one; not where cuDNN reads "
                      "them from one"});
  fields.flag("weighted_experts", kernels.weighted_experts,
              {.doc = "experts' activations scale rows by the router's weights, which travel with them; else their sum "
                      "is weighted"});
  fields.flag(
      "sorts_rows", kernels.sorts_rows,
      {.doc = "with the all-to-all dispatcher, ranks of several experts sort rows by expert, and back, alone as well"});
  fields.flag(
      "fused_router", kernels.fused_router,
      {.doc = "choice and balancing loss of the router in a kernel each, not operation by operation; no effect where "
              "the calibration has no such kernels"});
  fields.flag("copies_logits", kernels.copies_logits,
              {.doc = "an unfused loss subtracts the maximum into a further fp32 tensor, not in place"});
  fields.flag("finds_best_token", kernels.finds_best_token,
              {.doc = "the loss finds every row's most likely token for the accuracy it reports"});
  fields.flag("gathers_logits", kernels.gathers_logits, {.doc = "every tensor-parallel rank computes the whole loss"});
  fields.count("metric_passes", kernels.metric_passes,
               {.doc = "passes over the logits' bytes by metrics beside the loss, every micro-batch", .maximum = 64});
  fields.flag("compiled_loss", kernels.compiled_loss, {.doc = "where a compiler is used, it takes in the loss"});
  fields.flag("compiled", kernels.compiled, {.doc = "pointwise chains fused by a compiler"});
}

void describe(config::Fields& fields, KernelChoice& kernels) {
  fields.choice("attention", kernels.attention, attention_kernels(),
                {.doc = "attention kernel; default: the framework's"});
  fields.choice("norm", kernels.norm, k_norm_kernels, {.doc = "normalisation kernel; default: the framework's"});
  fields.choice("pointwise", kernels.pointwise, k_pointwise_kernels,
                {.doc = "kernels of bias, activation, dropout, residual and rotation; default: the framework's"});
  fields.choice("loss", kernels.loss, k_loss_kernels, {.doc = "cross-entropy kernel; default: the framework's"});
  fields.flag("compiled", kernels.compiled, {.doc = "a compiler fuses pointwise chains; default: the framework's"});
}

}  // namespace cairn::models
