// A swarm under times that are exact fractions: request -> what becomes of it.
//
//   const swarm::Answer answer = swarm::answer({.peers = {{{2}, {1}}, {{1, 2}}}, .micro_batches = 8});
//   answer.in_units(answer.outcome.makespan): of a step, two peers on the first stage and one of half the speed on the
//   second
//
// Times are counted in ticks in which every one of them is whole, those of peers of any speed included: a peer of speed
// n/d takes d/n of a time, so that a unit has a multiple of n ticks for each. Lives that are drawn at random are rounded
// to a thousandth of a unit at most.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cairn/core/quantity.h"
#include "cairn/pipeline/exact_run.h"
#include "cairn/swarm/swarm.h"

namespace cairn::swarm {

struct Request {
  struct Joining {
    Speed speed = {};
    pipeline::Fraction time = {};  // 0: right after the start
  };
  struct Failing {
    std::int32_t peer = 0;  // in the order of `peers`, then of `joins`
    pipeline::Fraction time = {};
  };
  std::vector<std::vector<Speed>> peers = {};  // of the start, stage by stage
  std::int32_t micro_batches = 1;
  pipeline::ExactTimes times = {};                   // forward, both gradients, delay: of a peer of speed 1
  std::optional<core::Seconds> unit = std::nullopt;  // that the times count; absent: none
  std::vector<Joining> joins = {};
  std::vector<Failing> failures = {};
  std::optional<pipeline::Fraction> mean_life = std::nullopt;  // these as in Problem
  std::optional<pipeline::Fraction> repair = std::nullopt;
  std::optional<pipeline::Fraction> rebalance = std::nullopt;
  std::optional<pipeline::Fraction> migration = std::nullopt;
  std::int32_t in_flight = 0;
  std::uint64_t seed = 1;
};

struct Answer {
  Problem problem = {};  // in ticks
  Outcome outcome = {};
  pipeline::ExactTimes times = {};
  std::int64_t ticks_per_unit = 1;
  std::optional<core::Seconds> unit = std::nullopt;

  pipeline::Fraction in_units(core::Picoseconds ticks) const { return pipeline::fraction(ticks, ticks_per_unit); }
};

// Errors (core::ConfigurationError): those of run(), and times or speeds without a common measure that can be counted.
Answer answer(const Request& request);

}  // namespace cairn::swarm
