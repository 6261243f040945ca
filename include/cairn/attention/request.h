// What can be asked of `compare()`: one attention over a long sequence, the cluster whose ranks share it, and which ways
// of sharing it count. Requests are plain values.
//
//   context ranks = accelerators / tensor ranks;   heads of a context group = heads / tensor ranks
// Tensor ranks are the innermost axis, so that the ranks of a context group lie `tensor_ranks` apart.
//
// Errors name the field that is wrong: request.heads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/cost/calibration.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/cluster.h"
#include "cairn/models/kernels.h"
#include "cairn/sequence/asked_grid.h"
#include "cairn/sequence/problem.h"

namespace cairn::attention {

// Which schemes and grids are compared.
struct Choice {
  std::string scheme = {};  // a name of sequence::schemes(); empty: all of them
  sequence::AskedGrid grid = {};
};

struct Request {
  hardware::Accelerator accelerator = {};
  hardware::Network network = {};
  cost::Calibration calibration = {};  // of the accelerator, with the prices of the network's fabric
  std::int64_t tokens = 0;             // of each sequence, all ranks together
  std::int64_t sequences = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // divides the heads
  std::int64_t head_dim = 128;
  sequence::Mask mask = sequence::Mask::causal;
  bool backward = true;
  bool fp32_gradients = false;    // dQ, dK and dV travel in fp32; else in 16 bits
  bool eager_joins = false;       // tiles are joined by one kernel for each operation (plan::FrameworkBehaviour)
  std::int64_t tensor_ranks = 1;  // that split heads for a whole layer
  models::AttentionKernel kernel = models::AttentionKernel::flash2;
  Choice choice = {};
  std::vector<std::string> assumptions = {};  // that the machine and its calibration rest on: answers repeat them

  std::int64_t context_ranks() const { return network.gpus() / tensor_ranks; }
  // The attention of one context group.
  sequence::Problem problem() const;
};

// Throws core::ConfigurationError with everything that no way of sharing could do.
void check(const Request& request);

}  // namespace cairn::attention
