#include "cairn/core/divisors.h"

#include "cairn/core/assert.h"

namespace cairn::core {

std::vector<std::int64_t> divisors(std::int64_t of) {
  CAIRN_ASSERT(of >= 1);
  std::vector<std::int64_t> small;
  std::vector<std::int64_t> large;
  for (std::int64_t i = 1; i <= of / i; ++i) {
    if (of % i != 0) continue;
    small.push_back(i);
    if (i != of / i) large.push_back(of / i);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

}  // namespace cairn::core
