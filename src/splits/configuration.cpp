#include "cairn/splits/configuration.h"

#include <algorithm>

namespace cairn::splits {
namespace {

// Into how many parts one dimension may be cut, ascending.
std::vector<std::int64_t> cuts(std::int64_t extent, std::int64_t devices, std::int64_t least_extent) {
  std::vector<std::int64_t> result;
  for (std::int64_t parts = 1; parts <= std::min(extent, devices); ++parts)
    if (extent % parts == 0 && extent / parts >= least_extent) result.push_back(parts);
  if (result.empty()) result.push_back(1);
  return result;
}

}  // namespace

std::vector<Split> configurations(std::span<const std::int64_t> extents, std::int64_t devices,
                                  std::int64_t least_extent) {
  std::vector<Split> result = {{}};
  for (const std::int64_t extent : extents) {
    const std::vector<std::int64_t> of_dimension = cuts(extent, devices, least_extent);
    std::vector<Split> longer;
    for (const Split& split : result)
      for (const std::int64_t cut : of_dimension) {
        if (cut > devices / parts(split)) break;
        longer.push_back(split);
        longer.back().push_back(cut);
      }
    result.swap(longer);
  }
  const auto dims_cut = [](const Split& split) {
    return std::count_if(split.begin(), split.end(), [](std::int64_t each) { return each > 1; });
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](const Split& a, const Split& b) { return dims_cut(a) < dims_cut(b); });
  return result;
}

bool is_contiguous(std::span<const std::int64_t> extents, const Split& split) {
  std::size_t d = 0;
  while (d < split.size() && split[d] == extents[d]) ++d;
  for (++d; d < split.size(); ++d)
    if (split[d] != 1) return false;
  return true;
}

std::int64_t parts(const Split& split) {
  std::int64_t product = 1;
  for (const std::int64_t each : split) product *= each;
  return product;
}

}  // namespace cairn::splits
