// What `cairn search EXPERIMENT --method pangu` answers, as JSON (cairn.degrees/1) and as text: five degrees of an
// experiment's plan.
//
// Sample of the text:
//   small: 12.34 ms a step on 4 accelerators, the fastest that fits of 31 plans
//   3.1 GiB of 15.5 GiB of an accelerator; 17 plans were looked at
//
//     data parallel         2
//     tensor parallel       2
//     pipeline stages       1
//     optimizer             2  ranks that shard the optimizer's state
//     rematerialised        0  of the 4 layers of a stage run again in backward
//
//   The same plan with all its figures:
//     cairn run small --set strategy.tp=2 --set strategy.dp=2 ...
#pragma once

#include <string>
#include <vector>

#include "cairn/division/five_degrees.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct Degrees {
  std::string experiment;                   // its name
  std::string file;                         // as it was named on the command line
  std::vector<std::string> overrides = {};  // KEY=VALUE of the command line, which hold for the plan, too
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
