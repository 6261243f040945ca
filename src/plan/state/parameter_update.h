// The optimizer step as operators over a rank's parameter elements, so that its traffic follows from accesses like all
// other.
#pragma once

#include "cairn/ir/graph.h"
#include "cairn/plan/strategy.h"

namespace cairn::plan {

// One pointwise operator per pass over memory: gradient norm, widening, update, parameter copy (as the treatment asks).
// Each has the single dimension "elements", of extent 1 here: a shard's box gives the number.
ir::Graph parameter_update(const ParameterTreatment& treatment);
// The same by the host's cores. The norm was taken on the device, where a framework that updates from wide gradients has
// widened them, too: what is left are passes over host memory, with the parameters that go back written last.
ir::Graph host_parameter_update(ParameterTreatment treatment);

// Narrow copies of weights from the stored parameters, in the same form: one operator or, with a maximum to find first,
// two. Empty where there are none to make.
ir::Graph narrow_copies(const ParameterTreatment& treatment);

}  // namespace cairn::plan
