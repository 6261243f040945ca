// Exhaustive loops of these tests take every case; under sanitizers, some twenty times slower, one in k_share of them.
#pragma once

#include <cstddef>

namespace cairn::pebble::testing {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t k_share = 8;
#else
inline constexpr std::size_t k_share = 1;
#endif

// Of the cases 0, 1, 2 .. those taken: spread, so that neighbours of every kind occur.
constexpr bool taken(std::size_t index) { return index % k_share == 0; }

}  // namespace cairn::pebble::testing
