#include "ending.h"

#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"

namespace cairn::cli {

Deadline::Deadline(const std::string& limit) {
  if (limit.empty()) return;
  const config::ParsedQuantity parsed = config::parse_quantity(limit, config::Dimension::seconds);
  if (!parsed.base) throw core::ConfigurationError("--time-limit", parsed.message, parsed.hint);
  constexpr double k_longest = 1e9;
  if (!(*parsed.base > 0.0 && *parsed.base < k_longest))
    throw core::ConfigurationError("--time-limit", "leaves no time to search, or forever",
                                   "give some seconds, as in 30s");
  at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*parsed.base));
}

}  // namespace cairn::cli
