#include "polygon.h"

#include <algorithm>

namespace cairn::loopnest {

namespace {

// value(x) = (slope * x + intercept) / divisor, divisor > 0
struct Line {
  std::int64_t slope = 0;
  std::int64_t intercept = 0;
  std::int64_t divisor = 1;
};

using Lines = boost::container::static_vector<Line, k_max_halfspaces + 1>;

// Cross-multiplied differences of two lines, times a coordinate, must stay inside Wide: 2 * 2^32 * 2^32 * 2^61 < 2^127.
constexpr std::int64_t k_stride_limit = std::int64_t{1} << 32;
constexpr std::int64_t k_coordinate_limit = std::int64_t{1} << 61;

[[maybe_unused]] bool within(std::int64_t value, std::int64_t limit) { return -limit <= value && value <= limit; }
[[maybe_unused]] bool within(const Interval& range) {
  return within(range.begin, k_coordinate_limit) && within(range.end, k_coordinate_limit);
}

// The line a - b, times both divisors.
struct Difference {
  Wide slope = 0;
  Wide intercept = 0;
  Wide at(std::int64_t x) const { return slope * x + intercept; }
};

Difference difference(const Line& a, const Line& b) {
  return {Wide{a.slope} * b.divisor - Wide{b.slope} * a.divisor,
          Wide{a.intercept} * b.divisor - Wide{b.intercept} * a.divisor};
}

// sum over x in range of floor(min over lines)
Wide sum_of_minimum(const Lines& lines, Interval range) {
  Wide sum = 0;
  while (range.begin < range.end) {
    const Line* lowest = &lines.front();
    for (const Line& line : lines) {
      const Difference rise = difference(line, *lowest);
      const Wide here = rise.at(range.begin);
      if (here < 0 || (here == 0 && rise.slope < 0)) lowest = &line;
    }
    std::int64_t piece_end = range.end;
    for (const Line& line : lines) {
      const Difference rise = difference(line, *lowest);
      if (rise.slope >= 0) continue;
      const Wide first_below = floor_div(rise.intercept, -rise.slope) + 1;
      if (first_below < piece_end) piece_end = static_cast<std::int64_t>(first_below);
    }
    const Wide at_begin = Wide{lowest->slope} * range.begin + lowest->intercept;
    sum += floor_sum(piece_end - range.begin, lowest->slope, at_begin, lowest->divisor);
    range.begin = piece_end;
  }
  return sum;
}

// Largest magnitude of a cut's stride in the dimension: 1 makes every bound of it an integer.
std::int64_t coarsest_stride(const Polytope& polytope, DimId dim) {
  std::int64_t coarsest = 0;
  for (const Halfspace& cut : polytope.halfspaces) coarsest = std::max(coarsest, std::abs(cut.stride[dim]));
  return coarsest;
}

}  // namespace

void clip(Interval& range, Wide stride, Wide offset) {
  if (stride > 0) {
    const Wide first = ceil_div(-offset, stride);
    if (first > range.begin) range.begin = static_cast<std::int64_t>(std::min<Wide>(first, range.end));
  } else {
    const Wide end = floor_div(offset, -stride) + 1;
    if (end < range.end) range.end = static_cast<std::int64_t>(std::max<Wide>(end, range.begin));
  }
}

std::int64_t count_polygon(const Polytope& polytope) {
  DimId outer = static_cast<DimId>(std::countr_zero(polytope.dims));
  DimId inner = static_cast<DimId>(std::countr_zero(static_cast<DimSet>(polytope.dims & (polytope.dims - 1))));
  if (coarsest_stride(polytope, outer) < coarsest_stride(polytope, inner)) std::swap(outer, inner);

  CAIRN_ASSERT(within(polytope.range[outer]) && within(polytope.range[inner]));
  Lines above;  // upper bounds of y
  Lines below;  // upper bounds of -y
  above.push_back({0, polytope.range[inner].end - 1, 1});
  below.push_back({0, -polytope.range[inner].begin, 1});
  Interval range = polytope.range[outer];
  for (const Halfspace& cut : polytope.halfspaces) {
    const std::int64_t stride = cut.stride[inner];
    CAIRN_ASSERT(within(cut.stride[outer], k_stride_limit) && within(stride, k_stride_limit));
    CAIRN_ASSERT(within(cut.offset, k_coordinate_limit));
    (stride < 0 ? above : below).push_back({cut.stride[outer], cut.offset, std::abs(stride)});
  }
  for (const Line& upper : above) {
    for (const Line& lower : below) {
      const Difference room = difference(upper, {-lower.slope, -lower.intercept, lower.divisor});
      if (room.slope != 0)
        clip(range, room.slope, room.intercept);
      else if (room.intercept < 0)
        return 0;
    }
  }
  if (range.extent() <= 0) return 0;
  return narrow(sum_of_minimum(above, range) + sum_of_minimum(below, range) + range.extent());
}

}  // namespace cairn::loopnest
