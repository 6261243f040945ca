// Formulas against loops that are written out here, and their gradients against differences of what they compute.
#include "cairn/sequence/formula.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "cairn/sequence/block_parallel.h"
#include "cairn/sequence/decode.h"
#include "cairn/sequence/dimension_switch.h"
#include "cairn/sequence/linear_attention.h"
#include "cairn/sequence/other_scheme.h"
#include "cairn/sequence/ring_scores.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::sequence;

namespace {

constexpr std::uint64_t k_formula_seed = 3;
constexpr double k_rounding = 1e-12;  // of fp64, over sums of at most a hundred numbers near 1

// A tensor of at most four axes, the last fastest.
struct Array {
  std::vector<std::int64_t> extents;
  std::vector<double> numbers;

  explicit Array(std::vector<std::int64_t> of) : extents(std::move(of)) {
    std::size_t all = 1;
    for (const std::int64_t extent : extents) all *= static_cast<std::size_t>(extent);
    numbers.assign(all, 0.0);
  }
  Array(std::vector<std::int64_t> of, const std::vector<float>& from) : Array(std::move(of)) {
    REQUIRE(from.size() == numbers.size());
    std::copy(from.begin(), from.end(), numbers.begin());
  }
  template <class... Index>
  double& operator()(Index... index) {
    std::int64_t place = 0;
    std::size_t axis = 0;
    for (const std::int64_t each : {static_cast<std::int64_t>(index)...}) place = place * extents[axis++] + each;
    return numbers[static_cast<std::size_t>(place)];
  }
};

void check_equal(const Array& expected, const std::vector<double>& found) {
  REQUIRE(found.size() == expected.numbers.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == Approx(expected.numbers[i]).epsilon(k_rounding).margin(k_rounding));
}

// softmax(q k^T scale) v of one row, with exponents as they are.
std::vector<double> attended(const std::vector<double>& scores,
                             const std::function<double(std::size_t, std::int64_t)>& value, std::int64_t width) {
  double sum = 0;
  for (const double score : scores) sum += std::exp(score);
  std::vector<double> out(static_cast<std::size_t>(width), 0.0);
  for (std::size_t key = 0; key < scores.size(); ++key)
    for (std::int64_t e = 0; e < width; ++e)
      out[static_cast<std::size_t>(e)] += std::exp(scores[key]) / sum * value(key, e);
  return out;
}

// x (n, m) + softmax(x Wq (x Wk)^T / sqrt(d)) x Wv Wo.
Array attention_block(Array x, Array wq, Array wk, Array wv, Array wo, bool causal) {
  const std::int64_t n = x.extents[0], m = x.extents[1], heads = wq.extents[1], d = wq.extents[2];
  const auto project = [&](Array& weight) {
    Array out({n, heads, d});
    for (std::int64_t t = 0; t < n; ++t)
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < d; ++i)
          for (std::int64_t j = 0; j < m; ++j) out(t, h, i) += x(t, j) * weight(j, h, i);
    return out;
  };
  Array q = project(wq), k = project(wk), v = project(wv), y = x;
  for (std::int64_t t = 0; t < n; ++t)
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<double> scores;
      for (std::int64_t key = 0; key < (causal ? t + 1 : n); ++key) {
        double dot = 0;
        for (std::int64_t i = 0; i < d; ++i) dot += q(t, h, i) * k(key, h, i);
        scores.push_back(dot / std::sqrt(static_cast<double>(d)));
      }
      const auto out = attended(
          scores, [&](std::size_t key, std::int64_t e) { return v(key, h, e); }, d);
      for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < m; ++j) y(t, j) += out[static_cast<std::size_t>(i)] * wo(h, i, j);
    }
  return y;
}

}  // namespace

