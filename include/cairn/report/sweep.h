// What `cairn sweep` answers, as JSON (cairn.sweep/1), as a table, as text and as a picture.
//
// Figures of a row are those of `cairn run --engine analytic` (run.h). The gap of a row is that of its step to the lower
// bound of its plan, step / bound - 1; it need not be attainable. With a search the row has what the search proved, too.
//
// Sample of the text:
//   Llama 3 70B on 64 DGX H100: of 10 rows the shortest step is 1.61 s: cluster.nodes 512
//
//   cluster.nodes  step time  tokens/s a GPU    MFU     memory   bound  limit
//               8    68.60 s             955   41.6 %  70.1 GiB  12.0 %  tp exposed
#pragma once

#include <string>

#include "cairn/report/run.h"
#include "cairn/search/space.h"
#include "cairn/sweep/sweep.h"

namespace cairn::report {

struct Sweep {
  const sweep::Answer& answer;
  search::Objective objective = search::Objective::step_time;
  Tool tool;
};

std::string text(const Sweep& of, const TextStyle& style = {});
// A negative `indent` gives one line.
std::string json(const Sweep& of, int indent = 2);
// A line for each row: what varies by its key, then the columns of a row of the document, then why it has no result.
std::string csv(const Sweep& of);
std::string sweep_schema();  // of cairn.sweep/1

// Tokens per second over the first key that varies, a line for each combination of the others; on logarithmic axes where
// that key's values grow by factors. Where the number of accelerators grows with the key, a dashed line beside each says
// what ideal scaling of its first point would give.
std::string sweep_svg(const Sweep& of);

}  // namespace cairn::report
