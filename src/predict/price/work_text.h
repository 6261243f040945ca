// Pieces of work in words.
#pragma once

#include <string>

#include "cairn/core/out_of_range.h"
#include "cairn/program/program.h"

namespace cairn::predict {

// "8192 x 1024 x 4096", "4.2 MB over 8 ranks".
std::string work_detail(const program::Work& work);

// That the work takes too long, or is of too many operations, as an error of what decides it: of the cluster's
// networks, its host, or, where no setting is known that decides it, still a core::OutOfRange.
[[noreturn]] void raise_unpriceable(const program::Work& work, const core::OutOfRange& problem);

}  // namespace cairn::predict
