// Recipes and framework profiles.
#include "cairn/hardware/files.h"
#include "cairn/software/files.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::software {

using hardware::load_accelerator;
using ir::SecondCopy;
using models::AttentionKernel;
using models::LossKernel;
using models::TransposeKernel;
using numerics::Format;
using testing::shipped;

namespace {

config::Node parse(std::string_view text) {
  core::Diagnostics diagnostics;
  config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}

PrecisionRecipe recipe_of(std::string_view reference) {
  core::Diagnostics diagnostics;
  const config::Loaded<PrecisionRecipe> loaded =
      read_precision(shipped(), parse(reference), "training.precision", diagnostics);
  diagnostics.raise_if_errors();
  return loaded.value;
}

}  // namespace

TEST_CASE("recipes and the units they need", "[software]") {
  const config::Loader loader = shipped();
  const auto has = [&](const char* accelerator, const char* recipe) {
    const std::vector<std::string> names = recipes_of(loader, load_accelerator(loader, accelerator));
    return std::find(names.begin(), names.end(), recipe) != names.end();
  };
  CHECK(has("a100-sxm4-80gb", "bf16"));
  CHECK_FALSE(has("a100-sxm4-80gb", "fp8-delayed"));
  CHECK(has("h100-sxm5-80gb", "fp8-blockwise"));
  CHECK_FALSE(has("h100-sxm5-80gb", "mxfp8"));
  CHECK(has("b200-sxm-180gb", "mxfp8"));
  CHECK(has("b200-sxm-180gb", "nvfp4"));
  CHECK_FALSE(has("v100-sxm2-32gb", "bf16"));
  CHECK(has("v100-sxm2-32gb", "fp16"));
  // Per-tensor FP8 needs a transposed copy on Hopper, none on Blackwell; blocks are quantised twice everywhere.
  const auto copy = [&](const char* accelerator, const char* recipe) {
    return second_copy(*load_precision(loader, recipe).narrow, load_accelerator(loader, accelerator));
  };
  CHECK(copy("h100-sxm5-80gb", "fp8-delayed") == SecondCopy::transposed);
  CHECK(copy("h800-sxm5-80gb", "fp8-current") == SecondCopy::transposed);
  CHECK(copy("b200-sxm-180gb", "fp8-current") == SecondCopy::shared);
  CHECK(copy("h100-sxm5-80gb", "fp8-blockwise") == SecondCopy::quantised);
}

TEST_CASE("gradients travel as they lie in memory, unless both are said", "[software][precision]") {
  CHECK(recipe_of("bf16").reduce == Format::fp32);
  CHECK(recipe_of("{gradients: bf16}").reduce == Format::bf16);
  CHECK(recipe_of("{gradients: bf16, reduce: fp32}").reduce == Format::fp32);
  CHECK(recipe_of("{reduce: bf16}").gradients == Format::fp32);
}

TEST_CASE("bytes per parameter", "[software][precision]") {
  CHECK(bytes_per_parameter(recipe_of("bf16"), 2).total() == 18.0);  // 2 + 4 + 4 + 8
  CHECK(bytes_per_parameter(recipe_of("bf16"), 2).optimizer() == 12.0);
  CHECK(bytes_per_parameter(recipe_of("{recipe: bf16, gradients: bf16}"), 2).total() == 16.0);
  CHECK(bytes_per_parameter(recipe_of("{gradients: bf16}"), 2).total() == 16.0);  // bf16 is the default recipe
  CHECK(bytes_per_parameter(recipe_of("fp16"), 2).total() == 16.0);
  CHECK(bytes_per_parameter(recipe_of("fp32"), 2).total() == 16.0);  // 4 + 4 + 0 + 8
  CHECK(bytes_per_parameter(recipe_of("fp32"), 0).total() == 8.0);   // plain SGD
  CHECK(bytes_per_parameter(recipe_of("tf32"), 2).total() == 16.0);
  CHECK(bytes_per_parameter(recipe_of("bf16-bf16-gradients"), 2).total() == 16.0);
  CHECK(bytes_per_parameter(recipe_of("fp16-fp32-gradients"), 2).total() == 18.0);
  // 2 stored, 1 + 1 copied, 4, 4, 8; stored as FP8 alone: 1 and the transposed copy.
  CHECK(bytes_per_parameter(recipe_of("fp8-delayed"), 2, SecondCopy::transposed).total() == 20.0);
  CHECK(bytes_per_parameter(recipe_of("fp8-delayed"), 2, SecondCopy::shared).total() == 19.0);
  CHECK(bytes_per_parameter(recipe_of("{recipe: fp8-delayed, parameters: fp8_e4m3}"), 2, SecondCopy::transposed)
            .total() == 18.0);
  CHECK(bytes_per_parameter(recipe_of("mxfp8"), 2, SecondCopy::quantised).copies == 2 * 8.25 / 8);
  CHECK(bytes_per_parameter(recipe_of("nvfp4"), 2, SecondCopy::quantised).copies == 2 * 4.5 / 8);
  // 128 x 128 bytes and one fp32 scale.
  CHECK(bytes_per_parameter(recipe_of("fp8-blockwise"), 2, SecondCopy::quantised).copies == 2 * (16384.0 + 4) / 16384);
  CHECK(recipe_of("tf32").gemm == Format::tf32);
  CHECK_FALSE(recipe_of("{recipe: bf16, master: none}").master.has_value());
}

