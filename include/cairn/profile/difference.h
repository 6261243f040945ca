// A measured step held against the predicted one, part by part.
//
//   measured span - predicted span = sum over parts of (measured.counted - predicted.counted)
//
// exactly, in picoseconds: the parts are the classes and the two kinds of idleness (profile/step.h). A collective's
// measured time holds what it waits for other ranks; the predicted one begins when all of them are there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/profile/step.h"

namespace cairn::profile {

struct Part {
  std::string_view id;              // "matmul", "host", "wait"
  std::string_view name;            // "matrix products"
  std::optional<KernelClass> kind;  // none: idleness
  ClassUse measured, predicted;     // of idleness, `counted` alone
  core::Picoseconds difference() const { return measured.counted - predicted.counted; }
  core::Picoseconds time_difference() const { return measured.time - predicted.time; }
};

struct Difference {
  Summary measured, predicted;
  std::vector<Part> parts;           // the largest difference first; only those that either step has
  std::vector<KernelUse> unmatched;  // measured kernels whose names fit no pattern, the longest first
  core::Picoseconds difference() const { return measured.span - predicted.span; }
};

Difference difference(const Step& measured, const Step& predicted);

}  // namespace cairn::profile
