// The optimizer step, and what parameters take elsewhere, as operators over a rank's parameter elements, so that their
// traffic follows from accesses like all other.
#pragma once

#include "cairn/ir/graph.h"
#include "cairn/plan/framework_behaviour.h"
#include "cairn/plan/strategy.h"

namespace cairn::plan {

// One pointwise operator per pass over memory: gradient norm, widening, update, parameter copy (as the treatment asks).
// Each has the single dimension "elements", of extent 1 here: a shard's box gives the number.
// Adam of gradient g, parameter p and moving averages m, v as one pass, or (`separate_kernels`) as eight, in place but
// for the two temporaries r and d:
//   m *= b1,  m += (1 - b1) g,  v *= b2,  v += (1 - b2) g g,  r = sqrt(v),  d = r / c,  d += e,  p -= s m / d
// These are 20 reads and writes against 7: 80 and 28 bytes an element where all are fp32. Momentum alone takes three,
// m *= b,  m += g,  p -= s m. Decay of parameters by 0 takes none. Temporaries hold no memory here: in truth they are of
// one parameter after the other.
// Source: Composer composer/optim/decoupled_weight_decay.py, adamw, 2023; PyTorch torch/optim/adamw.py,
// _single_tensor_adamw, 2023.
ir::Graph parameter_update(const ParameterTreatment& treatment);
// The same of subgroups that the device updates while the host updates others: each has its own norm and scaling, since
// gradients are never on the device all at once.
ir::Graph subgroup_update(ParameterTreatment treatment);
// The same by the host's cores, the update in one pass. The norm was taken on the device, where a framework that updates
// from wide gradients has widened them, too: what is left are passes over host memory, a multiplication of its gradients
// among them, with the parameters that go back written last.
ir::Graph host_parameter_update(ParameterTreatment treatment);

// What goes over all gradients of a rank before the update of its share (StepEndBehaviour::whole_gradients), in the
// same form: the multiplication by the loss scale and the reads of the norm. Empty where the update has them.
ir::Graph whole_gradient_passes(const ParameterTreatment& treatment);

// What reducing copies of gradients takes beside the collective, in the same form: they are joined in a bucket, divided
// by the number of ranks and cast to the format on the wire; the sum is cast back and copied to each gradient's tensor.
// Per gradient of g bytes, r on the wire,
//   before   2 g + 2 g + (g + r)
//   after    (r + g) + 2 g
// without the casts where both formats are one: 24 bytes of bf16 gradients reduced in fp32. A bucket holds g + r bytes
// per gradient from the one to the other.
// Source: Aleph-Alpha/scaling core/optimizer/allreduce.py, allreduce_bucket, allreduce_tensor_in_float32 and
// allreduce_and_copy, 2024.
struct BucketKernels {
  ir::Graph before;
  ir::Graph after;
};
// Empty where gradients are reduced in place.
BucketKernels bucket_kernels(const ParameterTreatment& treatment);

// Narrow copies of weights from the stored parameters, in the same form: one operator or, with a maximum to find first,
// two. Empty where there are none to make.
ir::Graph narrow_copies(const ParameterTreatment& treatment);

// What gathering parameters takes beside the collective, in the same form. Of n elements over r ranks,
//   cast      n / r (stored + gathered bytes)   where they are stored in another format than they are gathered in
//   copy in   n / r 2 gathered bytes            of the shard into the gather's buffer, and
//   copy out  n 2 gathered bytes                from there into each parameter's own tensor (`copies`)
// Cast and copy in stand before the collective, the copy out behind it. All are charged where parameters are used, for
// it is the bandwidth of device memory that they take from computation, on whichever stream they run.
// Source: PyTorch torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, _get_param_all_gather_inputs,
// all_gather_copy_in and split_with_sizes_copy, 2024 to 2026.
struct GatherKernels {
  ir::Graph of_shard;  // over the elements of a rank's shard
  ir::Graph of_all;    // over all that are gathered
};
GatherKernels gather_kernels(const ParameterTreatment& treatment, bool copies);

// What reducing gradients to shards takes before the collective, of n whole gradients on a rank in the format in which
// they are sent (FrameworkBehaviour):
//   pad     n 2 sent bytes   into a tensor that the ranks divide (`pads_gradients`)
//   divide  n 2 sent bytes   in place (`divides_gradients`)
// Charged on the compute stream, like a gather's. Left out are passes over shards: the second division, the cast to the
// format in which gradients are kept, the sum over micro-batches.
// Source: PyTorch 1.13 torch/distributed/fsdp/fully_sharded_data_parallel.py, _post_backward_hook, where F.pad by 0
// elements clones (ATen/native/PadNd.cpp, constant_pad_nd); later releases call it for more than 0 alone.
// torch/distributed/algorithms/_comm_hooks/default_hooks.py, reduce_scatter_hook: div_, 2022 to 2023.
ir::Graph shard_reduction_kernels(const ParameterTreatment& treatment, const FrameworkBehaviour& behaviour);

struct UnitKernels {
  GatherKernels gather;
  ir::Graph reduction;  // over the gradients that are reduced together
};

}  // namespace cairn::plan
