#include "activation_work.h"

namespace cairn::models {

Work work_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return {9, 17};  // tanh form: inner polynomial 5, tanh 1, outer 3; derivative 16, product 1
    case Activation::silu:
      return {4, 8};  // sigmoid 3, product 1; sigmoid 3, derivative 4, product 1
    case Activation::relu:
      return {1, 1};
    case Activation::squared_relu:
      return {2, 3};
    case Activation::clamped_silu:
      // two clamps 3, sigmoid of a multiple 4, product 1, sum 1; sigmoid again 4, derivative 5, masks 2, product 1
      return {9, 12};
  }
  return {};
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu";
    case Activation::silu:
      return "silu";
    case Activation::relu:
      return "relu";
    case Activation::squared_relu:
      return "squared_relu";
    case Activation::clamped_silu:
      return "clamped_silu";
  }
  return "";
}

}  // namespace cairn::models
