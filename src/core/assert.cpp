#include "cairn/core/assert.h"

#include <fmt/format.h>

namespace cairn::core {

void fail_assertion(const char* expression, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: invariant broken: {}", file, line, expression));
}

}  // namespace cairn::core
