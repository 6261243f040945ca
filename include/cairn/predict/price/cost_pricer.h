// Prices from the cost model: one accelerator's calibration, one cluster's network, one framework's fitted numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cairn/core/quantity.h"
#include "cairn/cost/calibration.h"
#include "cairn/cost/shard_pricer.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/cluster.h"
#include "cairn/hardware/host_times.h"
#include "cairn/predict/price/price.h"

namespace cairn::predict {

// The least that one rank must send or receive, in one direction [bytes].
struct LinkBytes {
  double inside = 0.0;  // in transfers within a domain
  double either = 0.0;  // in transfers across domains, over links inside the domain or out of it
  double across = 0.0;  // the part of `either` that must leave the domain

  void add(const LinkBytes& other, double times) {
    inside += times * other.inside;
    either += times * other.either;
    across += times * other.across;
  }
};

// Bytes of host memory that an update on the host's cores reads and writes.
double bytes_on_host(const program::OnProcessor& work);

class CostPricer final : public Pricer {
 public:
  CostPricer(const cost::Calibration& calibration, const hardware::Accelerator& accelerator,
             const hardware::Network& network, const hardware::HostTimes& host,
             std::optional<hardware::Host> machine = {});

  // Kernels of a block share one clock, that of the slowest of all the network's accelerators (cost/clock.h). A kernel
  // of no block runs as if its kind ran alone. enter() throws core::OutOfRange, naming the operator, where a kernel is of
  // more than can be counted or timed; the pricer is then in no block.
  void enter(const program::Block& block) override;
  void leave() override { known_.clear(); }
  Price shard(const ir::Shard& shard) override;
  Price transfer(const program::Transfer& transfer) override;
  // Prices of copies and of the host's cores need a description of the host: a plan that offloads has one.
  //   copy        latency + bytes / (bandwidth / accelerators on the link)
  //   drives      bytes / (bandwidth / accelerators of the node)
  //   processor   max( bytes / memory bandwidth, operations / rate ), each a node's divided among its accelerators
  Price copy(const program::Copy& copy) override;
  Price processor(const program::OnProcessor& work) override;
  Price host(program::HostWork work) override;
  // Multiprocessors that the kernel of a collective or a message holds on the rank's device while bytes move
  // (cost::CommunicationKernels): what its channels are given of the bytes that the rank sends.
  double multiprocessors_held(const program::Transfer& transfer);
  // The kernel of a collective holds h of a device's n multiprocessors. While it runs for T, kernels beside it proceed at
  // (n - h) / n of their rate, and take T h / n longer in all; what is left of them after T runs at the full rate. Where
  // they are done before, the collective's own end is what counts, and the charge lies within it. Of T the part that the
  // bandwidth asks for counts with h, the rest with one multiprocessor: short messages use few channels.
  // 0 where n or the kernels are not known.
  Price interference(const program::Interference& beside) override;
  core::Picoseconds host_per_kernel() const override;

  cost::TransferTime transfer_time(const program::Transfer& transfer);
  // The price of a transfer that the plan does not contain, for comparisons: it adds nothing to assumptions().
  cost::TransferTime compared(const program::Transfer& transfer);
  // Ranks of a collective's group in each domain; where that is uneven, in the emptiest (Group::fewest_members).
  std::int64_t ranks_per_domain(const program::Group& group);
  // What a rank must at least send or receive for the transfer, and the time its links need for so much: no execution
  // takes less. Proofs in lower_bounds.h.
  LinkBytes least_bytes(const program::Transfer& transfer);
  double link_floor_s(const LinkBytes& bytes) const;
  double transfer_floor_s(const program::Transfer& transfer);
  // Bytes one rank sends inside its domain and across domains.
  struct Sent {
    double scale_up = 0.0;
    double scale_out = 0.0;
  };
  Sent sent(const program::Transfer& transfer);
  // Bytes that each of `sharing` ranks on one link out of a unit of `unit` consecutive ranks, of any group, sends over
  // it, by the algorithm that is priced. Of messages around a ring few leave (program::Group::hops_out): those over the
  // busiest link, shared out.
  double leaving(const program::Transfer& transfer, std::int64_t unit, std::int64_t sharing);

  cost::ShardPricer& shards() { return shards_; }
  std::set<std::string> assumptions() const;
  // Whether a transfer priced so far takes links that were never measured.
  bool assumes_links() const { return !unmeasured_.empty(); }
  // Of the transfers priced so far, what lies outside the measurements.
  const cost::Extrapolation& extrapolation() const { return extrapolation_; }

 private:
  struct ShardHash {
    std::size_t operator()(const ir::Shard& shard) const;
  };
  // Where a group sits, its links, and what is known about the network that joins its domains.
  struct Route {
    cost::GroupBinding binding;
    cost::TransferLinks links;
    double widest = 0.0;       // rate of the fastest network between the domains [B/s]: nothing passes faster
    bool within_node = false;  // domains joined inside a node, not by a calibrated fabric
    bool hops_inside = false;  // messages around rings, some of which leave a domain, and some do not
  };
  // `reach`: as in program::Transfer, or that it is no message.
  const Route& route(const program::Group& group, std::int64_t reach);
  const Route& route(const program::Transfer& transfer);
  // Ranks of a group in one unit of consecutive ranks.
  static std::int64_t members(const program::Group& group, std::int64_t unit, bool message);
  // Bytes that one rank of a collective sends to other units, where each unit holds `ranks` of the group, however many
  // others it holds besides.
  double leaving_units(const program::Transfer& transfer, std::int64_t ranks);
  // Of a collective whose bytes take any time.
  double held_while_moving(const program::Transfer& transfer, const cost::TransferTime& time);
  cost::GroupBinding binding(const program::Transfer& transfer);
  // The links of a group, or of the messages around it.
  void connect(const program::Group& group, std::int64_t reach, Route& route) const;

  const cost::Calibration& calibration_;
  const hardware::Network& network_;
  const hardware::HostTimes& host_;
  std::optional<hardware::Host> machine_;
  cost::ShardPricer shards_;
  // Kernels of the block that was entered, pieces put together, priced as if their kind ran alone; and the clock that
  // they share. None where no limit of power is known.
  std::unordered_map<ir::Shard, cost::KernelTime, ShardHash> known_;
  double clock_hz_ = 0.0;
  double multiprocessors_ = 0.0;                         // of the device; 0: transfers take none from kernels
  cost::TransferLaws node_laws_{};                       // of transfers whose domains are joined inside a node
  std::map<std::array<std::int64_t, 5>, Route> routes_;  // by a group's numbers and reach, whatever its axis
  std::set<std::string> assumptions_;
  // Transfers over links that were never measured: the share of the stated bandwidth they are taken to get, what they
  // are, over how many ranks.
  std::map<double, std::map<std::string_view, std::set<std::int64_t>>> unmeasured_;
  cost::Extrapolation extrapolation_;
};

}  // namespace cairn::predict
