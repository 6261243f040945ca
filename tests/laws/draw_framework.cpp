#include <variant>

#include "cairn/hardware/host_times.h"
#include "cairn/sequence/scheme.h"
#include "random_experiments.h"

namespace cairn::laws {
namespace {

Json flags(Draw& draw, std::initializer_list<const char*> keys) {
  Json result = Json::object();
  for (const char* key : keys)
    if (draw.chance(0.4)) result[key] = draw.coin();
  return result;
}

Json draw_kernels(Draw& draw) {
  Json kernels =
      flags(draw, {"wide_scores", "scaled_product", "separate_qkv", "separate_gate", "narrow_norm", "wide_norm",
                   "joins_qkv", "copies_logits", "finds_best_token", "gathers_logits", "compiled_loss", "compiled"});
  if (draw.chance(0.3)) kernels["metric_passes"] = draw.between(0, 20);
  if (draw.coin())
    kernels["attention"] = draw.word({"unfused", "fused-softmax", "flash1", "flash2", "flash3", "cudnn", "flash4"});
  if (draw.coin()) kernels["norm"] = draw.word({"fused", "unfused"});
  if (draw.coin()) kernels["pointwise"] = draw.word({"fused", "eager"});
  if (draw.coin()) kernels["transpose"] = draw.word({"plain", "transformer-engine"});
  if (draw.coin()) kernels["loss"] = draw.word({"fused", "unfused", "log-softmax", "fused-linear"});
  return kernels;
}

Json draw_overlap(Draw& draw) {
  Json overlap =
      flags(draw, {"dp_reduce", "dp_reduce_sharded", "dp_reduce_zero3", "dp_gather", "tp_backward", "pp", "ep"});
  Json bucket = Json::object();
  if (draw.coin()) bucket["bytes"] = draw.quantity(0.1, 500, "MB");
  if (draw.coin()) bucket["elements"] = draw.between(1000, 40'000'000);
  if (draw.coin()) bucket["elements_per_rank"] = draw.between(0, 1'000'000);
  if (draw.coin()) overlap["bucket"] = bucket;
  return overlap;
}

Json draw_allocator(Draw& draw) {
  Json allocator = flags(draw, {"caching", "expandable_segments", "records_streams"});
  for (const char* factor : {"reserve_factor", "exchange_factor"})
    if (draw.coin()) allocator[factor] = 0.25 * static_cast<double>(draw.between(4, 16));
  if (draw.coin()) allocator["max_split_size"] = draw.quantity(21, 200, "MiB");
  if (draw.coin()) allocator["roundup_power2_divisions"] = draw.power_of_two(0, 4);
  for (const char* key : {"gemm_workspace", "expert_workspace"}) {
    if (draw.coin()) allocator[key] = draw.quantity(1, 64, "MiB");
    if (draw.coin())
      allocator[std::string(key) + "_on"] = {{"ampere", draw.quantity(1, 64, "MiB")}, {"hopper", "65 MiB"}};
  }
  return allocator;
}

Json draw_sharding(Draw& draw) {
  Json sharding = flags(draw, {"reshard_after_forward", "narrow_shards"});
  if (draw.coin()) sharding["reduce"] = draw.word({"every-micro-batch", "last-micro-batch"});
  if (draw.coin()) sharding["prefetch"] = draw.between(0, 2);
  if (draw.chance(0.2)) sharding["pipeline"] = draw.coin();
  return sharding;
}

}  // namespace

Json draw_framework(std::uint64_t seed, const std::vector<std::string>& shipped) {
  Draw draw(seed);
  Json file{{"version", 1}, {"name", draw.word({"a framework", "another framework"})}};
  if (draw.chance(0.2)) file["extends"] = draw.of(shipped);
  if (draw.chance(0.7)) file["kernels"] = draw_kernels(draw);
  for (const char* architecture : {"hopper", "ampere"})
    if (draw.chance(0.4))
      file["attention_on"][architecture] =
          draw.word({"unfused", "fused-softmax", "flash1", "flash2", "flash3", "cudnn", "flash4"});
  if (draw.coin())
    file["fused_softmax"] = {{"least", draw.power_of_two(0, 6)},
                             {"longest", draw.power_of_two(8, 14)},
                             {"multiple", draw.power_of_two(0, 3)}};
  if (draw.coin()) {
    file["accumulation"] = flags(draw, {"fused", "separate_buffer", "whole_reduce"});
    if (draw.coin()) file["accumulation"]["format"] = draw.word({"recipe", "parameters"});
  }
  if (draw.chance(0.7)) file["overlap"] = draw_overlap(draw);
  if (Draw sharing(~seed); sharing.coin()) {
    file["attention_sharing"] = sharing.of(sequence::scheme_names());
    file["attention_fp32_gradients"] = sharing.coin();
    file["attention_waits_compiled"] = sharing.coin();
  }
  Draw later(seed ^ 0x5eedU);  // of keys that came later, so that all others stay as they were drawn
  if (later.chance(0.4)) file["libraries"] = later.word({"transformer-engine-1", "transformer-engine-2", "pytorch-2"});
  if (later.chance(0.4) && file.contains("kernels")) file["kernels"]["one_pass_norm"] = later.coin();
  if (later.chance(0.4) && file.contains("kernels")) file["kernels"]["weighted_experts"] = later.coin();
  if (later.chance(0.4) && file.contains("kernels")) file["kernels"]["sorts_rows"] = later.coin();
  if (later.chance(0.4) && file.contains("kernels")) file["kernels"]["fused_router"] = later.coin();
  if (draw.coin()) file["stages"] = draw.word({"even", "balanced", "by-weight"});
  if (draw.coin()) {
    file["p2p"] = flags(draw, {"scatter_gather"});
    if (draw.coin()) file["p2p"]["host_waits"] = draw.word({"never", "unless-interleaved", "always"});
  }
  if (draw.coin()) file["host"] = flags(draw, {"synchronises_passes"});
  if (draw.coin()) {
    file["optimizer"] = flags(draw, {"gradient_copy", "gradient_join", "gradient_scale", "separate_parameter_copy"});
    if (draw.coin()) file["optimizer"]["gradient_reads"] = draw.between(0, 3);
  }
  if (draw.coin()) file["sharding"] = draw_sharding(draw);
  if (later.chance(0.4) && file.contains("sharding")) file["sharding"]["copies_gathered"] = later.coin();
  if (later.chance(0.4) && file.contains("sharding")) file["sharding"]["keeps_root_gathered"] = later.coin();
  for (const char* key : {"pads_gradients", "divides_gradients"})
    if (later.chance(0.4) && file.contains("sharding")) file["sharding"][key] = later.coin();
  if (later.chance(0.4) && file.contains("optimizer")) file["optimizer"]["separate_kernels"] = later.coin();
  if (later.chance(0.1) && file.contains("kernels")) file["kernels"]["attention"] = "flash-triton";
  if (later.chance(0.1)) file["attention_on"]["ampere"] = "flash-triton";
  if (later.chance(0.4) && file.contains("optimizer")) file["optimizer"]["whole_gradients"] = later.coin();
  if (later.chance(0.4) && file.contains("accumulation")) file["accumulation"]["copies_to_buckets"] = later.coin();
  if (later.chance(0.4)) file["tensor_parallel"]["keeps_gathered_inputs"] = later.coin();
  if (later.chance(0.4) && file.contains("kernels")) file["kernels"]["repeats_keys"] = later.coin();
  if (draw.coin()) file["recompute"] = flags(draw, {"gathers_saved_input", "keeps_unread", "covers_ends"});
  if (draw.coin()) file["buffers"] = {{"results", draw.between(0, 3)}, {"buckets", draw.coin()}};
  if (draw.coin()) file["allocator"] = draw_allocator(draw);
  if (draw.coin()) {
    file["capabilities"] = flags(draw, {"sequence_parallel", "selective_recompute", "interleaved"});
    if (draw.coin()) file["capabilities"]["zero"] = draw.between(0, 3);
  }
  const auto time = [&](double most) { return draw.coin() ? std::string("0 s") : draw.quantity(0.1, most, "us"); };
  file["fitted"] = {
      {"host_per_kernel", time(50)}, {"host_per_micro_batch", time(1000)}, {"host_per_step", time(10000)}};
  for (const hardware::HostNumber& number : hardware::k_host_numbers) {
    if (file["fitted"].contains(number.key)) continue;
    if (!number.required && !later.chance(0.4)) continue;
    const std::string key(number.key);
    if (std::holds_alternative<core::Seconds hardware::HostTimes::*>(number.member))
      file["fitted"][key] = later.quantity(0.1, 100, "us");
    else
      file["fitted"][key] = 0.25 * static_cast<double>(later.between(0, 16));
  }
  for (const char* key : {"awaits_offloaded", "returns_offloaded"})
    if (later.chance(0.4) && file.contains("sharding")) file["sharding"][key] = later.coin();
  if (later.chance(0.4)) file["host"]["memory_share"] = 0.01 * static_cast<double>(later.between(10, 100));
  if (later.chance(0.4) && file.contains("recompute"))
    file["recompute"]["repeats_attention"] = Json::array(
        {later.word({"unfused", "fused-softmax", "flash1", "flash2", "flash3", "cudnn", "flash-triton", "flash4"})});
  if (later.chance(0.4) && file.contains("kernels")) file["kernels"]["copies_qkv"] = later.coin();
  if (draw.chance(0.3)) file["releases"] = {{"early", Json{{"overlap", draw_overlap(draw)}}}};
  return file;
}

}  // namespace cairn::laws
