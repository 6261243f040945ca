// What `cairn search --method` answers, as JSON (cairn.splits/1) and as text: the split of every operator of a graph.
//
// Sample of the text:
//   alexnet, batch 128, on 32 devices: 53.14 GFLOP, and no splits cost less
//   11.6 times less than data parallelism (618.8 GFLOP), by PaSE's costs
//
//     operator  split
//     conv1     b 32
//     fc6       n 4, k 8
#pragma once

#include <cstdint>
#include <string>

#include "cairn/report/run.h"
#include "cairn/splits/search.h"

namespace cairn::report {

struct Splits {
  std::string graph;  // its name
  std::int64_t batch = 1;
  splits::PaseRules rules = {};
  splits::Method method = splits::Method::pase;
  const splits::SplitProblem& problem;
  const splits::SplitAnswer& answer;
  Tool tool = {};
};

std::string text(const Splits& of, const TextStyle& style = {});
std::string json(const Splits& of);
std::string splits_schema();  // of cairn.splits/1

}  // namespace cairn::report
