// How long a long test goes on.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace cairn::test {

// The number that an environment variable holds, or another where it is not set.
inline std::uint64_t asked(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::stoull(text) : otherwise;
}

}  // namespace cairn::test
