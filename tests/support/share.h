// Long loops over like cases take every one of them; under sanitizers, some twenty times slower, one in k_share.
#pragma once

#include <cstddef>

namespace cairn::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t k_share = 7;
#else
inline constexpr std::size_t k_share = 1;
#endif

// Of the cases 0, 1, 2 .. those taken. Seven shares no divisor with loops over two, three or four kinds, so each
// occurs.
constexpr bool taken(std::size_t index) { return index % k_share == 0; }

}  // namespace cairn::test