TEST_CASE("formula: sums, guards, offsets and maxima by hand") {
  Formula formula({{'i', 2}, {'j', 2}, {'k', 3}}, 2);
  formula.given("A[ij]");
  formula.given("x[k]");
  formula.result("most[i]", 2, Meeting::largest);
  formula.add("all", Kernel::product, "C[i]", {"A[ij]"}, {.scale = 2.0});
  formula.add("all", Kernel::product, "L[i]", {"A[ij]"}, {.guard = Guard{.later = 'i', .earlier = 'j'}});
  formula.add("all", Kernel::product, "U[i]", {"A[ij]"},
              {.guard = Guard{.later = 'j', .earlier = 'i', .strict = true}});
  formula.add("all", Kernel::product, "most[i]", {"A[ij]"});
  formula.add("all", Kernel::product, "s[k]", {"s[k-]"});
  formula.add("all", Kernel::product, "s[k]", {"x[k-]"});
  const Numbers<double> inputs = {{"A", {1, 5, 7, 3}}, {"x", {1, 10, 100}}};
  const Evaluation evaluation = evaluate(formula, inputs);
  CHECK(evaluation.numbers.at("C") == std::vector<double>{12, 20});
  CHECK(evaluation.numbers.at("L") == std::vector<double>{1, 10});
  CHECK(evaluation.numbers.at("U") == std::vector<double>{5, 0});
  CHECK(evaluation.numbers.at("most") == std::vector<double>{5, 7});
  // s_0 = 0; the first operator runs over all k before the second, so that it adds up nothing on one machine.
  CHECK(evaluation.numbers.at("s") == std::vector<double>{0, 1, 10});
  CHECK(evaluation.points == 4 + 3 + 1 + 4 + 2 + 2);
}

TEST_CASE("formula: kernels and the softmax of two parts by hand") {
  Formula formula({{'i', 1}, {'p', 2}}, 2);
  for (const char* input : {"a[p]", "w[p]"}) formula.given(input);
  formula.result("merged[i]", 2, Meeting::softmax, 4);
  formula.add("all", Kernel::weighted, "merged[i]", {"a[p]", "w[p]"});
  formula.add("all", Kernel::ratio, "ratio[p]", {"a[p]", "w[p]"});
  formula.add("all", Kernel::exp_difference, "exp[p]", {"a[p]", "w[p]"});
  formula.add("all", Kernel::plus_log, "log[p]", {"a[p]", "w[p]"});
  formula.add("all", Kernel::product_difference, "back[p]", {"a[p]", "w[p]", "a[p]"});
  formula.add("all", Kernel::positive, "relu[p]", {"a[p]"});
  formula.add("all", Kernel::where_positive, "gate[p]", {"w[p]", "a[p]"});
  const Numbers<double> inputs = {{"a", {-4, 8}}, {"w", {1, 1 + std::log(3.0)}}};
  const Numbers<double> found = evaluate(formula, inputs).numbers;
  CHECK(found.at("merged")[0] == Approx((-4.0 + 3 * 8.0) / 4));  // weights e : 3 e
  CHECK(found.at("ratio")[0] == Approx(-4));
  CHECK(found.at("exp")[0] == Approx(std::exp(-5.0)));
  CHECK(found.at("log")[0] == Approx(-4));
  CHECK(found.at("back")[0] == Approx(-4.0 * (1 + 4)));
  CHECK(found.at("relu") == std::vector<double>{0, 8});
  CHECK(found.at("gate")[0] == 0);
  CHECK(found.at("gate")[1] == Approx(1 + std::log(3.0)));
}

TEST_CASE("formula: softmax attention of long queries") {
  for (const bool causal : {false, true}) {
    const Formula formula =
        share_ring_scores({.ranks = 1, .tokens = 5, .heads = 2, .head_dim = 3, .causal = causal}).formula;
    const Numbers<float> inputs = random_numbers(formula, k_formula_seed);
    Array q({5, 2, 3}, inputs.at("Q")), k({5, 2, 3}, inputs.at("K")), v({5, 2, 3}, inputs.at("V")), expected({5, 2, 3});
    for (std::int64_t t = 0; t < 5; ++t)
      for (std::int64_t h = 0; h < 2; ++h) {
        std::vector<double> scores;
        for (std::int64_t key = 0; key < (causal ? t + 1 : 5); ++key)
          scores.push_back((q(t, h, 0) * k(key, h, 0) + q(t, h, 1) * k(key, h, 1) + q(t, h, 2) * k(key, h, 2)) /
                           std::sqrt(3.0));
        const auto out = attended(
            scores, [&](std::size_t key, std::int64_t e) { return v(key, h, e); }, 3);
        for (std::int64_t e = 0; e < 3; ++e) expected(t, h, e) = out[static_cast<std::size_t>(e)];
      }
    check_equal(expected, evaluate(formula, inputs).numbers.at("A"));
  }
}

