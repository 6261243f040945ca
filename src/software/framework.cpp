#include "cairn/software/framework.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "cairn/sequence/scheme.h"

namespace cairn::software {
namespace {

const config::Choices<GradientFormat> k_gradient_formats{{"recipe", GradientFormat::recipe},
                                                         {"parameters", GradientFormat::parameters}};
const config::Choices<ReduceWhen> k_reduce_times{{"every-micro-batch", ReduceWhen::every_micro_batch},
                                                 {"last-micro-batch", ReduceWhen::last_micro_batch}};
const config::Choices<StageRule> k_stage_rules{
    {"even", StageRule::even}, {"balanced", StageRule::balanced}, {"by-weight", StageRule::by_weight}};
const config::Choices<plan::HostWaits> k_host_waits{{"never", plan::HostWaits::never},
                                                    {"unless-interleaved", plan::HostWaits::unless_interleaved},
                                                    {"always", plan::HostWaits::always}};

// A map whose keys belong to several parts of the profile.
template <class Describe>
void section(config::Fields& fields, std::string_view key, FrameworkProfile& profile, config::Rule rule,
             Describe description) {
  fields.value(key, profile, rule, [&](config::Value& value, FrameworkProfile& parts) {
    value.object([&](config::Fields& keys) { description(keys, parts); });
  });
}

void accumulation(config::Fields& fields, FrameworkProfile& profile) {
  Accumulation& accumulation = profile.accumulation;
  fields.flag("fused", accumulation.fused, {.doc = "the weight gradient's product adds into the gradient buffer"});
  fields.choice("format", accumulation.format, k_gradient_formats, {.doc = "of gradients in memory and on the wire"});
  fields.flag("separate_buffer", accumulation.separate_buffer,
              {.doc = "gradients in the parameters' format live beside the buffer they are added to"});
  fields.flag("copies_to_buckets", profile.step_end.copies_to_buckets,
              {.doc = "the step's end reduces copies: joined, divided, in the wire's format, and copied back"});
  fields.flag("whole_reduce", profile.behaviour.reduce_whole_gradients,
              {.doc = "gradients are summed on every rank though it updates a share (ZeRO 1 and 2)"});
}

void point_to_point(config::Fields& fields, FrameworkProfile& profile) {
  fields.flag("scatter_gather", profile.behaviour.scatter_sends,
              {.doc = "tensor-parallel ranks each send their share of an activation"});
  fields.choice("host_waits", profile.behaviour.host_waits, k_host_waits,
                {.doc = "whether the host synchronises after a transfer"});
}

void tensor_parallel(config::Fields& fields, FrameworkProfile& profile) {
  fields.flag(
      "keeps_gathered_inputs", profile.behaviour.keeps_gathered_inputs,
      {.doc = "what sequence parallelism gathers for products is kept for their derivatives, whose gradients of "
              "it are added up before one reduce-scatter"});
}

void host(config::Fields& fields, FrameworkProfile& profile) {
  fields.flag("synchronises_passes", profile.behaviour.host_waits_for_computation,
              {.doc = "the host waits for the device before every forward and backward pass"});
  fields.number("memory_share", profile.host_times.memory_share,
                {.doc = "of the host's memory bandwidth, what the passes of an offloaded update reach",
                 .minimum = 0.01,
                 .maximum = 1.0});
}

void optimizer(config::Fields& fields, FrameworkProfile& profile) {
  plan::StepEndBehaviour& end = profile.step_end;
  fields.count("gradient_reads", end.gradient_reads,
               {.doc = "passes over the gradients before the update", .maximum = 16});
  fields.flag("gradient_copy", end.gradient_copy, {.doc = "narrow gradients are widened into a buffer"});
  fields.flag("gradient_join", end.gradient_join,
              {.doc = "narrow gradients are copied into one tensor before they are widened"});
  fields.flag("gradient_scale", end.gradient_scale,
              {.doc = "gradients are multiplied by loss scale and clipping in a pass of their own"});
  fields.flag("separate_parameter_copy", end.separate_parameter_copy,
              {.doc = "the new parameters are written by their own pass"});
  fields.flag(
      "separate_kernels", end.separate_kernels,
      {.doc = "each arithmetic operation of the update is a kernel with its reads and writes; else one has all"});
  fields.flag("whole_gradients", end.whole_gradients,
              {.doc = "reads and scaling come first, over all gradients of a rank, not those it updates"});
}

void sharding(config::Fields& fields, FrameworkProfile& profile) {
  describe(fields, profile.sharding);
  fields.flag("copies_gathered", profile.behaviour.copies_gathered,
              {.doc = "what is gathered is copied into the gather's buffer and out of it into tensors of its own"});
  fields.flag("pads_gradients", profile.behaviour.pads_gradients,
              {.doc = "whole gradients are copied into a padded tensor before they are reduced to shards"});
  fields.flag("divides_gradients", profile.behaviour.divides_gradients,
              {.doc = "whole gradients are divided in a pass of their own before they are reduced to shards"});
  fields.flag("awaits_offloaded", profile.behaviour.awaits_offloaded_gradients,
              {.doc = "stage 3: the host waits until shards of gradients have reached an optimizer that it keeps"});
  fields.flag("returns_offloaded", profile.behaviour.returns_offloaded_gradients,
              {.doc = "stage 3: before, they are copied to the host in their own format and back"});
  fields.flag("keeps_root_gathered", profile.behaviour.keeps_root_gathered,
              {.doc = "parameters of the first and last layer stay gathered to the backward pass, under a pipeline to "
                      "the last one"});
}

void recompute(config::Fields& fields, FrameworkProfile& profile) {
  fields.flag("gathers_saved_input", profile.gathers_saved_input,
              {.doc = "a layer's saved input is split over tensor-parallel ranks"});
  fields.flag("keeps_unread", profile.behaviour.keeps_unread_products,
              {.doc = "per-op recomputation keeps products that nothing reads again, unless a compiler drops them"});
  fields.list("repeats_attention", profile.repeats_attention,
              {.doc = "attention kernels that per-op recomputation runs again"},
              [](config::Value& value, models::AttentionKernel& kernel) { models::describe(value, kernel); });
  fields.flag("covers_ends", profile.behaviour.recompute_ends,
              {.doc = "full recomputation takes in embedding, last norm and head"});
}

void buffers(config::Fields& fields, FrameworkProfile& profile) {
  fields.count("results", profile.behaviour.held_results,
               {.doc = "micro-batches whose logits the last stage holds until others replace them", .maximum = 64});
  fields.flag("buckets", profile.behaviour.holds_buckets,
              {.doc = "gradients of shared state are reduced in buckets that are allocated whole"});
}

void library_workspace(config::Fields& fields, const std::string& key, hardware::LibraryWorkspace& workspace,
                       std::string_view doc) {
  fields.quantity(key, workspace.bytes, {.doc = doc});
  fields.map(key + "_on", workspace.by_architecture, {.doc = "architecture of the accelerator -> the same there"},
             [](config::Value& value, core::Bytes& bytes) { value.quantity(bytes); });
}

void allocator(config::Fields& fields, FrameworkProfile& profile) {
  hardware::Allocator& allocator = profile.allocator;
  fields.number(
      "reserve_factor", allocator.reserve_factor,
      {.doc = "fitted: what comes and goes during a step counts so often at least", .minimum = 1.0, .maximum = 4.0});
  fields.number("exchange_factor", allocator.exchange_factor,
                {.doc = "in place of reserve_factor where tp, cp, ep or pp exceeds 1; absent: the same",
                 .minimum = 1.0,
                 .maximum = 4.0});
  fields.flag("caching", allocator.caching,
              {.doc = "keeps what is freed, as PyTorch's does; else as much is reserved as is allocated"});
  fields.flag("expandable_segments", allocator.expandable_segments,
              {.doc = "segments grow by pages (PYTORCH_CUDA_ALLOC_CONF)"});
  fields.quantity("max_split_size", allocator.max_split_size,
                  {.doc = "larger blocks are not split (PYTORCH_CUDA_ALLOC_CONF); 0: all are"});
  fields.check(
      "max_split_size",
      [&allocator] {
        constexpr auto k_shared = static_cast<double>(hardware::CachingAllocator::k_shared_segment);
        return allocator.max_split_size <= core::Bytes{} || allocator.max_split_size.base() > k_shared;
      },
      "no more than the segments that small tensors share", "give more than 20 MiB, or 0 to split all");
  fields.count("roundup_power2_divisions", allocator.power2_divisions,
               {.doc = "sizes are rounded up to as many steps between powers of two (PYTORCH_CUDA_ALLOC_CONF); 0: none",
                .minimum = 0,
                .maximum = 64});
  fields.flag("records_streams", profile.behaviour.records_reductions,
              {.doc = "what tensor-parallel reductions used comes free at the end of a pass, since hosts run ahead; "
                      "at once where launches_per_peer holds them up"});
  library_workspace(fields, "gemm_workspace", allocator.gemm_workspace, "scratch memory of matrix libraries");
  library_workspace(fields, "expert_workspace", allocator.expert_workspace,
                    "and of those that run the products of several experts at once");
}

void fitted(config::Fields& fields, FrameworkProfile& profile) {
  for (const hardware::HostNumber& number : hardware::k_host_numbers) {
    config::NumberRule rule{.doc = number.doc, .required = number.required};
    if (number.most) rule.maximum = *number.most;
    const auto describe_member = [&](auto member) {
      auto& x = profile.host_times.*member;
      if constexpr (std::is_same_v<decltype(member), core::Seconds hardware::HostTimes::*>)
        fields.quantity(number.key, x, rule);
      else
        fields.number(number.key, x, rule);
    };
    std::visit(describe_member, number.member);
  }
}

}  // namespace

core::Bytes Bucket::size(std::int64_t dp, numerics::Format gradients) const {
  if (bytes) return *bytes;
  const double parameters =
      std::max(static_cast<double>(elements), static_cast<double>(elements_per_rank) * static_cast<double>(dp));
  return core::Bytes::from_base(parameters * numerics::bytes_per_element(gradients));
}

PrecisionRecipe FrameworkProfile::adjust(PrecisionRecipe recipe) const {
  if (accumulation.format == GradientFormat::parameters) {
    recipe.gradients = recipe.parameters;
    recipe.reduce = recipe.parameters;
  }
  return recipe;
}

models::Kernels FrameworkProfile::kernels_on(const hardware::Accelerator& accelerator) const {
  models::Kernels result = kernels;
  for (const auto& [architecture, kernel] : attention_on)
    if (architecture == accelerator.architecture) result.attention = kernel;
  return result;
}

plan::FrameworkBehaviour FrameworkProfile::whole_behaviour() const {
  plan::FrameworkBehaviour whole = behaviour;
  // Further kernels cost nothing where none costs anything.
  const bool timed = host_times.per_kernel > core::Seconds{};
  whole.issues_per_peer = timed && host_times.per_peer(false) > 0.0;
  whole.issues_per_peer_across = timed && host_times.per_peer(true) > 0.0;
  return whole;
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
  fields.flag("dp_reduce_zero3", overlap.dp_reduce_zero3,
              {.doc = "dp_reduce where ranks share parameters (ZeRO 3); default: dp_reduce_sharded"});
  fields.flag("tp_backward", overlap.tp_backward,
              {.doc = "communication of an input gradient beside the weight gradient"});
  fields.flag("pp", overlap.pp, {.doc = "messages between stages beside computation"});
  fields.flag("ep", overlap.ep, {.doc = "transfers of routed tokens beside the shared experts"});
  fields.object("bucket", overlap.bucket, {.doc = "unit of gradient reduction"});
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

void describe(config::Fields& fields, Capabilities& capabilities) {
  fields.flag("sequence_parallel", capabilities.sequence_parallel,
              {.doc = "whether it shares norms along the sequence"});
  fields.flag("selective_recompute", capabilities.selective_recompute,
              {.doc = "whether it recomputes attention alone"});
  fields.count("zero", capabilities.zero, {.doc = "highest ZeRO stage", .maximum = 3});
  fields.flag("interleaved", capabilities.interleaved, {.doc = "whether it runs interleaved schedules"});
}

void describe(config::Fields& fields, FrameworkProfile& profile) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", profile.name, {.doc = "shown in reports", .required = true});
  fields.object("kernels", profile.kernels, {.doc = "defaults of training.kernels"});
  fields.map("attention_on", profile.attention_on,
             {.doc = "architecture of the accelerator -> its attention kernel, in place of kernels.attention"},
             [](config::Value& value, models::AttentionKernel& kernel) { models::describe(value, kernel); });
  fields.text(
      "libraries", profile.libraries,
      {.doc = "releases of the libraries whose kernels it runs, an entry of calibrations' `libraries`; where they "
              "have none, or none is named: their own"});
  fields.object("fused_softmax", profile.fused_softmax, {.doc = "shapes for which the kernel exists"});
  section(fields, "accumulation", profile, {.doc = "of gradients over micro-batches"}, accumulation);
  fields.object("overlap", profile.overlap, {.doc = "defaults of strategy.overlap"});
  fields.choice("stages", profile.stages, k_stage_rules, {.doc = "default of strategy.stages"});
  fields.name("attention_sharing", profile.attention_sharing, sequence::scheme_names(),
              {.doc = "default of strategy.attention: how ranks that share a sequence share its attention"});
  fields.flag("attention_fp32_gradients", profile.attention_fp32_gradients,
              {.doc = "default of strategy.attention.fp32_gradients"});
  fields.flag("attention_waits_compiled", profile.behaviour.waits_for_attention,
              {.doc = "where a compiler is used, ranks that share a sequence wait for each exchange of its attention "
                      "before they compute on"});
  section(fields, "tensor_parallel", profile, {.doc = "layers shared by tensor-parallel ranks"}, tensor_parallel);
  section(fields, "p2p", profile, {.doc = "between pipeline stages"}, point_to_point);
  section(fields, "host", profile, {.doc = "what makes the host wait for the device"}, host);
  section(fields, "optimizer", profile, {.doc = "passes of the optimizer step over memory"}, optimizer);
  section(fields, "sharding", profile, {.doc = "gradients and parameters kept in shards"}, sharding);
  section(fields, "recompute", profile, {.doc = "what its ways of recomputing keep"}, recompute);
  section(fields, "buffers", profile, {.doc = "what a stage keeps without use"}, buffers);
  section(fields, "allocator", profile, {.doc = "how its memory allocator rounds and keeps"}, allocator);
  fields.object("capabilities", profile.capabilities, {.doc = "what the release can do at all"});
  section(fields, "fitted", profile, {.doc = "the numbers that are fitted", .required = true}, fitted);
  fields.map("releases", profile.releases, {.doc = "what a named release lays over this file"},
             [](config::Value& value, config::Node& overlay) { value.node(overlay); });
}

}  // namespace cairn::software
