// What `cairn partition EXPERIMENT` answers, as JSON (cairn.partition/1) and as text: the layers of a model as stages
// of a pipeline, by SageMaker's partition of a tree of modules and by the exact cut of a chain.
//
// Sample of the text:
//   small: 6 modules over 2 devices
//   a device has 50 % at the least; the tree gives one 54.2 %, the exact cut 51 %
//
//     device     tree  modules               exact  modules
//          0   54.2 %  embedding .. layer 2  51.0 %  embedding .. layer 2
#pragma once

#include <string>
#include <vector>

#include "cairn/division/module_stages.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct Partition {
  std::string experiment;  // its name
  division::StagesRequest asked = {};
  const division::ModuleStages& answer;
  std::vector<std::string> warnings = {};
  Tool tool = {};
};

std::string text(const Partition& of, const TextStyle& style = {});
std::string json(const Partition& of);
std::string partition_schema();  // of cairn.partition/1

}  // namespace cairn::report
