#include "reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cairn::probe {

namespace {

constexpr double k_bf16 = 0x1p-8;  // unit roundoff of what is stored
constexpr double k_fp32_sum =
    0x1p-18;  // of the sum of magnitudes: fp32 sums of up to some ten thousand terms, any order

double sum(const Reals& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

Expected stored(double value, double slack) { return {value, k_bf16 * std::fabs(value) + slack}; }

// A sum of terms that were rounded to bf16 each, independently, before an fp32 sum: rounding errors of the terms add up
// in squares.
struct RoundedSum {
  double value = 0;
  double squares = 0;
  double magnitude = 0;
  double slack = 0;

  // `operands`: size of the numbers whose fp32 difference the term is.
  void add(double term, double operands = 0) {
    value += term;
    slack += k_fp32_sum * operands;
    squares += term * term;
    magnitude += std::fabs(term);
  }
  Expected expected() const {
    constexpr double k_spread = 4;      // of the largest rounding errors: 7 standard deviations of uniform ones
    constexpr double k_bias = 0x1p-12;  // exponentials and truncation in tensor cores, all to one side
    return stored(value, k_spread * k_bf16 * std::sqrt(squares) + k_bias * magnitude + slack);
  }
};

}  // namespace

void Comparison::add(double actual, const Expected& expected) {
  ++samples_;
  const double error =
      std::fabs(actual - expected.value) / std::max(expected.tolerance, std::numeric_limits<double>::min());
  worst_ = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst_, error);
}

void Comparison::add(const Reals& actual, const std::vector<Expected>& expected) {
  if (actual.size() != expected.size()) worst_ = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) add(actual[i], expected[i]);
}

std::vector<std::int64_t> sample_indices(std::int64_t n, int count) {
  std::vector<std::int64_t> out;
  if (n <= count) {
    for (std::int64_t i = 0; i < n; ++i) out.push_back(i);
    return out;
  }
  out.push_back(0);
  constexpr double k_golden = 0.6180339887498949;  // multiples of it, modulo 1, spread evenly
  for (int i = 1; i + 1 < count; ++i)
    out.push_back(static_cast<std::int64_t>(std::fmod(i * k_golden, 1.0) * static_cast<double>(n)));
  out.push_back(n - 1);
  return out;
}

Expected dot(const Reals& a, const Reals& b, double scale, Type operands, Type output) {
  double value = 0, squares = 0, magnitude = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double term = scale * a[k] * b[k];
    value += term;
    squares += term * term;
    magnitude += std::fabs(term);
  }
  const double size = std::sqrt(squares);  // of the sum, were its terms independent
  constexpr double k_parts = 4;            // split over k, each part rounded to the output type
  double tolerance = k_parts * unit_roundoff(output) * (std::fabs(value) + size) + k_fp32_sum * magnitude;
  if (operands == Type::fp8_e4m3) {
    // Hopper's tensor cores keep about 14 bits while they accumulate (DeepSeek-V3 technical report,
    // arXiv:2412.19437, 3.3.2), one rounding for every 32 terms.
    constexpr double k_step = 32, k_kept = 0x1p-13;
    tolerance += size * (0x1p-6 + k_kept * static_cast<double>(a.size()) / k_step);
  }
  return {value, tolerance};
}

double AttentionHead::scale() const { return 1 / std::sqrt(static_cast<double>(size)); }

