// What `cairn diff A B` answers, as JSON (cairn.diff/1) and as text: why one experiment's step is longer than another's,
// by what its time goes to and by which settings make it so.
//
// Sample of the text:
//   B is 1.310 s (14.6 %) slower than A: 9.000 s -> 10.31 s
//
//   A  llama3-70b-64xdgx-h100: Llama 3 70B on 64 DGX H100
//   B  tp8.yaml: Llama 3 70B on 64 DGX H100
//
//   By cause                        A          B  difference
//     tp exposed              1.200 s    2.400 s    +1.200 s
//     the rest                7.800 s    7.910 s  +110.0 ms
//     the step                9.000 s    10.31 s    +1.310 s
//
//   By setting                         A -> B
//     +1.000 s  strategy.tp            4 -> 8
//     +310.0 ms strategy.recompute     {kind: none} -> {kind: full}
//
// Both columns of differences add up to that of the step, in whole picoseconds (contrast/difference.h).
#pragma once

#include <string>

#include "cairn/contrast/difference.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct Diff {
  const contrast::Answer& answer;
  predict::Engine engine = predict::Engine::analytic;
  Tool tool;
};

// The answer in a sentence.
std::string sentence(const Diff& diff);
std::string text(const Diff& diff, const TextStyle& style = {});
std::string json(const Diff& diff);
std::string diff_schema();  // of cairn.diff/1

}  // namespace cairn::report
