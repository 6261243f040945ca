// What `cairn search EXPERIMENT --method pangu` answers, as JSON (cairn.degrees/1) and as text: five degrees of an
// experiment's plan.
//
// Sample of the text:
//   small: 12.34 ms a step on 4 accelerators, the fastest of 31 plans that fits
//
//     data parallel    2   strategy.dp
//     tensor parallel  2   strategy.tp
#pragma once

#include <string>
#include <vector>

#include "cairn/division/five_degrees.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct Degrees {
  std::string experiment;  // its name
  std::string file;        // as it was named on the command line
  std::int64_t accelerators = 1;
  std::int64_t layers = 1;
  const division::FiveDegrees& answer;
  std::vector<std::string> warnings = {};
  Tool tool = {};
};

std::string text(const Degrees& of, const TextStyle& style = {});
std::string json(const Degrees& of);
std::string degrees_schema();  // of cairn.degrees/1

}  // namespace cairn::report
