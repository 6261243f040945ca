#include "place.h"

#include <fmt/format.h>

namespace cairn::sequence {

std::string text(const Place& place) {
  return fmt::format("{} of token {}, head {}", name(place.tensor), place.token, place.head);
}

bool is_input(Pass pass, Tensor tensor) {
  constexpr TensorSet k_forward = set_of(Tensor::query, Tensor::key, Tensor::value);
  constexpr TensorSet k_backward =
      k_forward | set_of(Tensor::output, Tensor::logsumexp, Tensor::output_gradient, Tensor::delta);
  return contains(pass == Pass::forward ? k_forward : k_backward, tensor);
}

bool is_result(Pass pass, Tensor tensor) {
  constexpr TensorSet k_forward = set_of(Tensor::output, Tensor::logsumexp);
  constexpr TensorSet k_backward = set_of(Tensor::query_gradient, Tensor::key_gradient, Tensor::value_gradient);
  return contains(pass == Pass::forward ? k_forward : k_backward, tensor);
}

}  // namespace cairn::sequence
