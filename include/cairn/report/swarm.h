// What `cairn schedule swarm` answers: as any schedule (cairn.schedule/1), a device being a peer, and what became of
// the peers: their speeds, the work they did and lost, failures and moves between stages.
//
//   bubble       idle time of the peer that is idle most, over the makespan; a peer that is away is idle
//   activations  most micro-batches that a peer held at once, waiting or at work
//   utilisation  work done at speed 1 over what all peers could have done in the makespan
#pragma once

#include <string>
#include <vector>

#include "cairn/report/schedule.h"
#include "cairn/swarm/swarm.h"

namespace cairn::report {

struct SwarmAnswer {
  swarm::Problem problem = {};
  swarm::Outcome outcome = {};
  pipeline::ExactTimes times = {};
  std::int64_t ticks_per_unit = 1;
  std::string unit = {};  // of the times; empty: none
  double seconds_per_unit = 1.0;
  std::vector<std::string> assumptions = {};
};

void write_json(const SwarmAnswer& answer, const Tool& tool, const Sink& sink);
std::string text(const SwarmAnswer& answer, const TextStyle& style = {});
std::string svg(const SwarmAnswer& answer);

}  // namespace cairn::report
