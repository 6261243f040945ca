// Numbers that grow beyond the type that holds them are refused, never wrapped round: counts beyond 64 bits, times
// beyond int64 picoseconds, counts that something narrower must hold.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "cairn/core/diagnostics.h"

namespace cairn::core {

// What computes such a number knows no settings: the key path is empty until someone who knows them names the one that
// is too large.
class OutOfRange : public ConfigurationError {
 public:
  explicit OutOfRange(std::string message, std::string hint = {});
  // The same, said of something: "attention.scores: more than ...".
  OutOfRange of(const std::string& what) const;
  // The same as an error of a setting.
  ConfigurationError at(std::string key_path, std::string hint) const;
};

[[noreturn]] void raise_uncountable();
[[noreturn]] void raise_beyond_reach(double seconds);

// A count and whose it is, for the message when it is too large.
struct Counted {
  const char* key_path;  // of the setting that decides it
  const char* what;      // "micro-batches"
  const char* hint;
};
[[noreturn]] void raise_too_many(std::int64_t count, std::int64_t most, const Counted& counted);

// A count in a narrower type. Throws ConfigurationError where the type cannot hold it.
template <std::integral To>
To narrow(std::int64_t count, const Counted& counted) {
  if (!std::in_range<To>(count)) raise_too_many(count, std::numeric_limits<To>::max(), counted);
  return static_cast<To>(count);
}

}  // namespace cairn::core
