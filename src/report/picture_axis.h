// Axes of pictures: where values stand, and which of them are told.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::report {

// 1, 2 or 5 times a power of ten, the least that cuts an axis up to `end` into no more than `parts`.
double tick_step(double end, double parts);

// A stretch of values along an axis.
struct AxisSpan {
  double from = 0.0, to = 1.0;
  bool logarithmic = false;

  // Around values from the least to the greatest, with some room on both sides.
  static AxisSpan around(double least, double greatest, bool logarithmic);
  // Of rates: logarithmic where that is asked for and they grow enough; else from 0.
  static AxisSpan of_rates(double least, double greatest, bool logarithmic);

  // Where a value stands: 0 at `from`, 1 at `to`.
  double share(double value) const;
};

struct AxisTick {
  double value = 0.0;
  bool labelled = true;
};
// Of a linear axis no more than about `parts`; of a logarithmic one 1, 2 and 5 times powers of ten.
std::vector<AxisTick> axis_ticks(const AxisSpan& span, double parts);

// The unit in which reports tell a time of so many seconds.
struct TimeUnit {
  double seconds = 1.0;
  std::string_view name = "s";
};
TimeUnit time_unit(double seconds);

// Values of a key as places along an axis: their numbers, where all are numbers of one unit that grow; else 0, 1, ...
struct KeyAxis {
  std::vector<double> places = {};
  std::string unit = {};
  bool logarithmic = false;  // they grow by factors

  explicit KeyAxis(std::span<const std::string> values);

  // A value without the unit that all share.
  std::string label(const std::string& value) const;
};

}  // namespace cairn::report
