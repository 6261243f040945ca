// Prices: how long each piece of work takes, made apart from the Program that asks for it.
//
// A price is int64 picoseconds, rounded once. `launch` is the part of a kernel's duration in which the device only
// waits for the next kernel to start; it is reported apart. `issue` is time of the host beside that of issuing kernels:
//   host time of a step = kernels it launches x host_per_kernel + issue
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/program/program.h"

namespace cairn::predict {

struct Price {
  core::Picoseconds duration = 0;
  core::Picoseconds launch = 0;
  core::Picoseconds issue = 0;
};

class Pricer {
 public:
  virtual ~Pricer() = default;
  // Called before and after the works of a block are priced: they may have something in common.
  virtual void enter(const program::Block&) {}
  virtual void leave() {}
  virtual Price shard(const ir::Shard& shard) = 0;
  // A kernel that runs in pieces, with transfers of operands and results in between: the price of all pieces together.
  virtual Price in_pieces(const ir::Shard& whole) { return shard(whole); }
  virtual Price transfer(const program::Transfer& transfer) = 0;
  virtual Price copy(const program::Copy& copy) = 0;
  virtual Price processor(const program::OnProcessor& work) = 0;
  virtual Price host(program::HostWork work) = 0;
  virtual Price interference(const program::Interference&) { return {}; }
  // Time the host takes to issue one kernel.
  virtual core::Picoseconds host_per_kernel() const = 0;
};

// Prices of a block, parallel to its works.
using BlockPrices = std::vector<Price>;

// Time that the host takes to issue a step.
inline core::Picoseconds issue_time(const program::Step& step, const BlockPrices& prices,
                                    core::Picoseconds host_per_kernel) {
  return step.launches * host_per_kernel + (step.work < 0 ? 0 : prices[static_cast<std::size_t>(step.work)].issue);
}

// Prices blocks and remembers the prices. Blocks must outlive it or be forgotten together with it. Throws
// core::ConfigurationError, naming the work, for a price beyond what simulated time reaches (core/time.h) and for work
// of more operations than 64 bits count.
class PriceTable {
 public:
  explicit PriceTable(Pricer& pricer) : pricer_(pricer), host_per_kernel_(pricer.host_per_kernel()) {}
  const BlockPrices& of(const program::Block& block);
  core::Picoseconds host_per_kernel() const { return host_per_kernel_; }

 private:
  Pricer& pricer_;
  core::Picoseconds host_per_kernel_;
  std::unordered_map<const program::Block*, std::unique_ptr<BlockPrices>> blocks_;
};

}  // namespace cairn::predict