namespace {

double product(const Reals& matrix, std::int64_t row, const Reals& vector) {
  const double* begin = matrix.data() + row * static_cast<std::int64_t>(vector.size());
  return std::inner_product(vector.begin(), vector.end(), begin, 0.0);
}

double norm(const Reals& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

// Of do v_j and do o.
double gradient_size(const AttentionHead& head, std::int64_t column, const BackwardRow& row) {
  const auto begin = head.values.begin() + column * head.size;
  return norm(row.output_gradient) * (norm(Reals(begin, begin + head.size)) + norm(row.output));
}

std::int64_t visible(const AttentionHead& head, std::int64_t row) { return head.causal ? row + 1 : head.length; }

std::vector<Expected> finish(const std::vector<RoundedSum>& sums) {
  std::vector<Expected> out;
  std::transform(sums.begin(), sums.end(), std::back_inserter(out), [](const RoundedSum& s) { return s.expected(); });
  return out;
}

}  // namespace

AttentionRow attention_row(const AttentionHead& head, std::int64_t row, const Reals& query) {
  const std::int64_t count = visible(head, row);
  Reals scores(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j) scores[j] = head.scale() * product(head.keys, j, query);
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (const double score : scores) total += std::exp(score - largest);
  std::vector<RoundedSum> sums(static_cast<std::size_t>(head.size));
  for (std::int64_t j = 0; j < count; ++j) {
    const double p = std::exp(scores[j] - largest) / total;
    for (std::int64_t c = 0; c < head.size; ++c) sums[c].add(p * head.values[j * head.size + c]);
  }
  const double log_sum = largest + std::log(total);
  return {finish(sums), {log_sum, 1e-4 * (1 + std::fabs(log_sum))}};
}

std::vector<Expected> query_gradient(const AttentionHead& head, std::int64_t row, const BackwardRow& of_row) {
  const double delta =
      std::inner_product(of_row.output.begin(), of_row.output.end(), of_row.output_gradient.begin(), 0.0);
  std::vector<RoundedSum> sums(static_cast<std::size_t>(head.size));
  for (std::int64_t j = 0; j < visible(head, row); ++j) {
    const double p = std::exp(head.scale() * product(head.keys, j, of_row.query) - of_row.log_sum);
    const double ds = p * (product(head.values, j, of_row.output_gradient) - delta);
    const double size = p * gradient_size(head, j, of_row);
    for (std::int64_t c = 0; c < head.size; ++c) {
      const double factor = head.scale() * head.keys[j * head.size + c];
      sums[c].add(factor * ds, std::fabs(factor) * size);
    }
  }
  return finish(sums);
}

KeyValueGradient key_value_gradient(const AttentionHead& head, std::int64_t column,
                                    const std::vector<BackwardRow>& rows) {
  std::vector<RoundedSum> key(static_cast<std::size_t>(head.size)), value(static_cast<std::size_t>(head.size));
  for (std::int64_t i = head.causal ? column : 0; i < head.length; ++i) {
    const BackwardRow& row = rows[i];
    const double p = std::exp(head.scale() * product(head.keys, column, row.query) - row.log_sum);
    const double delta = std::inner_product(row.output.begin(), row.output.end(), row.output_gradient.begin(), 0.0);
    const double ds = p * (product(head.values, column, row.output_gradient) - delta);
    const double size = p * gradient_size(head, column, row);
    for (std::int64_t c = 0; c < head.size; ++c) {
      const double factor = head.scale() * row.query[c];
      key[c].add(factor * ds, std::fabs(factor) * size);
      value[c].add(p * row.output_gradient[c]);
    }
  }
  return {finish(key), finish(value)};
}

void accumulate(KeyValueGradient& sum, const KeyValueGradient& part) {
  const auto add_all = [](std::vector<Expected>& into, const std::vector<Expected>& from) {
    into.resize(from.size());
    for (std::size_t c = 0; c < from.size(); ++c) {
      into[c].value += from[c].value;
      into[c].tolerance += from[c].tolerance;
    }
  };
  add_all(sum.key, part.key);
  add_all(sum.value, part.value);
}

namespace {

struct Moments {
  double mean = 0;
  double rstd = 0;
};

Moments moments(const Reals& x, bool layer) {
  const auto n = static_cast<double>(x.size());
  const double mean = layer ? sum(x) / n : 0;
  double squares = 0;
  for (const double value : x) squares += (value - mean) * (value - mean);
  return {mean, 1 / std::sqrt(squares / n + k_norm_epsilon)};
}

constexpr double k_row_slack = 1e-4;  // fp32 statistics and products, for values of the size of 1

}  // namespace

NormRow norm_row(const Reals& x, const Reals& weight, const Reals& bias, bool layer) {
  const Moments m = moments(x, layer);
  NormRow row{{}, m.mean, m.rstd};
  for (std::size_t c = 0; c < x.size(); ++c)
    row.output.push_back(stored((x[c] - m.mean) * m.rstd * weight[c] + (layer ? bias[c] : 0), k_row_slack));
  return row;
}

std::vector<Expected> norm_input_gradient(const Reals& x, const Reals& dy, const Reals& weight, bool layer) {
  const Moments m = moments(x, layer);
  const auto n = static_cast<double>(x.size());
  double sum_g = 0, sum_gx = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    sum_g += dy[c] * weight[c];
    sum_gx += dy[c] * weight[c] * (x[c] - m.mean) * m.rstd;
  }
  std::vector<Expected> out;
  for (std::size_t c = 0; c < x.size(); ++c) {
    const double g = dy[c] * weight[c], xhat = (x[c] - m.mean) * m.rstd;
    out.push_back(stored(m.rstd * (g - (layer ? sum_g / n : 0) - xhat * sum_gx / n), k_row_slack * (1 + std::fabs(g))));
  }
  return out;
}

