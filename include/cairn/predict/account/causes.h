// What makes the step as long as it is, seen from the stage that holds the others up.
//
//   time of a stage = step time - the time in which its computation waits for other stages
//
// It waits where a message arrives after the pass before has been computed, and, on stages that do not end last, after
// its last computation. The stage with the longest time limits the step; its step splits, instant by instant, into
//
//   compute, recompute, launch, optimizer   what its device does, as much of it as the average stage does
//   imbalance                               what it does of these beyond the average stage, and what other stages'
//                                           passes that it waits for take longer than its own
//   schedule                                other stages' passes that it waits for, up to the length of its own: the
//                                           filling and draining of the pipeline
//   exchange, copy, host                    transfers, copies and launches that its computation waits for
//   message                                 activations and gradients on their way between stages
//   ranks                                   others of its group come later to an exchange
//   links                                   after all work, until links that transfers share have carried everything
//
// found by walking back from each gap, through the message that ended it, the pass that sent this, and whatever held
// that up in turn. Whole picoseconds: they add up to the step time exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "cairn/predict/evaluate/stage_times.h"
#include "cairn/predict/evaluate/timeline.h"

namespace cairn::predict {

enum class Cause : std::uint8_t {
  compute,
  recompute,
  launch,
  optimizer,
  imbalance,
  schedule,
  exchange,
  copy,
  host,
  message,
  ranks,
  links,
};

struct CauseTime {
  Cause cause = Cause::compute;
  program::Axis axis = program::Axis::tensor;  // of exchanges
  std::int32_t stage = 0;  // whose work, message or exchange it is; of `schedule` and `links`: the limiting one
  core::Picoseconds time = 0;
};

// Breakdown::bubble of a stage, split by the causes above. transfers: messages between stages, and exchanges at the end
// of other stages.
struct BubbleParts {
  core::Picoseconds schedule = 0;
  core::Picoseconds imbalance = 0;
  core::Picoseconds transfers = 0;
  core::Picoseconds ranks = 0;
};

struct Causes {
  std::vector<core::Picoseconds> stages;  // time of each stage, as defined above
  std::int32_t limiting = 0;              // the stage with the longest
  std::vector<CauseTime> parts;           // longest first; each cause, axis and stage once
  BubbleParts bubble;                     // of the rank that ends last
};

// The two accounts of one execution, and when its passes ran.
struct Account {
  Breakdown breakdown;  // of the rank that ends last
  Causes causes;        // of the stage that holds the others up
  PassTimes passes;     // of one rank of each stage
};

// How much of an account is made; each includes those before. A whole account walks through every step of two stages,
// which takes longer than finding the time of the execution.
enum class Detail : std::uint8_t {
  stages,     // Causes::stages and Causes::limiting
  breakdown,  // Account::breakdown
  causes,     // the rest
};

// Accounts for an execution whose last work ends at `work` and whose step then lasts `links` longer (Bounds::links).
// `event`: the simulated run, whose timelines are moved out of it; null where the analytic engine alone ran. A run that
// was disturbed (EventOptions::disturbed) must have recorded its passes.
Account account(const program::Program& program, PriceTable& prices, Analytic& analytic, const Makespan& work,
                core::Picoseconds links, EventResult* event = nullptr, Detail detail = Detail::causes);

}  // namespace cairn::predict
