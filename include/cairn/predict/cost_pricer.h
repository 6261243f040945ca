// Prices from the cost model: one accelerator's calibration, one cluster's network, one framework's fitted numbers.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "cairn/core/quantity.h"
#include "cairn/cost/calibration.h"
#include "cairn/cost/shard_pricer.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/cluster.h"
#include "cairn/hardware/framework.h"
#include "cairn/hardware/placement.h"
#include "cairn/predict/price.h"

namespace cairn::predict {

class CostPricer final : public Pricer {
 public:
  CostPricer(const cost::Calibration& calibration, const hardware::Accelerator& accelerator, const hardware::Network& network,
             const hardware::FittedNumbers& host);

  Price shard(const ir::Shard& shard) override;
  Price transfer(const plan::Transfer& transfer) override;
  Price host(plan::HostWork work) override;
  core::Picoseconds host_per_kernel() const override;

  cost::TransferTime transfer_time(const plan::Transfer& transfer);
  // Payload bytes per rank over the links stated bandwidths: no execution of the transfer takes less.
  double transfer_floor_s(const plan::Transfer& transfer);
  // Bytes one rank sends inside its domain and across domains.
  struct Sent {
    double scale_up = 0.0;
    double scale_out = 0.0;
  };
  Sent sent(const plan::Transfer& transfer);

  cost::ShardPricer& shards() { return shards_; }
  const std::set<std::string>& assumptions() const { return assumptions_; }

 private:
  cost::GroupBinding binding(const plan::Group& group);

  const cost::Calibration& calibration_;
  const hardware::Network& network_;
  const hardware::FittedNumbers& host_;
  cost::ShardPricer shards_;
  cost::TransferLinks links_{};
  std::map<std::pair<std::int64_t, std::int64_t>, cost::GroupBinding> bindings_;
  std::set<std::string> assumptions_;
};

}  // namespace cairn::predict
