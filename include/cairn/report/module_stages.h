// What `cairn partition EXPERIMENT` answers, as JSON (cairn.partition/1) and as text: the layers of a model as stages
// of a pipeline, by SageMaker's partition of a tree of modules and by the exact cut of a chain.
//
// Sample of the text:
//   small: 6 modules over 2 devices
//   cost: 20 % memory, 80 % time; the fullest device has 54.2 % of the model by
//   the tree of modules, 51.0 % by the best consecutive cut, 50.0 % on average
//
//     device     tree  modules                     exact  modules
//          0   54.2 %  embedding .. layer 3       49.0 %  embedding .. layer 2
//          1   45.8 %  layer 4 .. head            51.0 %  layer 3 .. head
//
//   The exact cut runs with
//     --set strategy.pp=2 --set strategy.dp=null --set strategy.stages='[2, 2]'
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
