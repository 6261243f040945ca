// Host limits: the time that the host thread needs to issue a training step. The numbers are fitted, and each profile
// of a framework has its own; all are 0 where the host is taken to run ahead of its device (profile `ideal`), but for
// memory_share, which is no limit of that thread: 1 where nothing is known.
//
//   host time of a step = kernels x per_kernel + micro-batches x per_micro_batch + per_step
//   kernels of a tensor-parallel collective on n ranks
//     = 1                                 where pipeline messages stay in their domain; else
//     = 1 + n x launches_per_peer         of a group in one domain
//     = 1 + n x launches_per_peer_across  of a group over several
//
// A host that checks a collective with the hosts of its group before it issues it takes a time of this form, as PyTorch
// does under TORCH_DISTRIBUTED_DEBUG=DETAIL (torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp, runCollectiveChecks,
// 2025).
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <variant>

#include "cairn/core/quantity.h"

namespace cairn::hardware {

struct HostTimes {
  core::Seconds per_kernel = {};
  core::Seconds per_micro_batch = {};
  core::Seconds per_step = {};
  // In a pipeline whose messages cross domains, each collective of a tensor-parallel group costs the host the time of
  // this many further kernels per rank of the group, a fraction of one included. This is observed. Whether such checks
  // are its cause is not known: they would cost a single stage as much.
  double launches_per_peer = 0.0;
  std::optional<double> launches_per_peer_across = {};  // of a group over several domains; absent: the same
  // Of the host's stated memory bandwidth, what the passes of an offloaded optimizer's update reach.
  double memory_share = 1.0;

  double per_peer(bool across) const {
    return across ? launches_per_peer_across.value_or(launches_per_peer) : launches_per_peer;
  }
};

// All that is to be known of a number besides its formula. Rows are read by the reader and writer of frameworks'
// profiles, in this order, and by elasticities, which scale times.
struct HostNumber {
  std::string_view key = {};  // under `fitted` of a framework's profile
  std::variant<core::Seconds HostTimes::*, double HostTimes::*, std::optional<double> HostTimes::*> member = {};
  std::string_view doc = {};
  bool required = false;
  std::optional<double> most = {};  // in the member's base unit
};
inline constexpr auto k_host_numbers = std::to_array<HostNumber>(
    {{.key = "host_per_kernel",
      .member = &HostTimes::per_kernel,
      .doc = "host time to issue one kernel",
      .required = true},
     {.key = "host_per_micro_batch",
      .member = &HostTimes::per_micro_batch,
      .doc = "host time of each micro-batch",
      .required = true},
     {.key = "host_per_step", .member = &HostTimes::per_step, .doc = "host time of each step", .required = true},
     {.key = "launches_per_peer",
      .member = &HostTimes::launches_per_peer,
      .doc = "kernels' worth of host time per rank and collective of tensor parallelism, in a pipeline across domains",
      .most = 64.0},
     {.key = "launches_per_peer_across",
      .member = &HostTimes::launches_per_peer_across,
      .doc = "in place of launches_per_peer where the group's ranks lie in several domains; absent: the same",
      .most = 64.0}});

}  // namespace cairn::hardware
