#include "silent_settings.h"

#include <algorithm>
#include <iterator>

namespace cairn::laws {
namespace {

// Keys that no result follows, and why. A `*` at either end stands for any text.
struct Silent {
  std::string_view keys;
  std::string_view why;
};
constexpr Silent k_silent[] = {
    {"*.version", "of the format, of which there is one"},
    {"*.extends", "what the file is laid over, part of no setting"},
    {"experiment.name", "a label, repeated with the experiment"},
    {"experiment.strategy.dp", "follows from the other degrees and the cluster, and must agree"},
    {"experiment.strategy.micro_batches", "follows from the batch, and must agree"},
    {"experiment.strategy.schedule.vocabulary", "refused but for one word: a step takes whole alone"},
    {"experiment.simulation.jitter.distribution", "of which there is one"},
    {"model.name", "a label"},
    {"framework.name", "a label"},
    {"model.kind", "of which there is one"},
    {"precision.recipe", "a label: the recipe that a block begins with is laid under it"},
    {"cluster.groups", "of unlike accelerators: `cairn search --method cephalo` reads it, a run refuses it"},
    {"cluster.intra.size", "refused: belongs to the general form"},
    {"cluster.inter.size", "the same"},
    {"cluster.name", "a label"},
    {"cluster.host.link.kind", "a label"},
    {"framework.sharding.pipeline", "decides what is refused"},
    {"calibration.attention_operator.*", "of an operator of benchmarks: `cairn calibrate` reads it"},
    {"calibration.gemm[].launch_floor", "of a benchmark's call: `cairn calibrate` reads it"},
    {"calibration.gemm[].quantise_passes", "the same"},
    {"calibration.gemm[].cache_share", "the same"},
    {"calibration.gemm[].relative_clock",
     "1 in every shipped file, whose own products have the clock of `sustained`; read as that of libraries"},
    {"calibration.gemm[].clock", "of no shipped file's own sets; read as that of libraries"},
    {"calibration.flash_attention[].clock", "the same"},
    {"calibration.flash_attention[].relative_clock", "the same"},
    {"calibration.power.*", "the same"},
    {"calibration.accelerator", "whose prices it gives: refused for another that has its own"},
    {"calibration.transposes[].evidence", "what a rate rests on, for readers"},
    {"calibration.transposes[].source", "the same"},
    {"calibration.libraries.*.kernels[].evidence", "the same"},
    {"calibration.libraries.*.kernels[].source", "the same"},
    {"calibration.libraries.*.gemm[].source", "said of assumed sets, of which no release of libraries has any"},
    {"calibration.libraries.*.flash_attention[].source", "the same"},
    {"calibration.libraries.*.gemm[].launch_floor", "of a benchmark's call: `cairn calibrate` reads it"},
    {"calibration.libraries.*.gemm[].quantise_passes", "the same"},
    {"calibration.libraries.*.gemm[].cache_share", "the same"},
    {"calibration.libraries.*.gemm[].cache_speed",
     "in no shipped release of libraries; read as that of calibration.gemm[]"},
    {"calibration.libraries.*.gemm[].max_split", "the same"},
    {"calibration.libraries.*.gemm[].remark", "the same"},
    {"calibration.libraries.*.gemm[].step_bytes", "the same"},
    {"calibration.libraries.*.gemm[].tile_overhead", "the same"},
    {"fabrics.fabrics.*.source", "what a law rests on, for readers"},
    {"*.fit.in_sample.*", "how well a law was fitted: what `cairn calibrate` found, for readers"},
    {"*.fit.left_out.*", "the same"},
    {"*.fit.left_out_by", "the same"},
    {"*.fit.residuals.*", "the same"},
    {"*.fit.rows", "the same"},
};

// On a node that has narrow products: experts on all devices.
constexpr const char* k_experts = R"({"model": "mixtral-8x7b", "cluster": "dgx-h100", "calibration": null,
  "simulation": null, "strategy": {"tp": 1, "pp": 1, "dp": null,
  "cp": null, "etp": null, "stages": null, "schedule": null, "micro_batch": 1, "micro_batches": null, "order": null,
  "expert_order": null, "sequence_parallel": null, "overlap": null, "recompute": null, "vocab_parallel": null,
  "ep": 8, "zero": null}, "training": {"seq_len": 512, "global_batch": 16, "kernels": null, "optimizer": null,
  "framework": "megatron"}})";
// On a node whose attention kernels have timings: ranks that share sequences of 64 heads.
constexpr const char* k_long_sequences = R"({"model": "llama-3.1-70b", "cluster": "dgx-h100", "calibration": null,
  "simulation": null, "strategy": {"tp": 1, "pp": 1, "dp": null, "cp": 8, "attention": null, "ep": null, "etp": null,
  "stages": null, "schedule": null, "micro_batch": 1, "micro_batches": null, "order": null, "expert_order": null,
  "sequence_parallel": null, "overlap": null, "recompute": null, "vocab_parallel": null, "zero": null}, "training":
  {"seq_len": 8192, "global_batch": 1, "precision": "bf16", "optimizer": null,
  "kernels": {"attention": "flash2"}}})";
