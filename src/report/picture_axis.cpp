#include "picture_axis.h"

#include <cmath>

namespace cairn::report {

double tick_step(double end, double parts) {
  const double rough = end / parts, power = std::pow(10.0, std::floor(std::log10(rough)));
  return power * (rough <= power ? 1.0 : rough <= 2.0 * power ? 2.0 : rough <= 5.0 * power ? 5.0 : 10.0);
}

}  // namespace cairn::report
