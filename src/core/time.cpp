#include "cairn/core/time.h"

#include "cairn/core/format_units.h"

namespace cairn::core {

std::string reach_text() { return format(Seconds::from_base(to_seconds(k_reach))); }

}  // namespace cairn::core
