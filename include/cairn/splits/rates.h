// Prices of AutoDDL's model: constant rates of devices and of the links along each mesh axis.
//
//   kernel       FLOPs / (peak x efficiency). A derivative whose FLOPs nobody stated has those of its operator.
//
// The ring algorithms move an equal share of the bytes into each device. On an axis of p devices, latency a and
// bandwidth b, with the T bytes that its devices share:
//
//   all-gather, reduce-scatter   (p-1) a + (p-1)/p T/b        all-to-all   (p-1) a + (p-1)/p (T/p)/b
//   all-reduce                   2 (p-1) a + 2 (p-1)/p T/b                          message    a + T/b
//
// Source: J. Chen, S. Li, R. Guo, J. Yuan, T. Hoefler, "AutoDDL", 2023 (arXiv 2301.06813). Its tables were not read;
// the model is built from its description.
#pragma once

#include <optional>
#include <vector>

#include "cairn/core/quantity.h"
#include "cairn/predict/price/price.h"
#include "cairn/splits/boxing.h"

namespace cairn::splits {

struct AxisLinks {
  core::Seconds latency = {};           // of one message
  core::BytesPerSecond bandwidth = {};  // of one device, each direction
};

struct Rates {
  std::vector<AxisLinks> axes = {};      // as the mesh has them
  std::optional<AxisLinks> stages = {};  // from a device of one stage to one of the next
  core::FlopsPerSecond peak = {};        // of one device
  double efficiency = 1.0;               // share of the peak that operators reach, in (0, 1]
};

class RatePricer final : public predict::Pricer {
 public:
  // Errors: core::ConfigurationError at `mesh axes`, `stages`, `peak` or `efficiency` for other than one AxisLinks an
  // axis, a latency that is negative or no number, or a rate that is not positive.
  RatePricer(const Mesh& mesh, const Rates& rates);

  predict::Price shard(const ir::Shard& shard) override;
  predict::Price transfer(const program::Transfer& transfer) override;
  // No placement asks for these.
  predict::Price copy(const program::Copy&) override { return {}; }
  predict::Price processor(const program::OnProcessor&) override { return {}; }
  predict::Price host(program::HostWork) override { return {}; }
  core::Picoseconds host_per_kernel() const override { return 0; }

 private:
  Mesh mesh_;
  Rates rates_;
};

}  // namespace cairn::splits
