// Times as people write them: 3, 0.25, 2/3, or with a unit: 3ms, 0.25 us.
#pragma once

#include <optional>
#include <string>

#include "cairn/core/quantity.h"
#include "cairn/pipeline/fraction.h"

namespace cairn::pipeline {

// The times of one answer: all bare, or all with units, which are then counted in nanoseconds. 0 needs none.
class WrittenTimes {
 public:
  // Units: s, ms, us, ns. Throws core::ConfigurationError about `key`: no time, no such unit, too long to be counted,
  // bare where others have units or the other way round.
  Fraction read(const std::string& text, const std::string& key);
  // What the fractions count; absent: bare numbers, or none but 0 so far.
  std::optional<core::Seconds> unit() const;

 private:
  std::optional<bool> bare_;  // the first time other than 0
};

}  // namespace cairn::pipeline
