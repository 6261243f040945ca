// Exchanges between devices whose least data movement is known.
#pragma once

#include <span>

#include "cairn/collective/collective.h"

namespace cairn::bound {

// In alphabetical order of their names.
std::span<const collective::Collective> exchanges();

}  // namespace cairn::bound
