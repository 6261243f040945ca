// A tensor of a layer: named dimensions, number format, and the part it plays in training.
#pragma once

#include <cstdint>
#include <string>

#include <boost/container/static_vector.hpp>

#include "cairn/loopnest/affine.h"
#include "cairn/numerics/format.h"

namespace cairn::ir {

using TensorId = std::int32_t;
inline constexpr TensorId k_no_tensor = -1;
inline constexpr std::size_t k_max_rank = 6;

enum class Role : std::uint8_t {
  parameter,   // lives for the whole run, trained
  activation,  // produced by a forward operator (or the layer's input)
  gradient,    // derivative of the loss with respect to `of`
  state,       // lives for the whole run, not trained
  index,       // integers: token ids, routing tables
};

struct TensorDim {
  std::string name;
  loopnest::Extent extent;
};

struct Tensor {
  std::string name;
  boost::container::static_vector<TensorDim, k_max_rank> dims;
  numerics::Format format = numerics::Format::bf16;
  Role role = Role::activation;
  // Per-row numbers that an operator keeps for its derivative (mean, reciprocal deviation, log-sum-exp): vanishing
  // beside the rows themselves, and left out of published activation formulas, so reports can tell them apart.
  bool statistic = false;
  // Its readers are kernels written for each other: their derivatives write their parts of one gradient, or add to what
  // is there, and no sum is taken afterwards.
  bool one_gradient = false;
  // Its gradient is made in pieces and then copied together.
  bool joined_gradient = false;
  // Its rows, along all dimensions but the last, are made and used up in about so many pieces, one after another: there
  // is memory for 2^k rows, the least power of two that is no less than rows / pieces. 1: for all of them.
  std::int64_t pieces = 1;
  // Shares the storage of that tensor: a view, or the result of an in-place operator.
  TensorId alias_of = k_no_tensor;
  TensorId of = k_no_tensor;  // role gradient: the tensor it is the gradient of
  // role parameter: stored once together with every other parameter of this non-empty tag (tied embeddings).
  std::string tied;

  // Elements of the whole tensor.
  std::int64_t elements(const loopnest::Sizes& sizes) const {
    std::int64_t product = 1;
    for (const TensorDim& dim : dims) product *= dim.extent.at(sizes);
    return product;
  }
};

}  // namespace cairn::ir
