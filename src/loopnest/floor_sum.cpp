#include "integers.h"

namespace cairn::loopnest {

// The whole parts of slope and intercept sum to triangles and rectangles. What is left lies under a line of slope below
// 1: counting its lattice points by columns or by rows is the same count with slope and divisor exchanged, as in
// Euclid's algorithm (Graham, Knuth, Patashnik: Concrete Mathematics, section 3.5).
Wide floor_sum(std::int64_t count, Wide slope, Wide intercept, Wide divisor) {
  Wide sum = 0;
  Wide columns = count;
  while (columns > 0) {
    const Wide whole_slope = floor_div(slope, divisor);
    const Wide whole_intercept = floor_div(intercept, divisor);
    sum += whole_slope * (columns * (columns - 1) / 2) + whole_intercept * columns;
    slope -= whole_slope * divisor;
    intercept -= whole_intercept * divisor;
    if (slope == 0) break;
    const Wide height = slope * columns + intercept;
    columns = height / divisor;
    intercept = height % divisor;
    const Wide exchanged = slope;
    slope = divisor;
    divisor = exchanged;
  }
  return sum;
}

}  // namespace cairn::loopnest
