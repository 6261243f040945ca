// The five degrees of freedom of PanGu-alpha's parallel training, searched exactly under a memory cap.
//
//   minimise    time(x)   over   x = (data, tensor, pipeline, optimizer, rematerialised)
//   subject to  memory(x) <= capacity,   data x tensor x pipeline = devices,
//               tensor | heads,  pipeline | layers,  data | batch,  optimizer | data,
//               0 <= rematerialised <= layers / pipeline
//
// data, tensor (operators split over devices), pipeline: parallel degrees. optimizer: ranks of a data parallel group
// that share the optimizer's state and its update among them. rematerialised: layers of every stage whose activations
// are computed again in the backward pass, the same number in each. What they cost is the caller's model, which
// promises two facts:
//
//   memory does not grow with optimizer or with rematerialised, all else the same;
//   time does not shrink with either.
//
// For given data, tensor, pipeline the fastest that fits is then a corner of a staircase: there is a least number of
// rematerialised layers for each optimizer degree, which does not grow with the degree, and only where it falls a
// larger degree can pay. The walk along the stairs looks at no more than a + b of a b candidates, for a degrees and b
// numbers of layers; and it is left out where time(data, tensor, pipeline, 1, 0) is no less than that of the best
// candidate so far. Where a promise is broken, the answer fits but need not be the fastest, and there may be none
// though some fit. A caller whose update of the parameters is shared out, so that a larger optimizer degree may save
// time, says so (Promise): every degree is then weighed at its least number of rematerialised layers, and none left out.
//
// Example: 4 devices, 2 heads, 2 layers and a batch of 4 leave (data, tensor, pipeline) = (4, 1, 1), (2, 1, 2), (2, 2,
// 1), (1, 2, 2) with 3 x 3, 2 x 2, 2 x 3 and 1 x 2 choices of the other two: 21 candidates.
//
// Source: W. Zeng et al., "PanGu-alpha: Large-scale Autoregressive Pretrained Chinese Language Models with
// Auto-parallel Computation", 2021 (arXiv 2104.12369), for the five dimensions, those of MindSpore Auto-parallel; the
// search is ours.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cairn/core/time.h"

namespace cairn::allotment {

struct FiveDimensions {
  std::int64_t data = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t optimizer = 1;
  std::int64_t rematerialised = 0;
  bool operator==(const FiveDimensions&) const = default;
};

// What time does where the optimizer degree grows, all else the same.
enum class Promise : std::uint8_t { grows_with_optimizer, anything };

struct FiveDimensionsProblem {
  std::int64_t devices = 1;  // all are used
  std::int64_t heads = 1;
  std::int64_t layers = 1;
  std::int64_t batch = 1;
  std::int64_t capacity = 0;  // bytes of a device
  std::function<core::Picoseconds(const FiveDimensions&)> time = {};
  std::function<std::int64_t(const FiveDimensions&)> memory = {};  // bytes of the fullest device
  Promise time_of_optimizer = Promise::grows_with_optimizer;
};

struct FiveDimensionsAnswer {
  std::optional<FiveDimensions> best = {};  // nothing where no candidate fits
  core::Picoseconds time = 0;               // of the best
  std::int64_t memory = 0;                  // of the best
  std::int64_t evaluated = 0;               // candidates whose time or memory was asked for
  std::int64_t candidates = 0;              // that exist
};

// Of equally fast candidates the one of the smallest tensor degree, then pipeline degree, optimizer degree, number of
// rematerialised layers. Candidates are made as they are looked at. Errors: core::ConfigurationError where devices,
// heads, layers or batch is below 1 or above 2^20, or a function is missing.
FiveDimensionsAnswer fastest_dimensions(const FiveDimensionsProblem& problem);

}  // namespace cairn::allotment
