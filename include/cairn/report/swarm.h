// What `cairn schedule swarm` prints: as of any schedule (cairn.schedule/1), a device being a peer, and what became of
// the peers: their speeds, the work they did and lost, failures and moves between stages.
//
//   bubble       idle time of the peer that is idle most, over the makespan; a peer that is away is idle
//   activations  most micro-batches that a peer held at once, waiting or at work
//   utilisation  work done at speed 1 over what all peers could have done in the makespan
#pragma once

#include <string>

#include "cairn/report/schedule.h"
#include "cairn/swarm/answer.h"

namespace cairn::report {

void write_json(const swarm::Answer& answer, const Tool& tool, const Sink& sink);
std::string text(const swarm::Answer& answer, const TextStyle& style = {});
std::string svg(const swarm::Answer& answer);

}  // namespace cairn::report
