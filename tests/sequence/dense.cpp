// Dense attention, which the oracle compares with, against sums by hand and against differences of its own outputs.
#include "dense.h"

#include <cmath>

#include "catch.h"

using namespace cairn;
using namespace cairn::sequence;

namespace {

Problem little() {
  return {
      .tokens = 7, .heads = 4, .kv_heads = 2, .head_dim = 3, .value_dim = 2, .mask = Mask::causal, .documents = {3, 4}};
}

// sum of dO o O: its derivatives are dQ, dK and dV.
double weighed(const Problem& problem, const Visible& visible, const Tensors<float>& inputs) {
  const Tensors<double> results = dense_attention(problem, visible, inputs, Pass::forward);
  double sum = 0;
  for (std::size_t i = 0; i < results[Tensor::output].numbers().size(); ++i)
    sum += results[Tensor::output].numbers()[i] * static_cast<double>(inputs[Tensor::output_gradient].numbers()[i]);
  return sum;
}

}  // namespace

// d = 1: scores of the second query are q k = ln 3 with the first key and 0 with itself: P = 3/4, 1/4.
TEST_CASE("dense attention of two tokens, by hand") {
  const Problem problem{.tokens = 2};
  const Visible visible(problem);
  Tensors<float> inputs = random_inputs(problem, 1);
  inputs[Tensor::query].numbers() = {5, 1};
  inputs[Tensor::key].numbers() = {static_cast<float>(std::log(3.0)), 0};
  inputs[Tensor::value].numbers() = {2, 10};
  inputs[Tensor::output_gradient].numbers() = {7, 16};
  const Tensors<double> results = dense_attention(problem, visible, inputs, Pass::backward);
  CHECK(visible.pairs() == 3);
  CHECK(*results[Tensor::output].at(0, 0) == Approx(2));
  CHECK(*results[Tensor::output].at(1, 0) == Approx(2 * 0.75 + 10 * 0.25));
  CHECK(*results[Tensor::logsumexp].at(0, 0) == Approx(5 * std::log(3.0)));
  CHECK(*results[Tensor::logsumexp].at(1, 0) == Approx(std::log(4.0)));
  // dV = 7 + 0.75 x 16 and 0.25 x 16; dS of the second query = P (dO V - dO O) = 0.75 x 16 (2 - 4), 0.25 x 16 (10 - 4).
  CHECK(*results[Tensor::value_gradient].at(0, 0) == Approx(19));
  CHECK(*results[Tensor::value_gradient].at(1, 0) == Approx(4));
  CHECK(*results[Tensor::query_gradient].at(0, 0) == Approx(0).margin(1e-12));
  CHECK(*results[Tensor::query_gradient].at(1, 0) == Approx(-24 * std::log(3.0)));
  CHECK(*results[Tensor::key_gradient].at(0, 0) == Approx(-24));
  CHECK(*results[Tensor::key_gradient].at(1, 0) == Approx(24));
}

// Central differences with a step that fp32 holds exactly: error of the third derivative, about step^2.
TEST_CASE("gradients are the slopes of the output") {
  constexpr float k_step = 1.0F / 1024;
  constexpr double k_tolerance = 2e-5;
  const Problem problem = little();
  const Visible visible(problem);
  Tensors<float> inputs = random_inputs(problem, 2);
  for (const Tensor tensor : {Tensor::query, Tensor::key, Tensor::value})  // so that the step is exact
    for (float& number : inputs[tensor].numbers()) number = std::round(number * 4096) / 4096;
  const Tensors<double> results = dense_attention(problem, visible, inputs, Pass::backward);
  for (const auto& [input, gradient] : {std::pair{Tensor::query, Tensor::query_gradient},
                                        {Tensor::key, Tensor::key_gradient},
                                        {Tensor::value, Tensor::value_gradient}})
    for (std::size_t i = 0; i < inputs[input].numbers().size(); ++i) {
      float& number = inputs[input].numbers()[i];
      const float before = number;
      number = before + k_step;
      const double above = weighed(problem, visible, inputs);
      number = before - k_step;
      const double below = weighed(problem, visible, inputs);
      number = before;
      INFO(name(gradient) << " " << i);
      CHECK((above - below) / (2 * static_cast<double>(k_step)) ==
            Approx(results[gradient].numbers()[i]).margin(k_tolerance));
    }
}