// Rows of the last of the widths that a norm of the calibration's libraries has a kernel for. The calibration stays, so
// that others than this cluster's are refused.
constexpr const char* k_wide_rows = R"({"model": "llama-3.1-70b", "cluster": "dgx-h100", "simulation": null,
  "strategy": {"tp": 8, "pp": 1, "dp": null, "cp": null, "attention": null, "ep": null, "etp": null, "stages": null,
  "schedule": null, "micro_batch": 1, "micro_batches": null, "order": null, "expert_order": null,
  "sequence_parallel": true, "overlap": null, "recompute": null, "vocab_parallel": null, "zero": null},
  "training": {"seq_len": 2048, "global_batch": 1, "precision": "bf16", "optimizer": null,
  "kernels": {"attention": "flash2", "norm": "fused"}}})";
// Every head has its own keys, which are rotated.
constexpr const char* k_own_keys = R"({"model": "llama-2-7b", "cluster": "dgx-h100", "calibration": null,
  "simulation": null, "strategy": {"tp": 8, "pp": 1, "dp": null, "cp": null, "attention": null, "ep": null,
  "etp": null, "stages": null, "schedule": null, "micro_batch": 1, "micro_batches": null, "order": null,
  "expert_order": null, "sequence_parallel": null, "overlap": null, "recompute": null, "vocab_parallel": null,
  "zero": null}, "training": {"seq_len": 2048, "global_batch": 1, "precision": "bf16", "optimizer": null,
  "kernels": null}})";
// Two stages of two nodes each, whose tensor-parallel groups cross both.
constexpr const char* k_groups_across = R"({"model": "megatron-22b", "cluster": {"file": "dgx-h100", "nodes": 4},
  "calibration": null, "simulation": null, "strategy": {"tp": 16, "pp": 2, "dp": null, "cp": null, "attention": null,
  "ep": null, "etp": null, "stages": null, "schedule": null, "micro_batch": 1, "micro_batches": null, "order": null,
  "expert_order": null, "sequence_parallel": null, "overlap": null, "recompute": null, "vocab_parallel": null,
  "zero": null}, "training": {"seq_len": 512, "global_batch": 8, "precision": "bf16", "optimizer": null,
  "kernels": null}})";
constexpr const char* k_offloaded_shards = R"({"strategy": {"zero": {"stage": 3, "offload": {"optimizer": "host"}}}})";
// On a node whose attention kernels have timings.
constexpr const char* k_operator_by_operator = R"({"model": "llama-3.1-70b", "cluster": "dgx-h100", "calibration": null,
  "simulation": null, "strategy": {"tp": 8, "pp": 1, "dp": null, "cp": null, "attention": null, "ep": null, "etp": null,
  "stages": null, "schedule": null, "micro_batch": 1, "micro_batches": null, "order": null, "expert_order": null,
  "sequence_parallel": null, "overlap": null, "recompute": "per-op", "vocab_parallel": null, "zero": null}, "training":
  {"seq_len": 2048, "global_batch": 1, "precision": "bf16", "optimizer": null,
  "kernels": {"attention": "flash2"}}})";
constexpr const char* k_with_libraries =
    R"({"libraries": "transformer-engine-2", "kernels": {"transpose": "transformer-engine"}})";
