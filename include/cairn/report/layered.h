// What `cairn search EXPERIMENT --method galvatron`, and `cairn run --strategy-file` of layers, answer, as JSON
// (cairn.layers/1) and as text: how each layer of an experiment is shared among the accelerators of its stage.
//
// Sample of the text:
//   small: 12.3 ms a step on 4 x P40, 2 stages, 4 micro-batches of 2 sequences
//   the fastest that was found with stages whose layers are shared in their fastest
//   ways; the best with one way for all: 12.9 ms (tp 2, 1 stage, 4 micro-batches)
//
//     stage  layers                 tp    dp  sharded  recompute      time    memory
//         1  embedding .. 2          2     1                        1.2 ms   1.1 GiB
//         2  layers 3 .. 4           1     2  yes                   1.3 ms   1.2 GiB
//            head                    2     1
#pragma once

#include <string>
#include <vector>

#include "cairn/division/layered_search.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct Layered {
  std::string experiment;   // its name
  std::string accelerator;  // its name
  std::int64_t accelerators = 1;
  std::int64_t sequences = 1;  // of a step
  const division::LayeredStrategy& strategy;
  const division::LayerPrices::Layers& layers;
  const division::PricedPlan* answer = nullptr;     // of the strategy; none: nothing fits
  const division::LayeredSearch* search = nullptr;  // none: the plan was given
  core::Bytes capacity = {};                        // of a device
  std::vector<std::string> assumptions = {};
  std::vector<std::string> warnings = {};
  Tool tool = {};

  bool fits() const { return answer != nullptr && static_cast<double>(answer->memory) <= capacity.base(); }
};

std::string text(const Layered& of, const TextStyle& style = {});
std::string json(const Layered& of);
std::string layered_schema();  // of cairn.layers/1

}  // namespace cairn::report