TEST_CASE("formula: linear attention") {
  for (const bool causal : {false, true}) {
    const Formula formula =
        *share_gathered_states({.ranks = 1, .tokens = 4, .heads = 2, .head_dim = 3, .value_dim = 2, .causal = causal})
             .plain;
    const Numbers<float> inputs = random_numbers(formula, k_formula_seed);
    Array q({4, 2, 3}, inputs.at("Q")), k({4, 2, 3}, inputs.at("K")), v({4, 2, 2}, inputs.at("V")), expected({4, 2, 2});
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t t = 0; t < 4; ++t) {
        Array state({3, 2});  // sum of k v^T
        for (std::int64_t key = 0; key < (causal ? t + 1 : 4); ++key)
          for (std::int64_t i = 0; i < 3; ++i)
            for (std::int64_t e = 0; e < 2; ++e) state(i, e) += k(key, h, i) * v(key, h, e);
        for (std::int64_t i = 0; i < 3; ++i)
          for (std::int64_t e = 0; e < 2; ++e) expected(t, h, e) += q(t, h, i) * state(i, e);
      }
    check_equal(expected, evaluate(formula, inputs).numbers.at("O"));
  }
}

TEST_CASE("formula: decoding with grouped queries") {
  // 2 queries of 2 heads on each of 3 key heads: rows of a key head are its heads for query 0, then for query 1 or in
  // any other order, since every query sees all keys.
  const Formula formula =
      *share_ring_decoding({.ranks = 1, .tokens = 5, .queries = 2, .kv_heads = 3, .group = 2, .head_dim = 2}).plain;
  const Numbers<float> inputs = random_numbers(formula, k_formula_seed);
  Array q({3, 4, 2}, inputs.at("Q")), k({5, 3, 2}, inputs.at("K")), v({5, 3, 2}, inputs.at("V")), expected({3, 4, 2});
  for (std::int64_t g = 0; g < 3; ++g)
    for (std::int64_t r = 0; r < 4; ++r) {
      std::vector<double> scores;
      for (std::int64_t key = 0; key < 5; ++key)
        scores.push_back((q(g, r, 0) * k(key, g, 0) + q(g, r, 1) * k(key, g, 1)) / std::sqrt(2.0));
      const auto out = attended(
          scores, [&](std::size_t key, std::int64_t e) { return v(key, g, e); }, 2);
      for (std::int64_t e = 0; e < 2; ++e) expected(g, r, e) = out[static_cast<std::size_t>(e)];
    }
  check_equal(expected, evaluate(formula, inputs).numbers.at("O"));
}

TEST_CASE("formula: a block of attention and MLP") {
  const Formula formula =
      share_weights({.ranks = 1, .tokens = 4, .width = 6, .heads = 2, .head_dim = 3, .ffn = 5}).formula;
  const Numbers<float> inputs = random_numbers(formula, k_formula_seed);
  const auto weight = [&](const char* name) { return Array({6, 2, 3}, inputs.at(name)); };
  Array y = attention_block(Array({4, 6}, inputs.at("x")), weight("Wq"), weight("Wk"), weight("Wv"),
                            Array({2, 3, 6}, inputs.at("Wo")), true);
  Array first({6, 5}, inputs.at("W1")), second({5, 6}, inputs.at("W2")), expected = y;
  for (std::int64_t t = 0; t < 4; ++t)
    for (std::int64_t f = 0; f < 5; ++f) {
      double hidden = 0;
      for (std::int64_t m = 0; m < 6; ++m) hidden += y(t, m) * first(m, f);
      for (std::int64_t m = 0; m < 6; ++m) expected(t, m) += std::max(hidden, 0.0) * second(f, m);
    }
  check_equal(expected, evaluate(formula, inputs).numbers.at("u"));
}

