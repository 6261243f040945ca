// What `cairn search` answers, as JSON (cairn.search/1) and as text.
//
//   gap = best / lower bound - 1      0: the best plan of the space is proven to be it
//
// tokens/s of a GPU, USD and J of a step follow from the step time as in `cairn run` (run.h).
//
// Sample of the text:
//   Llama 3 70B on 64 DGX H100: the best of 50,400 plans takes 8.5 s
//
//   strategy: {tp: 4, pp: 4, micro_batch: 1, ...}
//
//         step time  contended     memory  what differs
//      1    8.500 s    8.610 s   61.0 GiB  the best
//      2    8.602 s    8.700 s   58.2 GiB  pp 8
#pragma once

#include <string>

#include "cairn/hardware/files.h"
#include "cairn/report/run.h"
#include "cairn/search/search.h"
#include "cairn/sweep/extent.h"

namespace cairn::report {

struct Search {
  std::string experiment;  // its name
  const hardware::Machine& machine;
  double tokens = 0.0;  // of a step
  const search::Space& space;
  const search::Answer& answer;
  search::Objective objective = search::Objective::step_time;
  // Where the objective asks for a size: `answer` is of the experiment of this size.
  const sweep::Extent* extent = nullptr;
  Tool tool;
};

std::string text(const Search& of, const TextStyle& style = {});
// A negative `indent` gives one line.
std::string json(const Search& of, int indent = 2);
std::string search_schema();  // of cairn.search/1

}  // namespace cairn::report