TEST_CASE("what can be wrong in a recipe", "[software][precision]") {
  const auto complaint = [](std::string_view reference) {
    core::Diagnostics diagnostics;
    read_precision(shipped(), parse(reference), "training.precision", diagnostics);
    return diagnostics.all().empty() ? std::string() : diagnostics.all().front().to_string();
  };
  CHECK(complaint("bf61").find("did you mean 'bf16'?") != std::string::npos);
  CHECK(complaint("{recipe: bf16, gradients: fp23}").find("training.precision.gradients") != std::string::npos);
  CHECK(complaint("{recipe: bf16, gradiens: fp32}").find("did you mean 'gradients'?") != std::string::npos);
  CHECK(complaint("[bf16]").find("training.precision") != std::string::npos);
}

TEST_CASE("releases of Megatron-LM", "[software][framework]") {
  const config::Loader loader = shipped();
  const FrameworkProfile sc21 = load_framework(loader, "megatron@2021");
  CHECK(sc21.kernels.attention == AttentionKernel::fused_softmax);
  CHECK_FALSE(sc21.accumulation.fused);
  CHECK_FALSE(sc21.overlap.dp_reduce);
  CHECK_FALSE(sc21.overlap.tp_backward);
  CHECK(sc21.behaviour.scatter_sends);
  CHECK(sc21.behaviour.host_waits == plan::HostWaits::always);
  CHECK_FALSE(sc21.capabilities.sequence_parallel);
  CHECK(sc21.capabilities.zero == 0);
  CHECK(sc21.releases.empty());
  CHECK(sc21.step_end.gradient_reads == 1);  // from the file below

  const FrameworkProfile korthikanti = load_framework(loader, "megatron@2022");
  CHECK(korthikanti.accumulation.fused);
  CHECK(korthikanti.overlap.tp_backward);
  CHECK_FALSE(korthikanti.overlap.dp_reduce);
  CHECK(korthikanti.capabilities.selective_recompute);

  CHECK(config::to_json(load_framework(loader, "megatron@2024").kernels) ==
        config::to_json(load_framework(loader, "megatron").kernels));

  // Transformer Engine takes cuDNN's attention on Hopper since its release 1.3; elsewhere FlashAttention.
  const auto attention = [&](const char* release, const char* accelerator) {
    return load_framework(loader, release).kernels_on(load_accelerator(loader, accelerator)).attention;
  };
  CHECK(attention("megatron", "h100-sxm5-80gb") == AttentionKernel::cudnn);
  CHECK(attention("megatron@2025", "h800-sxm5-80gb") == AttentionKernel::cudnn);
  CHECK(attention("megatron@2023", "h100-sxm5-80gb") == AttentionKernel::flash2);
  CHECK(attention("megatron", "a100-sxm4-80gb") == AttentionKernel::flash2);
  CHECK(attention("megatron@2021", "h100-sxm5-80gb") == AttentionKernel::fused_softmax);
  CHECK(load_framework(loader, "megatron@2025").kernels.loss == LossKernel::fused);
  CHECK(load_framework(loader, "megatron@2025").kernels.transpose == TransposeKernel::transformer_engine);

  core::Diagnostics diagnostics;
  read_framework(loader, parse("megatron@2019"), "training.framework", diagnostics);
  CHECK(diagnostics.all().front().to_string() ==
        "test.yaml:1:1: error: training.framework: no release '2019' (known: 2021, 2022, 2023, 2024, 2025)");
}