constexpr Opened k_opened[] = {
    {"experiment.simulation.seed", R"({"simulation": {"jitter": {"sigma": 0.3}}})"},
    {"experiment.training.optimizer.block", R"({"training": {"optimizer": {"kind": "adam8bit"}}})"},
    {"experiment.strategy.expert_order[]", R"({"strategy": {"ep": 2, "zero": null}})"},
    {"cluster.host.nvme.*", R"({"strategy": {"zero": {"stage": 3, "offload": {"optimizer": "nvme"}}}})"},
    {"cluster.host.*", R"({"strategy": {"zero": {"stage": 0, "offload": {"policy": "zero-offload"}}}})"},
    {"precision.activations",
     R"({"strategy": {"cp": null, "dp": null, "attention": null}, "training": {"kernels": {"attention": "unfused"}}})"},
    {"framework.attention_sharing", k_long_sequences},
    {"framework.attention_fp32_gradients", k_long_sequences},
    {"framework.attention_waits_compiled", k_long_sequences,
     R"({"attention_sharing": "zigzag", "kernels": {"compiled": true}})"},
    {"framework.kernels.repeats_keys", k_long_sequences, R"({"kernels": {"separate_qkv": true}})"},
    {"framework.kernels.copies_qkv", k_own_keys, R"({"kernels": {"separate_qkv": false, "compiled": false}})"},
    {"precision.ep_*", k_experts},
    {"precision.dp_gather_wire", R"({"strategy": {"zero": {"stage": 1}, "overlap": {"dp": false}}})"},
    {"framework.overlap.bucket.bytes", R"({"strategy": {"overlap": {"dp": null}}})",
     R"({"overlap": {"dp_reduce": true}})"},
    {"framework.overlap.bucket.*", R"({"strategy": {"overlap": {"dp": null}}})",
     R"({"overlap": {"dp_reduce": true, "bucket": {"bytes": null}}})"},
    {"framework.overlap.dp_reduce_zero3", R"({"strategy": {"zero": 3, "overlap": {"dp": null}}})"},
    {"framework.sharding.copies_gathered", R"({"strategy": {"zero": 3}})"},
    {"framework.sharding.keeps_root_gathered", R"({"strategy": {"zero": 3}})"},
    {"framework.sharding.pads_gradients", R"({"strategy": {"zero": 3}})"},
    {"framework.sharding.divides_gradients", R"({"strategy": {"zero": 3}})"},
    {"framework.sharding.awaits_offloaded", k_offloaded_shards},
    {"framework.sharding.returns_offloaded", k_offloaded_shards, R"({"sharding": {"awaits_offloaded": true}})"},
    {"framework.host.memory_share", k_offloaded_shards},
    {"framework.recompute.repeats_attention[]", k_operator_by_operator},
    {"framework.accumulation.copies_to_buckets", R"({"strategy": {"zero": {"stage": 1}, "overlap": {"dp": false}}})"},
    {"framework.optimizer.whole_gradients", R"({"strategy": {"zero": {"stage": 1}}})",
     R"({"optimizer": {"gradient_reads": 2}})"},
    {"framework.tensor_parallel.keeps_gathered_inputs",
     R"({"strategy": {"tp": 2, "dp": null, "sequence_parallel": true}})"},
    {"framework.optimizer.gradient_join", R"({})",
     R"({"accumulation": {"format": "parameters"}, "optimizer": {"gradient_copy": true}})"},
    {"framework.p2p.scatter_gather", R"({"strategy": {"tp": 2, "pp": 2, "dp": null, "sequence_parallel": false}})"},
    {"framework.fused_softmax.*", R"({"training": {"kernels": {"attention": "fused-softmax"}}})"},
    {"framework.fitted.launches_per_peer_across", k_groups_across, R"({"fitted": {"host_per_kernel": "1 ms"}})"},
    {"framework.fitted.*", R"({})", R"({"fitted": {"host_per_kernel": "1 ms"}})"},
    {"calibration.libraries.*.kernels[].widths[]", k_wide_rows, k_with_libraries},
    {"calibration.libraries.*.kernels[].*", R"({"training": {"precision": "fp8-current"}})", k_with_libraries},
    {"calibration.libraries.*.flash_attention[].*", R"({"training": {"kernels": {"attention": "cudnn"}}})",
     k_with_libraries},
    {"calibration.libraries.*", R"({})", k_with_libraries},
    {"calibration.transposes[].*", R"({"training": {"precision": "fp8-current"}})",
     R"({"kernels": {"transpose": "transformer-engine"}})"},
    {"calibration.transfers.switch_tree_channel.*",
     R"({"strategy": {"tp": 1, "pp": 1, "cp": null, "dp": null, "ep": null, "zero": 0, "order": null, "stages": null,
         "attention": null, "schedule": null, "micro_batch": 1, "micro_batches": null}, "training": {"global_batch": 96}})"},
    {"calibration.transfers.fits[].short_form.*", R"({"calibration": {"transfers": {"form": "short"}}})"},
    {"fabrics.fabrics.*.peer", R"({"strategy": {"ep": 2, "etp": 1, "expert_order": ["edp", "ep", "etp", "pp"]}})"},
    {"fabrics.communication_kernels.*", R"({"simulation": {"interference": true}})"},
};

bool matches(std::string_view path, std::string_view keys) {
  const bool before = keys.starts_with('*'), after = keys.ends_with('*');
  if (before && after) return path.find(keys.substr(1, keys.size() - 2)) != std::string_view::npos;
  if (before) return path.ends_with(keys.substr(1));
  if (after) return path.starts_with(keys.substr(0, keys.size() - 1));
  return path == keys;
}

}  // namespace

bool is_silent(std::string_view path) {
  return std::any_of(std::begin(k_silent), std::end(k_silent),
                     [path](const Silent& silent) { return matches(path, silent.keys); });
}

const Opened* opened(std::string_view path) {
  for (const Opened& each : k_opened)
    if (matches(path, each.keys)) return &each;
  return nullptr;
}

std::vector<std::string_view> idle_reasons(const std::vector<std::string>& paths) {
  std::vector<std::string_view> idle;
  for (const Silent& silent : k_silent)
    if (std::none_of(paths.begin(), paths.end(), [&](const std::string& path) { return matches(path, silent.keys); }))
      idle.push_back(silent.keys);
  return idle;
}

}  // namespace cairn::laws
