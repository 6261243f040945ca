#include "model_shapes.h"

namespace cairn::probe {

const std::vector<ModelShape>& model_shapes() {
  static const std::vector<ModelShape> k_models = {
      {"megatron-22b.yaml", 6144, 64, 64, 96, 24576, false, 51200},
      {"gpt3-175b.yaml", 12288, 96, 96, 128, 49152, false, 50304},
      {"megatron-530b.yaml", 20480, 128, 128, 160, 81920, false, 51200},
      {"megatron-1t.yaml", 25600, 160, 160, 160, 102400, false, 51200},
      {"llama-2-7b", 4096, 32, 32, 128, 11008, true, 32000},
      {"llama-2-13b", 5120, 40, 40, 128, 13824, true, 32000},
      {"llama-2-70b", 8192, 64, 8, 128, 28672, true, 32000},
      {"llama-3.1-8b", 4096, 32, 8, 128, 14336, true, 128256},
      {"llama-3.1-70b", 8192, 64, 8, 128, 28672, true, 128256},
      {"llama-3.1-405b", 16384, 128, 8, 128, 53248, true, 128256},
      {"mixtral-8x7b", 4096, 32, 8, 128, 0, true, 32000, 8, 2, 14336},
      {"qwen3-30b-a3b", 2048, 32, 4, 128, 0, true, 151936, 128, 8, 768},
      {"deepseek-v3", 7168, 128, 128, 0, 18432, true, 129280, 256, 8, 2048, {1536, 512, 64, 128, 128}},
  };
  return k_models;
}

std::vector<Matrix> matrices(const ModelShape& model) {
  std::vector<Matrix> out;
  const LowRank& latent = model.latent;
  if (latent.query > 0) {
    out.push_back({latent.query, model.hidden, Split::none});
    out.push_back({model.heads * (latent.nope + latent.rope), latent.query, Split::outputs});
    out.push_back({latent.key_value + latent.rope, model.hidden, Split::none});
    out.push_back({model.heads * (latent.nope + latent.value), latent.key_value, Split::outputs});
    out.push_back({model.hidden, model.heads * latent.value, Split::inputs});
  } else {
    out.push_back({(model.heads + 2 * model.kv_heads) * model.head_dim, model.hidden, Split::outputs});
    out.push_back({model.hidden, model.heads * model.head_dim, Split::inputs});
  }
  const std::int64_t halves = model.gated ? 2 : 1;  // gate and up in one product
  if (model.ffn > 0) {
    out.push_back({halves * model.ffn, model.hidden, Split::outputs});
    out.push_back({model.hidden, model.ffn, Split::inputs});
  }
  if (model.experts > 0) {
    out.push_back({halves * model.expert_ffn, model.hidden, Split::none, true});
    out.push_back({model.hidden, model.expert_ffn, Split::none, true});
  }
  out.push_back({model.vocab, model.hidden, Split::outputs});
  return out;
}

}  // namespace cairn::probe