TEST_CASE("torchtitan's per-op recomputation keeps results of the attention kernels that it lists",
          "[software][framework]") {
  const config::Loader loader = shipped();
  CHECK(load_framework(loader, "torchtitan").repeats_attention == std::vector{AttentionKernel::cudnn});
  CHECK(load_framework(loader, "torchtitan@2024").repeats_attention == std::vector{AttentionKernel::cudnn});
  CHECK(load_framework(loader, "torchtitan@2026").repeats_attention.empty());
}

TEST_CASE("keys over a profile change what they name alone", "[software][framework]") {
  for (const std::string name : {"megatron", "megatron@2025", "deepspeed"}) {
    CAPTURE(name);
    core::Diagnostics diagnostics;
    const FrameworkProfile changed =
        read_framework(shipped(),
                       parse("{file: " + name +
                             ", kernels: {value: {loss: fused-linear}, source: assumed, ref: a test}, "
                             "buffers: {value: {results: 2}, source: assumed, ref: a test}}"),
                       "training.framework", diagnostics)
            .value;
    REQUIRE_NOTHROW(diagnostics.raise_if_errors());
    FrameworkProfile own = load_framework(shipped(), name);
    own.kernels.loss = LossKernel::fused_linear;
    own.behaviour.held_results = 2;
    CHECK(config::to_json(changed) == config::to_json(own));
  }
}

TEST_CASE("facts of single frameworks", "[software][framework]") {
  const config::Loader loader = shipped();
  const FrameworkProfile scaling = load_framework(loader, "aleph-scaling");
  CHECK(scaling.kernels.loss == LossKernel::log_softmax);
  CHECK(scaling.kernels.finds_best_token);
  CHECK(scaling.kernels.scaled_product);
  CHECK(scaling.kernels.narrow_norm);
  CHECK(scaling.kernels.separate_gate);
  CHECK_FALSE(scaling.kernels.separate_qkv);
  CHECK(scaling.behaviour.recompute_ends);
  CHECK(scaling.behaviour.held_results == 2);
  CHECK(scaling.behaviour.keeps_gathered_inputs);
  CHECK(scaling.step_end.copies_to_buckets);
  CHECK(scaling.step_end.whole_gradients);
  CHECK_FALSE(load_framework(loader, "megatron").behaviour.keeps_gathered_inputs);

  const FrameworkProfile nanotron = load_framework(loader, "nanotron");
  CHECK(nanotron.accumulation.separate_buffer);
  CHECK(nanotron.behaviour.reduce_whole_gradients);
  CHECK(nanotron.overlap.dp_reduce);
  CHECK(nanotron.overlap.dp_reduce_sharded == false);
  CHECK_FALSE(load_framework(loader, "megatron").overlap.dp_reduce_sharded.has_value());

  CHECK(nanotron.kernels.copies_logits);
  CHECK(nanotron.kernels.copies_qkv);
  CHECK_FALSE(load_framework(loader, "megatron").kernels.copies_qkv);
  CHECK(load_framework(loader, "megatron@2023").kernels.copies_logits);
  CHECK_FALSE(load_framework(loader, "megatron").kernels.copies_logits);

  const FrameworkProfile torchtitan = load_framework(loader, "torchtitan");
  CHECK(torchtitan.kernels.loss == LossKernel::log_softmax);
  CHECK(torchtitan.kernels.separate_qkv);
  CHECK(torchtitan.kernels.separate_gate);
  CHECK(torchtitan.kernels.repeats_keys);
  CHECK(load_framework(loader, "torchtitan@2024").kernels.repeats_keys);
  CHECK_FALSE(load_framework(loader, "torchtitan@2026").kernels.repeats_keys);
  CHECK(load_framework(loader, "torchtitan@2026").kernels.compiled_loss);
  CHECK(torchtitan.attention_sharing == "gathered-zigzag");
  CHECK(torchtitan.behaviour.waits_for_attention);
  CHECK_FALSE(load_framework(loader, "fsdp").behaviour.waits_for_attention);

  // fully_shard copies parameters out of the gather's buffer; the first form of FSDP and DeepSpeed read them there.
  CHECK(torchtitan.behaviour.copies_gathered);
  CHECK(load_framework(loader, "fsdp").behaviour.copies_gathered);
  for (const char* reads : {"mosaicml", "deepspeed", "xtuner", "megatron", "nanotron", "ideal"})
    CHECK_FALSE(load_framework(loader, reads).behaviour.copies_gathered);

  const FrameworkProfile composer = load_framework(loader, "mosaicml");
  CHECK(composer.behaviour.pads_gradients);
  CHECK(composer.behaviour.divides_gradients);
  CHECK(composer.step_end.separate_kernels);
  for (const char* sums : {"fsdp", "torchtitan", "deepspeed", "megatron", "nanotron", "ideal"}) {
    CHECK_FALSE(load_framework(loader, sums).behaviour.pads_gradients);
    CHECK_FALSE(load_framework(loader, sums).step_end.separate_kernels);
  }
}

