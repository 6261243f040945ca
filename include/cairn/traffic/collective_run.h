// A collective run over a network, message by message: rank i sits on endpoint i.
//
// A rank goes through its list (cairn/collective/message_list.h) step by step. A message starts when both of its ends
// are through with their last step before it:
//
//   release(message of step s) = max over its source and destination of the end of all that either sends or receives
//                                in the last step before s in which it has messages
//   time                       = the end of the last message, rates and latencies as in cairn/sim/flows.h
//
// Chunks that go from one rank to another in one step are one flow of  chunks x S / chunks of S  bytes. Software takes
// no time here: what a library needs to start a message is part of measured prices (cairn/cost/transfer.h) alone.
// A list with a switch that adds has no flows: networks only carry.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cairn/collective/algorithms.h"
#include "cairn/traffic/run.h"

namespace cairn::traffic {

// Messages up to which a collective is run one by one, some 300 bytes each.
inline constexpr std::int64_t k_most_messages = std::int64_t{1} << 21;

// Throws core::ConfigurationError where the list has more than k_most_messages, or a switch.
FlowFile flows_of(const collective::MessageList& list, double bytes);

struct CollectiveRequest {
  collective::Collective collective = collective::Collective::all_reduce;
  double bytes = 0.0;            // S of cairn/collective/collective.h
  collective::Group group = {};  // `ranks` at most the network's endpoints
  std::string algorithm = {};    // empty: every one
  sim::Sharing sharing = sim::Sharing::max_min;
};

struct CollectiveRun {
  std::string_view algorithm;
  std::string missing = {};  // why it has no time; empty where it has
  std::int64_t steps = 0;
  std::int64_t messages = 0;
  double time_s = 0.0;
  double bus_bandwidth = 0.0;  // [B/s] what the busiest rank of a flat list moves, over the time: busbw of nccl-tests
};

struct CollectiveRuns {
  CollectiveRequest request = {};
  // Lower bound for any algorithm [s]: the bytes that some rank, or all ranks of some unit of a level together, must
  // send or receive, over the bandwidth of its ports.
  double least_s = 0.0;
  std::vector<CollectiveRun> runs = {};  // fastest first, then those without a time
};

// Asked before each algorithm for who shall see its flows; may return null.
using WatchFlows = std::function<std::unique_ptr<sim::FlowObserver>(std::size_t flows)>;

// Throws core::ConfigurationError: an unknown algorithm, more ranks than endpoints, fewer than two ranks, and where an
// algorithm is named that cannot do it.
CollectiveRuns run_collective(const topology::Composite& network, const CollectiveRequest& request,
                              const WatchFlows& watch = {});

}  // namespace cairn::traffic
