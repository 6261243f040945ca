// The modules of a model, a tree in the order of execution, over devices in proportion to their costs.
//
//   C(n) = w memory(n) / memory(root) + (1 - w) time(n) / time(root), of module n with all that is below it
//
// The devices P(root) = 0 .. D-1 go down the tree. Module n itself runs on d(n), the first device of P(n). Where P(n)
// is one device, everything below n is on it. Otherwise P(n) is divided among the children Q(n):
//
//   1. Q is cut into l = min(|P|, |Q|) consecutive segments S_i of least maximum of C(S_i) = sum of C over the segment:
//      c(k, i) = min over j of max(c(k - 1, j), C of the children j .. i-1)
//   2. The |P| devices are seats that the segments win by d'Hondt's method: each goes to the segment of the largest
//      C(S_i) / (s_i + 1), where s_i counts those it has.
//   3. A segment of one child, or with one device, gives its devices to all of its children; any other is divided in
//      the same way, its children over its devices.
//
// It is a heuristic. One child that costs far more than others wins devices that it cannot use when it has no children.
// Where a root without costs of its own has at least D children, none of which has children, and the largest of the D
// segments costs less than twice the smallest, every segment wins one device and the result is the least maximum of any
// cut into D parts.
// Example: w = 0, times A = 2 + 2 + 2 (three children), B = 3, C = 1, D = 4. The segments are A, B and C. The quotients
// 6, 3, 3, 2 give three devices to A and one to B; C wins none.
//
// Source: C. Karakus et al., "Amazon SageMaker Model Parallelism: A General and Flexible Framework for Large Model
// Training", 2021 (arXiv 2111.05972), algorithms 1 to 3. They were read in the public implementation that names them,
// EleutherAI's OSLO (nn/parallel/pipeline_parallel/_model_partitioner.py, 2022), without the change to d'Hondt's method
// that it marks as its own. The range of w and its defaults, 0.2 for speed and 0.8 for memory, are from `memory_weight`
// of the SageMaker Python SDK, doc/api/training/smd_model_parallel_general.rst (v2).
// Ours: devices are handed out as consecutive ranges, in the order of the segments (there, in the order in which they
// are won); ties go to the earlier segment, and of equally good cuts to that with the longest last segment; costs are
// whole shares of 1e-12 of the model, so that sums are exact; Unserved::device_before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::partition {

struct Module {
  std::string name;
  core::Picoseconds time = 0;         // of the module itself, without its children, >= 0
  std::int64_t memory = 0;            // bytes of the module itself, >= 0
  std::vector<Module> children = {};  // in the order of execution
};

// Where a segment that won no device goes.
enum class Unserved : std::uint8_t {
  first_of_parent,  // to the first device of those that were divided, as in the source
  device_before,    // to the last device of the segment before it, so that devices ascend in the order of execution
};

struct TreeProblem {
  std::int64_t devices = 1;
  double memory_weight = 0.2;  // w, 0..1
  Unserved unserved = Unserved::first_of_parent;
};

struct TreePartition {
  std::vector<std::int64_t> device;  // of every module, each before its children
  std::vector<std::int64_t> load;    // of every device, in shares of 1e-12 of the model
  std::int64_t most = 0;             // the largest of them
};

// The costs of the modules themselves in shares of 1e-12 of the model, each before its children: the chain whose exact
// optimum over consecutive parts is that of cut_chain (chain_cut.h). No partition with Unserved::device_before is below
// it. They do not change when all times or all bytes are multiplied by a number, while their sums are below 2^53.
// Errors: ConfigurationError, key "memory_weight" outside 0..1, "modules" for a cost below 0, sums above k_most_cost,
// or a model without any cost that counts.
std::vector<std::int64_t> normalized_costs(const Module& root, double memory_weight);

// Time: for each module, devices * children^2.
// Errors: those of normalized_costs, and "devices" outside 1..k_most_parts.
TreePartition partition_tree(const Module& root, const TreeProblem& problem);

}  // namespace cairn::partition
