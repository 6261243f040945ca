// The matrices of the shipped models' layers, for the shapes that training really multiplies. A test holds this table
// against configs/models/, which owns these numbers; the program itself must run where no configuration lies.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cairn::probe {

struct LowRank {  // attention through low-rank latents: 0 where a model has none
  std::int64_t query = 0;
  std::int64_t key_value = 0;
  std::int64_t rope = 0;
  std::int64_t nope = 0;
  std::int64_t value = 0;
};

struct ModelShape {
  std::string_view file;  // under configs/models/
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  bool gated = true;
  std::int64_t vocab = 0;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t expert_ffn = 0;
  LowRank latent = {};
};

const std::vector<ModelShape>& model_shapes();

// How tensor parallelism divides a layer's matrix n x k (y = x A^T): its outputs (n), its inputs (k), or not at all.
enum class Split { outputs, inputs, none };

struct Matrix {
  std::int64_t n = 0;
  std::int64_t k = 0;
  Split split = Split::none;
  bool expert = false;  // sees tokens * top_k / experts tokens on average
};

// The distinct matrices of one block and the head.
std::vector<Matrix> matrices(const ModelShape& model);

}  // namespace cairn::probe
