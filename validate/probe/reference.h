// Slow references in double precision, for single elements, and how far a kernel may be from them.
//
// Tolerances follow the arithmetic of the kernel, not its results: u is the unit roundoff of the stored type, and every
// sum is given what rounding of its terms can do. They are loose by small factors on purpose: their work is to tell a
// kernel that ran from one that did not, or that computed something else, whose error is of the size of the value
// itself.
#pragma once

#include <cstdint>
#include <vector>

#include "number.h"

namespace cairn::probe {

using Reals = std::vector<double>;

struct Expected {
  double value = 0;
  double tolerance = 0;
};

// Collects |actual - value| / tolerance. NaN anywhere counts as infinitely wrong.
class Comparison {
 public:
  void add(double actual, const Expected& expected);
  void add(const Reals& actual, const std::vector<Expected>& expected);  // of equal size
  int samples() const { return samples_; }
  double worst() const { return worst_; }
  bool passed() const { return samples_ > 0 && worst_ <= 1; }

 private:
  int samples_ = 0;
  double worst_ = 0;
};

// `count` indices below n, first and last among them, scattered so that they meet every residue of a tile size sooner
// or later; all of them where n <= count.
std::vector<std::int64_t> sample_indices(std::int64_t n, int count);

// scale * sum_k a[k] b[k], accumulated in fp32 (fp8: in the fewer bits of its tensor cores), possibly in several parts
// that are rounded to the output type before they are added.
Expected dot(const Reals& a, const Reals& b, double scale, Type operands, Type output);

struct AttentionHead {  // of one query head and the key/value head that it uses; row-major s x d
  std::int64_t length = 0;
  std::int64_t size = 0;
  bool causal = false;
  Reals keys = {};
  Reals values = {};
  double scale() const;  // 1 / sqrt(size)
};

// o = sum_j p_j v_j, p = softmax(scale q k_j) over j <= row when causal; and log sum_j exp(scale q k_j).
struct AttentionRow {
  std::vector<Expected> output;
  Expected log_sum;
};
AttentionRow attention_row(const AttentionHead& head, std::int64_t row, const Reals& query);

// With p_ij = exp(scale q_i k_j - log_sum_i) and ds_ij = p_ij (do_i v_j - do_i o_i):
//   dq_i = scale sum_j ds_ij k_j,    dk_j = scale sum_i ds_ij q_i,    dv_j = sum_i p_ij do_i
struct BackwardRow {
  Reals query, output, output_gradient;
  double log_sum = 0;
};
std::vector<Expected> query_gradient(const AttentionHead& head, std::int64_t row, const BackwardRow& of_row);

struct KeyValueGradient {
  std::vector<Expected> key, value;
};
// One of the query heads that share the key/value head; rows in order from 0. Gradients of several heads add up.
KeyValueGradient key_value_gradient(const AttentionHead& head, std::int64_t column,
                                    const std::vector<BackwardRow>& rows);
void accumulate(KeyValueGradient& sum, const KeyValueGradient& part);

// Norms over one row, weight w and bias b (layernorm alone):  y = (x - mean) rstd w + b,  rstd = 1 / sqrt(var +
// epsilon); rmsnorm: the same with mean = 0.
constexpr double k_norm_epsilon = 1e-5;
struct NormRow {
  std::vector<Expected> output;
  double mean = 0;
  double rstd = 0;
};
NormRow norm_row(const Reals& x, const Reals& weight, const Reals& bias, bool layer);
// dx = rstd (g - mean(g) [layernorm] - xhat mean(g xhat)),  g = dy w,  xhat = (x - mean) rstd
std::vector<Expected> norm_input_gradient(const Reals& x, const Reals& dy, const Reals& weight, bool layer);
// dw = sum over rows of dy xhat, db = sum of dy: of one column, with the statistics of every row.
Expected norm_weight_gradient(const Reals& x, const Reals& dy, const Reals& means, const Reals& rstds);
Expected norm_bias_gradient(const Reals& dy);

std::vector<Expected> softmax_row(const Reals& x);
// dx = y (dy - sum_j dy_j y_j)
std::vector<Expected> softmax_gradient(const Reals& y, const Reals& dy);

Expected add(double x, double y);
Expected gelu(double x);  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
Expected gelu_gradient(double x, double dy);
Expected swiglu(double gate, double up);  // up gate / (1 + exp(-gate))
struct SwigluGradient {
  Expected gate, up;
};
SwigluGradient swiglu_gradient(double gate, double up, double dy);
Expected cast_to_fp8(double x, double scale);

// One step of Adam: m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= rate m / (sqrt(v) + epsilon).
struct AdamState {
  double weight = 0, first = 0, second = 0;
};
struct AdamExpected {
  Expected weight, first, second, stored;  // stored: the weight in bf16
};
constexpr double k_adam_beta1 = 0.9, k_adam_beta2 = 0.95, k_adam_rate = 1e-4, k_adam_epsilon = 1e-8;
AdamExpected adam(const AdamState& state, double gradient);

}  // namespace cairn::probe
