// Ticks of an axis in a picture.
#pragma once

namespace cairn::report {

// 1, 2 or 5 times a power of ten, the least that cuts an axis up to `end` into no more than `parts`.
double tick_step(double end, double parts);

}  // namespace cairn::report
