#include "cairn/profile/difference.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::profile {
namespace {

bool is_empty(const ClassUse& use) { return use.count == 0 && use.time == 0 && use.counted == 0; }

}  // namespace

Difference difference(const Step& measured, const Step& predicted) {
  Difference result{.measured = summary(measured), .predicted = summary(predicted), .parts = {}, .unmatched = {}};
  const auto add = [&](Part part) {
    if (!is_empty(part.measured) || !is_empty(part.predicted)) result.parts.push_back(std::move(part));
  };
  for (std::size_t i = 0; i < k_classes; ++i) {
    const auto kind = static_cast<KernelClass>(i);
    add({.id = id(kind),
         .name = name(kind),
         .kind = kind,
         .measured = result.measured.classes[i],
         .predicted = result.predicted.classes[i]});
  }
  add({.id = "host",
       .name = "idle until the host issues",
       .kind = std::nullopt,
       .measured = {.counted = result.measured.host},
       .predicted = {.counted = result.predicted.host}});
  add({.id = "wait",
       .name = "idle otherwise",
       .kind = std::nullopt,
       .measured = {.counted = result.measured.wait},
       .predicted = {.counted = result.predicted.wait}});
  core::Picoseconds sum = 0;
  for (const Part& part : result.parts) sum += part.difference();
  CAIRN_ASSERT(sum == result.difference());
  std::stable_sort(result.parts.begin(), result.parts.end(),
                   [](const Part& a, const Part& b) { return std::abs(a.difference()) > std::abs(b.difference()); });
  for (const KernelUse& each : result.measured.kernels)
    if (each.kind == KernelClass::other) result.unmatched.push_back(each);
  return result;
}

}  // namespace cairn::profile
