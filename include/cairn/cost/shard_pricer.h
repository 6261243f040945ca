// From an operator shard to its price: which form applies follows from the loop nest.
//
//   contraction of two factors   dims in (A, C) -> M, (W, C) -> N, (A, W) -> K, in all three -> batch; GEMM form.
//                                A convolution is the product of its implicit matrices.
//   contraction that merges      attention form, its derivative too; pairs counted exactly from the guarded domain.
//   by softmax                   Its dims "query", "key" and "head_dim" are found by name.
//   recurrent layers             a scan over "seq" of products of weights ("layer", "n", "k") with the input and with the
//                                state, half of them each. For each layer the products with the input are one, over all
//                                steps; those with the state follow one another step by step, each with a memory-bound
//                                kernel for the gates. Backward likewise; weight gradients are two products a layer.
//   everything else              memory-bound form on the bytes of its accesses; the law of its kernel (its variant, for
//                                rows of its innermost dimension) where the calibration has one.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>

#include "cairn/cost/calibration.h"
#include "cairn/cost/extrapolation.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/ir/graph.h"

namespace cairn::cost {

// Whether an operator, or the operator it is the derivative of, merges its partial results by softmax.
bool is_attention(const ir::Shard& shard);

// The product a plain contraction computes; sizes from the shard's box. Throws core::InternalError for other than two
// factors.
GemmShape gemm_shape(const ir::Shard& shard);
AttentionShape attention_shape(const ir::Shard& shard);

// No execution of the shard on its own, one that finds nothing on the chip and leaves nothing there, takes less:
//   compute_s  FLOPs of a contraction at the data-sheet peak; 0 for the rest, whose operation counts are nominal
//   memory_s   bytes / bandwidth of device memory, bytes as in operator_floor.h: all of them cross the one link between
//              the chip and device memory, which carries no more than its bandwidth
// A kernel before or after it may leave or find operands in the cache, one that does the work of both need not move
// what passes between them: neither floor is of a group of kernels, and sums of them are no bound on a step.
struct ShardFloor {
  double compute_s = 0.0;
  double memory_s = 0.0;
  double bytes = 0.0;
  double seconds() const { return compute_s > memory_s ? compute_s : memory_s; }
};

class ShardPricer {
 public:
  ShardPricer(const Calibration& calibration, const hardware::Accelerator& accelerator);

  // Throws core::ConfigurationError when the calibration lacks the kernel asked for, or the accelerator the number
  // type.
  KernelTime price(const ir::Shard& shard);
  // on_chip_bytes: 0 where it is not known.
  ShardFloor floor(const ir::Shard& shard, double on_chip_bytes) const;
  double compute_floor_s(const ir::Shard& shard) const;

  // What the prices given so far rest on, beyond fitted parameters: one sentence each.
  const std::set<std::string>& assumptions() const { return assumptions_; }
  // Which of these prices lie outside the range of the measurements that their parameters were fitted to.
  const Extrapolation& extrapolation() const { return extrapolation_; }

 private:
  const GemmPricer& gemm(numerics::Format format);
  MachineRates rates(numerics::Format format) const;
  KernelTime product_time(const GemmShape& shape, numerics::Format format);
  KernelTime memory_time(double bytes, double flops, const MemoryBoundParameters& kernel);
  KernelTime price_attention(const ir::Shard& shard);
  KernelTime price_recurrence(const ir::Shard& shard);
  void note_clock(std::string_view kernel, double clock_hz);
  void check_kernel(std::string_view kernel, const AttentionShape& shape, numerics::Format format) const;

  const Calibration& calibration_;
  const hardware::Accelerator& accelerator_;
  std::array<std::optional<GemmPricer>, 32> gemm_{};
  std::set<std::string> assumptions_;
  Extrapolation extrapolation_;
};

}  // namespace cairn::cost