TEST_CASE("formula: a block along space, then one along time") {
  const Formula formula =
      share_switched_dimensions({.ranks = 1, .space = 3, .time = 2, .width = 4, .heads = 2, .head_dim = 3}).formula;
  const Numbers<float> inputs = random_numbers(formula, k_formula_seed);
  const auto block = [&](const Array& x, const std::string& along) {
    const auto weight = [&](const std::string& name) { return Array({4, 2, 3}, inputs.at(name + along)); };
    return attention_block(x, weight("Wq"), weight("Wk"), weight("Wv"), Array({2, 3, 4}, inputs.at("Wo" + along)),
                           false);
  };
  Array x({2, 3, 4}, inputs.at("x")), y({2, 3, 4}), u({2, 3, 4});
  for (std::int64_t t = 0; t < 2; ++t) {
    Array line({3, 4});
    for (std::int64_t s = 0; s < 3; ++s)
      for (std::int64_t m = 0; m < 4; ++m) line(s, m) = x(t, s, m);
    line = block(line, " along space");
    for (std::int64_t s = 0; s < 3; ++s)
      for (std::int64_t m = 0; m < 4; ++m) y(t, s, m) = line(s, m);
  }
  for (std::int64_t s = 0; s < 3; ++s) {
    Array line({2, 4});
    for (std::int64_t t = 0; t < 2; ++t)
      for (std::int64_t m = 0; m < 4; ++m) line(t, m) = y(t, s, m);
    line = block(line, " along time");
    for (std::int64_t t = 0; t < 2; ++t)
      for (std::int64_t m = 0; m < 4; ++m) u(t, s, m) = line(t, m);
  }
  check_equal(u, evaluate(formula, inputs).numbers.at("u"));
}

TEST_CASE("formula: gradients are differences of what is computed") {
  // Of the loss sum of O o dO, for every output O whose gradient is given: d loss / d input at every number of every
  // input, by central differences, whose own error is step^2 beside rounding / step.
  constexpr double k_step = 1e-5;
  constexpr double k_allowed = 1e-7;
  for (const OtherScheme& scheme : other_schemes()) {
    const Sharing sharing = scheme.example(2);
    if (sharing.passes.size() < 2) continue;
    const Formula& formula = sharing.mathematics();
    const Numbers<float> drawn = random_numbers(formula, k_formula_seed);
    Numbers<double> inputs;
    for (const auto& [name, numbers] : drawn) inputs[name].assign(numbers.begin(), numbers.end());
    const auto loss = [&] {
      const Numbers<double> found = evaluate(formula, inputs).numbers;
      double sum = 0;
      for (const auto& [name, gradient] : inputs)
        if (name.front() == 'd')
          for (std::size_t i = 0; i < gradient.size(); ++i) sum += gradient[i] * found.at(name.substr(1))[i];
      return sum;
    };
    const Numbers<double> found = evaluate(formula, inputs).numbers;
    double largest = 0;
    int tensors = 0;
    for (auto& [name, numbers] : inputs) {
      if (name.front() == 'd') continue;
      ++tensors;
      const std::vector<double>& gradient = found.at("d" + name);
      REQUIRE(gradient.size() == numbers.size());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double at = numbers[i];
        numbers[i] = at + k_step;
        const double above = loss();
        numbers[i] = at - k_step;
        const double below = loss();
        numbers[i] = at;
        largest = std::max(largest, std::abs((above - below) / (2 * k_step) - gradient[i]));
      }
    }
    INFO(scheme.name);
    CHECK(tensors >= 3);
    CHECK(largest < k_allowed);
  }
}
