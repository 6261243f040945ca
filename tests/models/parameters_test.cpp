// Parameter counts, exact to the last one.
#include <cstdint>

#include "catch.h"

#include "small_configs.h"

namespace cairn::models {
namespace {

using testing::gpt;
using testing::llama;

std::int64_t parameters(const TransformerConfig& config) {
  return build_transformer(config, BuildOptions{}).parameters();
}

// Narayanan et al. 2021, equation 2: P = 12 l h^2 (1 + 13/(12h) + (V + s)/(12 l h)), multiplied out. A block has 12 h^2
// weights and 13 h numbers in vectors (qkv bias 3h, projection h, fc1 4h, fc2 h, two layernorms of 2h); tokens V h,
// positions s h. The equation leaves out the final layernorm, 2h.
std::int64_t narayanan(std::int64_t l, std::int64_t h, std::int64_t v, std::int64_t s) {
  return 12 * l * h * h + 13 * l * h + (v + s) * h;
}

}  // namespace

TEST_CASE("Llama parameter counts", "[models]") {
  CHECK(parameters(llama(32, 4096, 32, 8, 14336, 128256)) == 8'030'261'248);
  CHECK(parameters(llama(80, 8192, 64, 8, 28672, 128256)) == 70'553'706'496);
  CHECK(parameters(llama(126, 16384, 128, 8, 53248, 128256)) == 405'853'388'800);
  CHECK(parameters(llama(32, 4096, 32, 32, 11008, 32000)) == 6'738'415'616);
  CHECK(parameters(llama(40, 5120, 40, 40, 13824, 32000)) == 13'015'864'320);
  CHECK(parameters(llama(80, 8192, 64, 8, 28672, 32000)) == 68'976'648'192);
}

TEST_CASE("GPT parameter counts: narayanan_closed_form and the final layernorm", "[models]") {
  CHECK(parameters(gpt(96, 12288, 96, 51200, 2048)) == narayanan(96, 12288, 51200, 2048) + 2 * 12288);
  CHECK(parameters(gpt(48, 6144, 64, 51200, 2048)) == narayanan(48, 6144, 51200, 2048) + 2 * 6144);
  CHECK(parameters(gpt(105, 20480, 128, 51200, 2048)) == narayanan(105, 20480, 51200, 2048) + 2 * 20480);
  CHECK(parameters(gpt(128, 25600, 160, 51200, 2048)) == narayanan(128, 25600, 51200, 2048) + 2 * 25600);
  // The sizes the papers name, in billions: 174.6, 22, 529.6, 1008.0.
  CHECK(narayanan(96, 12288, 51200, 2048) / 100'000'000 == 1746);
  CHECK(narayanan(48, 6144, 51200, 2048) / 1'000'000'000 == 22);
  CHECK(narayanan(105, 20480, 51200, 2048) / 100'000'000 == 5296);
  CHECK(narayanan(128, 25600, 51200, 2048) / 100'000'000 == 10080);
}

TEST_CASE("kernels do not change the parameters", "[models]") {
  TransformerConfig config = gpt(2, 96, 6, 1000, 64);
  config.qk_norm = QkNorm::head;
  const std::int64_t expected = narayanan(2, 96, 1000, 64) + 2 * 96 + 2 * 2 * 16;
  for (const AttentionKernel attention :
       {AttentionKernel::unfused, AttentionKernel::fused_softmax, AttentionKernel::flash3}) {
    for (const NormKernel norm : {NormKernel::fused, NormKernel::unfused}) {
      for (const PointwiseKernel pointwise : {PointwiseKernel::fused, PointwiseKernel::eager}) {
        BuildOptions options;
        options.kernels = {.attention = attention, .norm = norm, .pointwise = pointwise};
        CHECK(build_transformer(config, options).parameters() == expected);
      }
    }
  }
}

TEST_CASE("padding the vocabulary", "[models]") {
  TransformerConfig config = gpt(2, 96, 6, 50257, 64);
  CHECK(config.padded_vocab(8) == 50257);
  config.vocab_multiple = 128;
  CHECK(config.padded_vocab(1) == 50304);                             // 393 * 128
  CHECK(config.padded_vocab(8) == 51200);                             // 50 * 1024
  CHECK(parameters(config) == narayanan(2, 96, 50257, 64) + 2 * 96);  // published counts are of the unpadded table
  BuildOptions options;
  options.vocab_divisor = 8;
  CHECK(build_transformer(config, options).parameters() == narayanan(2, 96, 51200, 64) + 2 * 96);
}

}  // namespace cairn::models
