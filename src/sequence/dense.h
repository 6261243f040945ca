// Attention of one sequence on one machine, in fp64, and the numbers that it is computed on.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cairn/sequence/problem.h"

namespace cairn::sequence {

// Which queries see which keys.
class Visible {
 public:
  explicit Visible(const Problem& problem);
  bool operator()(std::int64_t q, std::int64_t k) const {
    return seen_[static_cast<std::size_t>(q * tokens_ + k)] != 0;
  }
  std::int64_t keys_of(std::int64_t q) const { return keys_of_[static_cast<std::size_t>(q)]; }
  std::int64_t queries_of(std::int64_t k) const { return queries_of_[static_cast<std::size_t>(k)]; }
  std::int64_t pairs() const { return pairs_; }

 private:
  std::int64_t tokens_ = 0;
  std::vector<std::uint8_t> seen_;
  std::vector<std::int64_t> keys_of_, queries_of_;
  std::int64_t pairs_ = 0;
};

// Numbers of a tensor: a row for each token and head.
template <class Real>
class Rows {
 public:
  Rows() = default;
  Rows(const Problem& problem, Tensor tensor)
      : heads_(heads_of(problem, tensor, all_heads(problem)).count),
        width_(sequence::width(problem, tensor)),
        numbers_(static_cast<std::size_t>(problem.tokens * heads_ * width_)) {}

  std::int64_t heads() const { return heads_; }
  std::int64_t width() const { return width_; }
  Real* at(std::int64_t token, std::int64_t head) { return numbers_.data() + (token * heads_ + head) * width_; }
  const Real* at(std::int64_t token, std::int64_t head) const {
    return numbers_.data() + (token * heads_ + head) * width_;
  }
  std::vector<Real>& numbers() { return numbers_; }
  const std::vector<Real>& numbers() const { return numbers_; }

 private:
  std::int64_t heads_ = 0;
  std::int64_t width_ = 0;
  std::vector<Real> numbers_;
};

template <class Real>
class Tensors {
 public:
  Rows<Real>& operator[](Tensor tensor) { return all_[static_cast<std::size_t>(tensor)]; }
  const Rows<Real>& operator[](Tensor tensor) const { return all_[static_cast<std::size_t>(tensor)]; }

 private:
  std::array<Rows<Real>, k_tensors> all_;
};

// sum of a_i b_i, and a_i += factor * b_i.
template <class Real, class A, class B>
Real dot(const A* a, const B* b, std::int64_t count) {
  Real sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<Real>(a[i]) * static_cast<Real>(b[i]);
  return sum;
}
template <class Real, class B>
void add_scaled(Real* a, Real factor, const B* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) a[i] += factor * static_cast<Real>(b[i]);
}

// Q, K, V and dO.
Tensors<float> random_inputs(const Problem& problem, std::uint64_t seed);

// O and log-sum-exp L; backward dQ, dK, dV as well:
//   S = Q K^T / sqrt(d)    P_qk = exp(S_qk - L_q)    O = P V
//   dV = P^T dO    dS_qk = P_qk (dO_q . V_k - dO_q . O_q)    dQ = dS K / sqrt(d)    dK = dS^T Q / sqrt(d)
Tensors<double> dense_attention(const Problem& problem, const Visible& visible, const Tensors<float>& inputs,
                                Pass pass);

}  // namespace cairn::sequence
