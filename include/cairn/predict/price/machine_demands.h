// Demands on the units of a real machine: links, memories and multiprocessors, from the same bytes and prices that the
// cost model rests on.
//
// Links (contention), each in both directions, capacities as the cluster file states them:
//   a rank's port into its domain      bytes it sends inside, over its price
//   a level's ports                    of g = gcd(ports, ranks) sets of a unit's ports, one serves every ranks/g ranks;
//                                      capacity ports/g x bandwidth / oversubscription. Bytes: what a rank sends to
//                                      other domains of the level below (m of them, r ranks of the group in each):
//                                      that of the same collective over m ranks of bytes/r
//   a PCIe switch's link to the root   likewise, with what leaves the switch
//   the host link, the drives          bytes of copies; the drives take turns, so their share is that of the time
// A price never beats the bandwidth that is stated, all ranks of a node sending at once. So a rank takes at most
// 1/ranks of an instance, and work of the same kind on all of them fits. Messages around a ring of which few pass an
// oversubscribed level go at the rate of their ports, and take all that their ranks are due. Around a ring every rank
// receives as much as it sends, and takes both directions.
//
// Processors and memories (interference):
//   a kernel         multiprocessors  arithmetic's part of its time, what slows arithmetic down included: a kernel that
//                                     waits for memory does not need them all
//                    memory           bytes read and written, over its price
//   a transfer       multiprocessors  those that the communication kernel holds (CommunicationKernels), none for copies
//                    memory           accesses per byte sent x bytes sent
//   host's memory    bytes of copies, and what its cores read and write
//
// Two transfers together may use all of a link's stated bandwidth although one alone does not: an optimistic end.
#pragma once

#include <optional>
#include <vector>

#include "cairn/cost/calibration.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/cluster.h"
#include "cairn/predict/price/cost_pricer.h"
#include "cairn/predict/price/demands.h"

namespace cairn::predict {

struct SharingRules {
  bool contention = false;
  bool interference = false;
};

class MachineDemands final : public Demands {
 public:
  MachineDemands(CostPricer& pricer, const cost::CommunicationKernels& kernels,
                 const hardware::Accelerator& accelerator, const hardware::Network& network,
                 const std::optional<hardware::Host>& host, SharingRules rules);

  const std::vector<SharedUnit>& units() const override { return units_; }
  UnitDemands of(const program::Work& work, core::Picoseconds duration) override;
  bool interferes() const override { return multiprocessors_ != k_none; }

 private:
  static constexpr std::uint16_t k_none = 0xffff;
  struct Pair {  // of one link
    std::uint16_t out = k_none;
    std::uint16_t in = k_none;
  };

  std::uint16_t add(const std::string& unit, UnitKind kind, std::int64_t ranks, double capacity);
  Pair add_link(const std::string& link, std::int64_t ranks, double capacity);
  void add_links();
  void take(UnitDemands& demands, std::uint16_t unit, double share, bool at_receiver = false) const;
  void take_both(UnitDemands& demands, const Pair& link, double bytes_per_s, bool message) const;
  void transfer(UnitDemands& demands, const program::Transfer& transfer, double duration_s);
  void shard(UnitDemands& demands, const ir::Shard& shard, double duration_s);
  void copy(UnitDemands& demands, const program::Copy& copy, double duration_s) const;
  void processor(UnitDemands& demands, const program::OnProcessor& work, double duration_s) const;

  CostPricer& pricer_;
  const cost::CommunicationKernels& kernels_;
  const hardware::Network& network_;
  const std::optional<hardware::Host>& host_;
  std::vector<SharedUnit> units_;
  std::vector<Pair> ports_;    // by level
  std::vector<Pair> uplinks_;  // by level; of PCIe switches
  Pair host_link_;             // out: to the host
  std::uint16_t drives_ = k_none;
  std::uint16_t multiprocessors_ = k_none;
  std::uint16_t memory_ = k_none;
  std::uint16_t host_memory_ = k_none;
};

}  // namespace cairn::predict
