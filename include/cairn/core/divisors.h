// Divisors of a positive number, ascending.
#pragma once

#include <cstdint>
#include <vector>

namespace cairn::core {

std::vector<std::int64_t> divisors(std::int64_t of);

}  // namespace cairn::core
