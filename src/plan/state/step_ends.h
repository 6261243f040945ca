// The two blocks that end a step on one stage, gradients finalized and parameters updated, and the passes that run
// them: one stored copy of each.
#pragma once

#include <memory>
#include <unordered_map>

#include "interned.h"
#include "optimizer_step.h"
#include "parameter_update.h"
#include "pass_store.h"
#include "vocabulary.h"

namespace cairn::plan {

class StepEnds {
 public:
  struct Entry {
    std::unique_ptr<Block> finalize_block;
    std::unique_ptr<Block> update_block;
    const Pass* finalize = nullptr;
    const Pass* update = nullptr;
  };

  StepEnds(const ParameterTreatment& treatment, PassStore& passes);
  // `kept_bytes`: of offloaded parameters, on the device all the same. The graphs of `options` are filled in.
  const Entry& of(StepEndOptions options, const Offload& offload, double kept_bytes);
  // The same for all stages.
  const Pass* await_replica();
  const ir::Graph& host_update() const { return host_update_; }

 private:
  // What the two blocks are made from beside the treatment of parameters.
  struct Key {
    StepEndOptions options;
    Offload offload;
    double kept_bytes = 0.0;
    friend bool operator==(const Key&, const Key&) = default;
    std::size_t hash() const;
  };

  PassStore& passes_;
  double state_bytes_;      // per element: master copy and moments
  double parameter_bytes_;  // per element
  BucketKernels bucket_kernels_;
  ir::Graph whole_;
  ir::Graph update_;
  ir::Graph subgroup_update_;
  ir::Graph narrow_;
  ir::Graph host_update_;
  std::unique_ptr<Block> await_block_;
  const Pass* await_ = nullptr;
  std::unordered_map<Key, Entry, KeyHash> entries_;
};

}  // namespace cairn::plan
