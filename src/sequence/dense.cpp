#include "dense.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cairn/core/random.h"

namespace cairn::sequence {
namespace {

// Inputs are uniform in [-k_most, k_most): scores then spread by more than one, so that no part of a softmax is small.
constexpr double k_most = 2.0;

class DenseAttention {
 public:
  DenseAttention(const Problem& problem, const Visible& visible, const Tensors<float>& inputs, Pass pass)
      : problem_(problem),
        visible_(visible),
        inputs_(inputs),
        pass_(pass),
        scale_(1.0 / std::sqrt(static_cast<double>(problem.head_dim))),
        weights_(static_cast<std::size_t>(problem.tokens)) {
    for (const Tensor result : {Tensor::output, Tensor::logsumexp}) results_[result] = Rows<double>(problem, result);
    if (pass == Pass::backward)
      for (const Tensor result : {Tensor::query_gradient, Tensor::key_gradient, Tensor::value_gradient})
        results_[result] = Rows<double>(problem, result);
  }

  Tensors<double> run() {
    for (std::int64_t head = 0; head < problem_.heads; ++head)
      for (std::int64_t q = 0; q < problem_.tokens; ++q) {
        forward(q, head);
        if (pass_ == Pass::backward) backward(q, head);
      }
    return std::move(results_);
  }

 private:
  template <class Visit>
  void for_keys_of(std::int64_t q, Visit&& visit) {
    for (std::int64_t k = 0; k < problem_.tokens; ++k)
      if (visible_(q, k)) visit(k, weights_[static_cast<std::size_t>(k)]);
  }

  // Leaves the row of P in `weights_`.
  void forward(std::int64_t q, std::int64_t head) {
    const std::int64_t kv_head = head / problem_.group();
    const float* query = inputs_[Tensor::query].at(q, head);
    double most = -std::numeric_limits<double>::infinity();
    for_keys_of(q, [&](std::int64_t k, double& score) {
      score = scale_ * dot<double>(query, inputs_[Tensor::key].at(k, kv_head), problem_.head_dim);
      most = std::max(most, score);
    });
    double sum = 0;
    for_keys_of(q, [&](std::int64_t, double& score) { sum += std::exp(score - most); });
    const double logsumexp = most + std::log(sum);
    *results_[Tensor::logsumexp].at(q, head) = logsumexp;
    double* output = results_[Tensor::output].at(q, head);
    for_keys_of(q, [&](std::int64_t k, double& weight) {
      weight = std::exp(weight - logsumexp);
      add_scaled(output, weight, inputs_[Tensor::value].at(k, kv_head), problem_.values());
    });
  }

  void backward(std::int64_t q, std::int64_t head) {
    const std::int64_t kv_head = head / problem_.group();
    const float* gradient = inputs_[Tensor::output_gradient].at(q, head);
    const double delta = dot<double>(results_[Tensor::output].at(q, head), gradient, problem_.values());
    for_keys_of(q, [&](std::int64_t k, double weight) {
      const double of_weight = dot<double>(gradient, inputs_[Tensor::value].at(k, kv_head), problem_.values());
      const double of_score = weight * (of_weight - delta) * scale_;
      add_scaled(results_[Tensor::value_gradient].at(k, kv_head), weight, gradient, problem_.values());
      add_scaled(results_[Tensor::query_gradient].at(q, head), of_score, inputs_[Tensor::key].at(k, kv_head),
                 problem_.head_dim);
      add_scaled(results_[Tensor::key_gradient].at(k, kv_head), of_score, inputs_[Tensor::query].at(q, head),
                 problem_.head_dim);
    });
  }

  const Problem& problem_;
  const Visible& visible_;
  const Tensors<float>& inputs_;
  Pass pass_;
  double scale_;
  std::vector<double> weights_;
  Tensors<double> results_;
};

}  // namespace

Visible::Visible(const Problem& problem)
    : tokens_(problem.tokens),
      seen_(static_cast<std::size_t>(tokens_ * tokens_)),
      keys_of_(static_cast<std::size_t>(tokens_)),
      queries_of_(static_cast<std::size_t>(tokens_)) {
  for (std::int64_t q = 0; q < tokens_; ++q)
    for (std::int64_t k = 0; k < tokens_; ++k) {
      if (!problem.sees(q, k)) continue;
      seen_[static_cast<std::size_t>(q * tokens_ + k)] = 1;
      ++keys_of_[static_cast<std::size_t>(q)];
      ++queries_of_[static_cast<std::size_t>(k)];
      ++pairs_;
    }
}

Tensors<float> random_inputs(const Problem& problem, std::uint64_t seed) {
  core::Random random(seed);
  Tensors<float> inputs;
  for (const Tensor tensor : {Tensor::query, Tensor::key, Tensor::value, Tensor::output_gradient}) {
    inputs[tensor] = Rows<float>(problem, tensor);
    for (float& number : inputs[tensor].numbers()) number = static_cast<float>(k_most * (2 * random.uniform() - 1));
  }
  return inputs;
}

Tensors<double> dense_attention(const Problem& problem, const Visible& visible, const Tensors<float>& inputs,
                                Pass pass) {
  return DenseAttention(problem, visible, inputs, pass).run();
}

}  // namespace cairn::sequence
