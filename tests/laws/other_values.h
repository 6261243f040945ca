// Values that a setting may have in place of the one it has.
#pragma once

#include <vector>

#include "draw.h"

namespace cairn::laws {

// Each of them is of the same form; some may be refused.
std::vector<Json> other_values(const Json& value);

}  // namespace cairn::laws