TEST_CASE("DeepSpeed and what stands on it", "[software][framework]") {
  const config::Loader loader = shipped();
  const FrameworkProfile deepspeed = load_framework(loader, "deepspeed"), xtuner = load_framework(loader, "xtuner");
  CHECK(deepspeed.overlap.bucket.size(64, Format::bf16).base() == 1e9);  // 5e8 elements
  CHECK(deepspeed.behaviour.holds_buckets);
  CHECK(deepspeed.behaviour.reduce_whole_gradients);
  CHECK_FALSE(load_framework(loader, "deepspeed@2023").behaviour.reduce_whole_gradients);
  CHECK_FALSE(deepspeed.overlap.dp_reduce);
  CHECK(deepspeed.overlap.dp_reduce_zero3 == true);
  CHECK(xtuner.overlap.dp_reduce);
  CHECK_FALSE(xtuner.overlap.dp_gather);
  CHECK(xtuner.step_end.gradient_join);
  CHECK(xtuner.kernels.norm == models::NormKernel::unfused);
}

TEST_CASE("the ideal framework has no fitted number", "[software][framework]") {
  const hardware::HostTimes ideal = load_framework(shipped(), "ideal").host_times;
  CHECK(ideal.per_kernel == core::Seconds{});
  CHECK(ideal.per_micro_batch == core::Seconds{});
  CHECK(ideal.per_step == core::Seconds{});
}

TEST_CASE("gradients of a framework", "[software][framework]") {
  const FrameworkProfile deepspeed = load_framework(shipped(), "megatron-deepspeed");
  CHECK(bytes_per_parameter(deepspeed.adjust(recipe_of("bf16")), 2).total() == 16.0);
  CHECK(deepspeed.adjust(recipe_of("bf16")).reduce == Format::bf16);
  const FrameworkProfile megatron = load_framework(shipped(), "megatron");
  CHECK(bytes_per_parameter(megatron.adjust(recipe_of("bf16")), 2).total() == 18.0);
}

TEST_CASE("buckets", "[software][framework]") {
  const Bucket bucket = load_framework(shipped(), "megatron").overlap.bucket;
  CHECK(bucket.size(8, Format::fp32).base() == 160e6);    // 40 M parameters
  CHECK(bucket.size(128, Format::fp32).base() == 512e6);  // 1 M per rank
  CHECK(load_framework(shipped(), "megatron-deepspeed").overlap.bucket.size(64, Format::fp16).base() == 1e9);
  // More parameters than a 64-bit integer counts: 2^53 on each of 2^20 ranks, 4 bytes each.
  const Bucket endless{.elements_per_rank = std::int64_t{1} << 53};
  CHECK(endless.size(std::int64_t{1} << 20, Format::fp32).base() == 0x1p75);
}

TEST_CASE("where the fused softmax kernel exists", "[software][framework]") {
  const FusedSoftmax softmax = load_framework(shipped(), "megatron@2021").fused_softmax;
  CHECK(softmax.applies(2048, 4, 1));
  CHECK_FALSE(softmax.applies(4096, 4, 1));
  CHECK_FALSE(softmax.applies(16, 4, 1));
  CHECK_FALSE(softmax.applies(2048, 3, 1));
  CHECK(softmax.applies(2048, 3, 4));
  CHECK_FALSE(softmax.applies(2046, 4, 1));
}

}  // namespace cairn::software
