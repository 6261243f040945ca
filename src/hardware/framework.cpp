#include "cairn/hardware/framework.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/assert.h"

namespace cairn::hardware {
namespace {

const config::Choices<AttentionKernel> k_attention_kernels{
    {"unfused", AttentionKernel::unfused}, {"fused-softmax", AttentionKernel::fused_softmax},
    {"flash1", AttentionKernel::flash1},   {"flash2", AttentionKernel::flash2},
    {"flash3", AttentionKernel::flash3},   {"cudnn", AttentionKernel::cudnn}};
const config::Choices<NormKernel> k_norm_kernels{{"fused", NormKernel::fused}, {"unfused", NormKernel::unfused}};
const config::Choices<LossKernel> k_loss_kernels{
    {"fused", LossKernel::fused}, {"unfused", LossKernel::unfused}, {"log-softmax", LossKernel::log_softmax}};
const config::Choices<PointwiseKernel> k_pointwise_kernels{{"fused", PointwiseKernel::fused},
                                                           {"eager", PointwiseKernel::eager}};
const config::Choices<GradientFormat> k_gradient_formats{{"recipe", GradientFormat::recipe},
                                                         {"parameters", GradientFormat::parameters}};
const config::Choices<ReduceWhen> k_reduce_times{{"every-micro-batch", ReduceWhen::every_micro_batch},
                                                 {"last-micro-batch", ReduceWhen::last_micro_batch}};
const config::Choices<StageRule> k_stage_rules{
    {"even", StageRule::even}, {"balanced", StageRule::balanced}, {"by-weight", StageRule::by_weight}};
const config::Choices<HostWaits> k_host_waits{
    {"never", HostWaits::never}, {"unless-interleaved", HostWaits::unless_interleaved}, {"always", HostWaits::always}};

template <class E>
std::string_view name_of(const config::Choices<E>& choices, E value) {
  const auto found =
      std::find_if(choices.begin(), choices.end(), [value](const auto& choice) { return choice.second == value; });
  CAIRN_ASSERT(found != choices.end());
  return found->first;
}

}  // namespace

std::string_view name(AttentionKernel kernel) { return name_of(k_attention_kernels, kernel); }
std::string_view name(NormKernel kernel) { return name_of(k_norm_kernels, kernel); }
std::string_view name(LossKernel kernel) { return name_of(k_loss_kernels, kernel); }
std::string_view name(PointwiseKernel kernel) { return name_of(k_pointwise_kernels, kernel); }

core::Bytes Bucket::size(std::int64_t dp, numerics::Format gradients) const {
  if (bytes) return *bytes;
  const std::int64_t parameters = std::max(elements, elements_per_rank * dp);
  return core::Bytes::from_base(static_cast<double>(parameters) * numerics::bytes_per_element(gradients));
}

core::Bytes Allocator::reserved(core::Bytes held, core::Bytes passing, bool exchanges) const {
  const core::Bytes taken = held + factor(exchanges) * passing;
  if (segment.base() <= 0.0) return taken;
  return core::Bytes::from_base(std::ceil(taken.base() / segment.base()) * segment.base());
}

PrecisionRecipe FrameworkProfile::adjust(PrecisionRecipe recipe) const {
  if (accumulation.format == GradientFormat::parameters) {
    recipe.gradients = recipe.parameters;
    recipe.reduce = recipe.parameters;
  }
  return recipe;
}

void describe(config::Fields& fields, Kernels& kernels) {
  fields.choice("attention", kernels.attention, k_attention_kernels,
                {.doc = "attention kernel of experiments that name none"});
  fields.choice("norm", kernels.norm, k_norm_kernels, {.doc = "likewise, of normalisations"});
  fields.choice("pointwise", kernels.pointwise, k_pointwise_kernels,
                {.doc = "bias, activation, dropout, residual and rotation fused by hand, or a kernel each"});
  fields.choice("loss", kernels.loss, k_loss_kernels, {.doc = "likewise, of the cross-entropy"});
  fields.flag("wide_scores", kernels.wide_scores,
              {.doc = "unfused attention widens the scores to fp32 before it scales and masks them"});
  fields.flag("scaled_product", kernels.scaled_product,
              {.doc = "the product of queries and keys scales its result itself"});
  fields.flag("separate_qkv", kernels.separate_qkv, {.doc = "queries, keys and values are products of their own"});
  fields.flag("separate_gate", kernels.separate_gate,
              {.doc = "a gated MLP's two input projections are products of their own"});
  fields.flag("narrow_norm", kernels.narrow_norm,
              {.doc = "unfused RMS normalisation computes in the activations' format"});
  fields.flag("finds_best_token", kernels.finds_best_token,
              {.doc = "the loss finds every row's most likely token for the accuracy it reports"});
  fields.flag("gathers_logits", kernels.gathers_logits, {.doc = "every tensor-parallel rank computes the whole loss"});
  fields.flag("compiled", kernels.compiled, {.doc = "pointwise chains fused by a compiler"});
}

void describe(config::Fields& fields, FusedSoftmax& softmax) {
  fields.count("least", softmax.least, {.doc = "sequences up to this length have no kernel"});
  fields.count("longest", softmax.longest, {.doc = "sequences beyond this length have no kernel"});
  fields.count("multiple", softmax.multiple,
               {.doc = "sequence and micro-batch x heads are multiples of it", .minimum = 1});
}

void describe(config::Fields& fields, Bucket& bucket) {
  fields.quantity("bytes", bucket.bytes, {.doc = "in place of elements", .positive = true});
  fields.count("elements", bucket.elements, {.doc = "least parameters of a bucket", .minimum = 1});
  fields.count("elements_per_rank", bucket.elements_per_rank, {.doc = "parameters of a bucket per data-parallel rank"});
}

void describe(config::Fields& fields, OverlapDefaults& overlap) {
  fields.flag("dp_reduce", overlap.dp_reduce, {.doc = "gradient reduction beside the backward pass"});
  fields.flag("dp_reduce_sharded", overlap.dp_reduce_sharded,
              {.doc = "dp_reduce where ranks share the optimizer's state (ZeRO 1 and up); default: dp_reduce"});
  fields.flag("dp_gather", overlap.dp_gather, {.doc = "parameter gathers beside the forward pass"});
  fields.flag("tp_backward", overlap.tp_backward,
              {.doc = "communication of an input gradient beside the weight gradient"});
  fields.flag("pp", overlap.pp, {.doc = "messages between stages beside computation"});
  fields.flag("ep", overlap.ep, {.doc = "transfers of routed tokens beside the shared experts"});
  fields.object("bucket", overlap.bucket, {.doc = "unit of gradient reduction"});
}

void describe(config::Fields& fields, PointToPoint& p2p) {
  fields.flag("scatter_gather", p2p.scatter_gather,
              {.doc = "tensor-parallel ranks each send their share of an activation"});
  fields.choice("host_waits", p2p.host_waits, k_host_waits, {.doc = "whether the host synchronises after a transfer"});
}

void describe(config::Fields& fields, HostBehaviour& host) {
  fields.flag("synchronises_passes", host.synchronises_passes,
              {.doc = "the host waits for the device before every forward and backward pass"});
}

void describe(config::Fields& fields, Accumulation& accumulation) {
  fields.flag("fused", accumulation.fused, {.doc = "the weight gradient's product adds into the gradient buffer"});
  fields.choice("format", accumulation.format, k_gradient_formats, {.doc = "of gradients in memory and on the wire"});
  fields.flag("separate_buffer", accumulation.separate_buffer,
              {.doc = "gradients in the parameters' format live beside the buffer they are added to"});
  fields.flag("whole_reduce", accumulation.whole_reduce,
              {.doc = "a sharded optimizer's gradients are summed on every rank"});
}

void describe(config::Fields& fields, OptimizerStep& optimizer) {
  fields.count("gradient_reads", optimizer.gradient_reads,
               {.doc = "passes over the gradients before the update", .maximum = 16});
  fields.flag("gradient_copy", optimizer.gradient_copy, {.doc = "narrow gradients are widened into a buffer"});
  fields.flag("separate_parameter_copy", optimizer.separate_parameter_copy,
              {.doc = "the new parameters are written by their own pass"});
}

void describe(config::Fields& fields, Sharding& sharding) {
  fields.choice("reduce", sharding.reduce, k_reduce_times, {.doc = "when sharded gradients are reduced"});
  fields.count("prefetch", sharding.prefetch, {.doc = "units whose parameters are gathered ahead", .maximum = 2});
  fields.flag("reshard_after_forward", sharding.reshard_after_forward,
              {.doc = "gathered parameters are given up between forward and backward"});
  fields.flag(
      "narrow_shards", sharding.narrow_shards,
      {.doc = "stage 3 keeps shards in the parameters' format beside the master copy; else it casts from that"});
  fields.flag("pipeline", sharding.pipeline,
              {.doc = "sharded gradients and parameters go together with pipeline stages"});
}

void describe(config::Fields& fields, Recompute& recompute) {
  fields.flag("gathers_saved_input", recompute.gathers_saved_input,
              {.doc = "a layer's saved input is split over tensor-parallel ranks"});
  fields.flag("covers_ends", recompute.covers_ends,
              {.doc = "full recomputation takes in embedding, last norm and head"});
}

void describe(config::Fields& fields, StageBuffers& buffers) {
  fields.count("results", buffers.results,
               {.doc = "micro-batches whose logits the last stage holds until others replace them", .maximum = 64});
}

void describe(config::Fields& fields, Allocator& allocator) {
  fields.number("reserve_factor", allocator.reserve_factor,
                {.doc = "reserved over allocated memory at the peak, beyond what is held throughout",
                 .minimum = 1.0,
                 .maximum = 4.0});
  fields.number("exchange_factor", allocator.exchange_factor,
                {.doc = "in place of reserve_factor where tp, cp, ep or pp exceeds 1; absent: the same",
                 .minimum = 1.0,
                 .maximum = 4.0});
  fields.flag("records_streams", allocator.records_streams,
              {.doc = "what tensor-parallel reductions used comes free at the end of a pass, since hosts run ahead"});
  fields.quantity("segment", allocator.segment, {.doc = "granularity at which memory is taken from the device"});
  fields.quantity("gemm_workspace", allocator.gemm_workspace, {.doc = "scratch memory of the matrix library"});
}

void describe(config::Fields& fields, Capabilities& capabilities) {
  fields.flag("sequence_parallel", capabilities.sequence_parallel,
              {.doc = "whether it shares norms along the sequence"});
  fields.flag("selective_recompute", capabilities.selective_recompute,
              {.doc = "whether it recomputes attention alone"});
  fields.count("zero", capabilities.zero, {.doc = "highest ZeRO stage", .maximum = 3});
  fields.flag("interleaved", capabilities.interleaved, {.doc = "whether it runs interleaved schedules"});
}

void describe(config::Fields& fields, FittedNumbers& fitted) {
  fields.quantity("host_per_kernel", fitted.host_per_kernel,
                  {.doc = "host time to issue one kernel", .required = true});
  fields.quantity("host_per_micro_batch", fitted.host_per_micro_batch,
                  {.doc = "host time of each micro-batch", .required = true});
  fields.quantity("host_per_step", fitted.host_per_step, {.doc = "host time of each step", .required = true});
  fields.count(
      "launches_per_peer", fitted.launches_per_peer,
      {.doc = "kernels' worth of host time per rank and collective of tensor parallelism, in a pipeline across "
              "domains",
       .maximum = 64});
}

void describe(config::Fields& fields, FrameworkProfile& profile) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", profile.name, {.doc = "shown in reports", .required = true});
  fields.object("kernels", profile.kernels, {.doc = "defaults of training.kernels"});
  fields.object("fused_softmax", profile.fused_softmax, {.doc = "shapes for which the kernel exists"});
  fields.object("accumulation", profile.accumulation, {.doc = "of gradients over micro-batches"});
  fields.object("overlap", profile.overlap, {.doc = "defaults of strategy.overlap"});
  fields.choice("stages", profile.stages, k_stage_rules, {.doc = "default of strategy.stages"});
  fields.object("p2p", profile.p2p, {.doc = "between pipeline stages"});
  fields.object("host", profile.host, {.doc = "what makes the host wait for the device"});
  fields.object("optimizer", profile.optimizer, {.doc = "passes of the optimizer step over memory"});
  fields.object("sharding", profile.sharding, {.doc = "gradients and parameters kept in shards"});
  fields.object("recompute", profile.recompute, {.doc = "what its ways of recomputing keep"});
  fields.object("buffers", profile.buffers, {.doc = "what a stage keeps without use"});
  fields.object("allocator", profile.allocator, {.doc = "how its memory allocator rounds and keeps"});
  fields.object("capabilities", profile.capabilities, {.doc = "what the release can do at all"});
  fields.object("fitted", profile.fitted, {.doc = "the four numbers that are fitted", .required = true});
  fields.map("releases", profile.releases, {.doc = "what a named release lays over this file"},
             [](config::Value& value, config::Node& overlay) { value.node(overlay); });
}

}  // namespace cairn::hardware
