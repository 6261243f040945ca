// What an activation function costs per element.
#pragma once

#include "cairn/models/transformer_config.h"

namespace cairn::models {

// Elementary operations per element, forward and backward.
struct Work {
  double forward = 0;
  double backward = 0;
};

Work work_of(Activation activation);
const char* name_of(Activation activation);

// Adding a bias, per element.
inline constexpr double k_bias = 1;
// Scaling a row by its weight, per element: one product; two products and the weight's sum backward.
inline constexpr double k_scale_forward = 1, k_scale_backward = 3;
// Extra work of the factor beside a gated activation: one product; two products and the activation once more backward.
inline constexpr double k_gate_forward = 1, k_gate_backward = 3;

}  // namespace cairn::models
