// What a block moves for its unit's sake (cairn/plan/unit_traffic.h): at its beginning what it fetches for itself or
// for a later unit, at its end what it gives up and sends away.
#pragma once

#include "step_writer.h"

namespace cairn::plan {

// `blocking`: receives what the unit's first operator waits for, beside the kernels before it on its stream.
void open(StepWriter& writer, const UnitTraffic& traffic, Dependencies& blocking);
// `computed`: the unit's last operator.
void close(StepWriter& writer, const UnitTraffic& traffic, Dependency computed);

}  // namespace cairn::plan
