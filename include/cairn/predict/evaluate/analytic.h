// Analytical evaluation: blocks become max-plus matrices, passes their products, and the stages run through their order
// lists.
//
// Cost: one symbolic execution per distinct block, O(log count) products per distinct stretch of equal layers, and one
// matrix-vector product per operation of the schedule. Everything but the last is remembered across Programs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cairn/predict/evaluate/timeline.h"
#include "cairn/predict/price/price.h"

namespace cairn::predict {

struct Makespan {
  core::Picoseconds time = 0;
  std::int32_t last_stage = 0;  // the stage that ends last; the lowest on ties
};

class Analytic {
 public:
  explicit Analytic(PriceTable& prices);
  ~Analytic();
  Makespan makespan(const program::Program& program);
  // Time of one block when all streams are idle before it. [ps]
  core::Picoseconds alone(const program::Block& block);
  // What a block takes at least, whatever streams are busy with before it: from when the compute stream is free until it
  // is free again. The sum over blocks that run one after the other on a rank is a lower bound of their time. [ps]
  core::Picoseconds at_least(const program::Block& block);
  // Time until one pass has computed, when all streams are idle before it. [ps]
  core::Picoseconds alone(const program::Pass& pass);
  // Start and end of every pass of every stage in the execution whose length is makespan(). [ps]
  PassTimes pass_times(const program::Program& program);
  // Start and end of every step of one stage in that execution. [ps]
  StageTimeline timeline(const program::Program& program, std::int32_t stage);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cairn::predict
