// `cairn bound --model`: the layers of a model.
#pragma once

#include <optional>

#include "cairn/hardware/accelerator.h"
#include "context.h"

namespace cairn::cli {

int bound_layers(const BoundArguments& arguments, const std::optional<hardware::Accelerator>& accelerator,
                 double fast_bytes, Context& context);

}  // namespace cairn::cli
