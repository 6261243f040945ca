#include "tile_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dense.h"

namespace cairn::sequence {
namespace {

constexpr float k_of_no_keys = -std::numeric_limits<float>::infinity();

}  // namespace

TileArithmetic::TileArithmetic(const Problem& problem)
    : head_dim_(problem.head_dim),
      value_dim_(problem.values()),
      scale_(1.0F / std::sqrt(static_cast<float>(problem.head_dim))) {}

float TileArithmetic::forward(const QueryRow& query, std::span<const KeyRow> keys, float* output) {
  std::fill_n(output, value_dim_, 0.0F);
  if (keys.empty()) return k_of_no_keys;
  weights_.clear();
  float most = k_of_no_keys;
  for (const KeyRow& row : keys) {
    weights_.push_back(scale_ * dot<float>(query.query, row.key, head_dim_));
    most = std::max(most, weights_.back());
  }
  float sum = 0;
  for (float& weight : weights_) sum += weight = std::exp(weight - most);
  for (std::size_t i = 0; i < keys.size(); ++i) add_scaled(output, weights_[i] / sum, keys[i].value, value_dim_);
  return most + std::log(sum);
}

void TileArithmetic::backward(const QueryRow& query, std::span<const KeyRow> keys, float* query_gradient) const {
  for (const KeyRow& row : keys) {
    const float weight = std::exp(scale_ * dot<float>(query.query, row.key, head_dim_) - query.logsumexp);
    const float of_weight = dot<float>(query.output_gradient, row.value, value_dim_);
    const float of_score = scale_ * weight * (of_weight - query.delta);
    add_scaled(query_gradient, of_score, row.key, head_dim_);
    add_scaled(row.key_gradient, of_score, query.query, head_dim_);
    add_scaled(row.value_gradient, weight, query.output_gradient, value_dim_);
  }
}

float joined_logsumexp(float held, float added) {
  const float most = std::max(held, added);
  if (most == k_of_no_keys) return most;
  return most + std::log(std::exp(held - most) + std::exp(added - most));
}

void join_output(float* held, float held_logsumexp, const float* added, float added_logsumexp, std::int64_t count) {
  const float most = std::max(held_logsumexp, added_logsumexp);
  if (most == k_of_no_keys) return;
  const float weight = std::exp(held_logsumexp - most), of_added = std::exp(added_logsumexp - most);
  for (std::int64_t i = 0; i < count; ++i) held[i] = (weight * held[i] + of_added * added[i]) / (weight + of_added);
}

}  // namespace cairn::sequence
