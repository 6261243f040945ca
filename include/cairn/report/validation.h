// What `cairn validate` draws.
#pragma once

#include <string>

#include "cairn/validation/validate.h"

namespace cairn::report {

// Predicted against measured step times as a picture (SVG), both axes logarithmic: a point for each timed row, a colour
// for each table, with its mean error; rows that are doubted are hollow. On the line in the middle a prediction is
// right; the dashed ones are 10 % off. Tables in the order of the report.
std::string validation_svg(const validation::Report& report);

}  // namespace cairn::report