namespace {

Expected fp32_sum(const Reals& terms) {
  double magnitude = 0;
  for (const double term : terms) magnitude += std::fabs(term);
  return {sum(terms), k_fp32_sum * magnitude + k_row_slack};
}

}  // namespace

Expected norm_weight_gradient(const Reals& x, const Reals& dy, const Reals& means, const Reals& rstds) {
  Reals terms(x.size());
  for (std::size_t r = 0; r < x.size(); ++r) terms[r] = dy[r] * (x[r] - (means.empty() ? 0 : means[r])) * rstds[r];
  return fp32_sum(terms);
}

Expected norm_bias_gradient(const Reals& dy) { return fp32_sum(dy); }

std::vector<Expected> softmax_row(const Reals& x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double total = 0;
  for (const double value : x) total += std::exp(value - largest);
  std::vector<Expected> out;
  for (const double value : x) {
    const double p = std::exp(value - largest) / total;
    out.push_back(stored(p, k_row_slack * p));
  }
  return out;
}

std::vector<Expected> softmax_gradient(const Reals& y, const Reals& dy) {
  const double inner = std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
  double magnitude = 0;
  for (std::size_t c = 0; c < y.size(); ++c) magnitude += std::fabs(y[c] * dy[c]);
  std::vector<Expected> out;
  for (std::size_t c = 0; c < y.size(); ++c)
    out.push_back(stored(y[c] * (dy[c] - inner), k_row_slack * std::fabs(y[c]) * (std::fabs(dy[c]) + magnitude)));
  return out;
}

namespace {

constexpr double k_value_slack = 0x1p-12;  // fast exponentials and hyperbolic tangents

double gelu_argument(double x) { return std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x); }

}  // namespace

Expected add(double x, double y) { return stored(x + y, 0x1p-126); }

Expected gelu(double x) { return stored(x / 2 * (1 + std::tanh(gelu_argument(x))), k_value_slack); }

Expected gelu_gradient(double x, double dy) {
  const double t = std::tanh(gelu_argument(x));
  const double slope = std::sqrt(2 / std::acos(-1.0)) * (1 + 3 * 0.044715 * x * x);
  return stored(dy * ((1 + t) / 2 + x / 2 * (1 - t * t) * slope),
                k_value_slack * (1 + std::fabs(dy)) * (1 + std::fabs(x)));
}

Expected swiglu(double gate, double up) {
  return stored(up * gate / (1 + std::exp(-gate)), k_value_slack * (1 + std::fabs(up * gate)));
}

SwigluGradient swiglu_gradient(double gate, double up, double dy) {
  const double sigmoid = 1 / (1 + std::exp(-gate));
  const double slack = k_value_slack * (1 + std::fabs(dy)) * (1 + std::fabs(up)) * (1 + std::fabs(gate));
  return {stored(dy * up * sigmoid * (1 + gate * (1 - sigmoid)), slack), stored(dy * gate * sigmoid, slack)};
}

Expected cast_to_fp8(double x, double scale) {
  constexpr double k_largest = 448, k_half_smallest = 0x1p-10;
  const double value = std::clamp(x * scale, -k_largest, k_largest);
  return {value, 1.01 * unit_roundoff(Type::fp8_e4m3) * std::fabs(value) + 1.01 * k_half_smallest};
}

AdamExpected adam(const AdamState& state, double gradient) {
  const double first = k_adam_beta1 * state.first + (1 - k_adam_beta1) * gradient;
  const double second = k_adam_beta2 * state.second + (1 - k_adam_beta2) * gradient * gradient;
  const double weight = state.weight - k_adam_rate * first / (std::sqrt(second) + k_adam_epsilon);
  const auto real = [](double value, double scale) { return Expected{value, 0x1p-20 * (std::fabs(value) + scale)}; };
  return {.weight = real(weight, std::fabs(state.weight) + k_adam_rate),
          .first = real(first, std::fabs(state.first) + std::fabs(gradient)),
          .second = real(second, state.second + gradient * gradient),
          .stored = stored(weight, 0x1p-20 * k_adam_rate)};
}

}  // namespace cairn::probe
