// An operator: an iteration domain, and the tensors it reads and writes through projections of that domain.
//
// Matrix product Y[t, n] += X[t, k] W[n, k]:
//   domain (t, n, k); accesses: X read (t, k), W read (n, k), Y accumulate-sum (t, n); 2 FLOPs per point.
// FLOPs = points x flops_per_point; bytes = sum of footprints x bytes per element; which dimensions may be split, and
// what that split does to each tensor, follows from the projections alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "cairn/ir/tensor.h"
#include "cairn/loopnest/domain.h"

namespace cairn::ir {

using OperatorId = std::int32_t;

enum class Kind : std::uint8_t { contraction, pointwise, reduce, scan, gather, scatter, opaque };
enum class Mode : std::uint8_t { read, write, accumulate };

// How several contributions to one element combine; what a partial result needs to become whole.
enum class Monoid : std::uint8_t { sum, max, softmax_merge };

// Where the gradient of a read tensor comes from.
enum class InputGradient : std::uint8_t {
  none,      // not differentiable, or not wanted
  computed,  // by a backward operator
  passed,    // it is the output's gradient itself (addition)
};

enum class Phase : std::uint8_t { forward, backward };

struct Access {
  TensorId tensor = k_no_tensor;
  loopnest::Projection projection;
  Mode mode = Mode::read;
  Monoid monoid = Monoid::sum;
  InputGradient gradient = InputGradient::none;
  // The tensor enters by addition (a bias). Its gradient is a plain sum, of the output's gradient in a contraction;
  // elsewhere of the gradient of the first `computed` activation input, unless the operator reduces for another
  // parameter anyway.
  bool addend = false;

  // A factor of a product: read, and neither added to the result nor passed on to it.
  bool is_factor() const { return mode == Mode::read && !addend && gradient != InputGradient::passed; }
};

struct Operator {
  std::string name;
  Kind kind = Kind::pointwise;
  // The kernel that runs it, where several exist with different speed ("flash2", "fused"); empty: the only one.
  std::string variant;
  // Operators of one non-empty region are recomputed together ("attention": scores to context).
  std::string region;
  Phase phase = Phase::forward;
  loopnest::Domain domain;
  boost::container::small_vector<Access, 4> accesses;
  double flops_per_point = 0.0;

  // Attention, forward: the pairs of query and key that count as the model's work, whatever its kernel executes (those
  // of `domain`). `unmasked`: the pairs the model means; empty: all of `domain`. `full`: the pairs that published
  // counts take it for, which leave the causal mask out: of a window of w keys those less than w apart, else all.
  std::vector<loopnest::Guard> unmasked;
  std::vector<loopnest::Guard> full;

  // How it is differentiated. A plain contraction needs nothing here: each factor's gradient is the contraction, over
  // the same domain, of the output's gradient with the other factors. Anything else is differentiated by one fused
  // operator over the same domain, which reads the outputs' gradients and `backward_reads` and writes the gradient of
  // every `computed` activation; the gradients of its `computed` parameters come from one further reduction over the
  // same reads, or from it (joint_gradients).
  double backward_flops_per_point = 0.0;
  boost::container::small_vector<TensorId, 4> backward_reads;

  OperatorId forward = -1;  // phase backward: the operator it is the derivative of; -1 for gradient sums

  // Phase forward, a conversion of one operator's result that is no mathematics of its own (a cast, the maximum that
  // scales it): that operator. The two are recomputed together. -1: none.
  OperatorId converts = -1;

  // Its kernel keeps nothing that it makes: what backward reads of that is made again there, whatever else is
  // recomputed.
  bool reruns = false;
  // A selection whose derivative is a scatter into zeros: another operator writes the whole gradient before it.
  bool fills_gradient = false;
  // The kernel of its derivative makes the gradients of its parameters in the same pass over what it reads.
  bool joint_gradients = false;
  // A saved tensor that its derivative overwrites with the gradient of what it read, of the same shape and format: the
  // gradient takes no memory of its own.
  TensorId gradient_over = k_no_tensor;
  // It copies rows to other places, unchanged: what reaches it in a narrow format leaves it in that format. So does its
  // derivative.
  bool moves_rows = false;
  // A contraction that keeps the format of its operands whatever narrow_products() is asked for (a router).
  bool keeps_format = false;
  // A contraction in FP8 whose kernel moves its partial sums to full fp32 registers every few steps of K, on units that
  // keep fewer bits themselves. Slower there; units that sum in fp32 have no such mode.
  bool split_accumulation = false;
  // Dimensions of the operator it prepares an operand for, which it lacks itself: where that one is split along one of
  // these and needs the operand whole, this one works on the whole, too.
  boost::container::small_vector<std::string, 1> split_elsewhere;

  // A contraction whose partial results merge by plain sums; attention (softmax_merge) is not one.
  bool is_plain_contraction() const;
};

}  // namespace cairn::ir
