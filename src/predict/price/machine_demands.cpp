#include "cairn/predict/price/machine_demands.h"

#include <algorithm>
#include <numeric>

#include "cairn/collective/folds.h"
#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::predict {
namespace {

std::string name_of(const hardware::NetworkLevel& level) {
  return level.name.empty() ? std::string(level.shape->name()) : level.name;
}

}  // namespace

MachineDemands::MachineDemands(CostPricer& pricer, const cost::CommunicationKernels& kernels,
                               const hardware::Accelerator& accelerator, const hardware::Network& network,
                               const std::optional<hardware::Host>& host, SharingRules rules)
    : pricer_(pricer), kernels_(kernels), network_(network), host_(host) {
  ports_.resize(network.levels.size());
  uplinks_.resize(network.levels.size());
  if (rules.contention) add_links();
  if (!rules.interference) return;
  const std::optional<core::BytesPerSecond> bandwidth = accelerator.device_memory().bandwidth;
  if (!bandwidth || accelerator.multiprocessors <= 0)
    throw core::ConfigurationError("simulation.interference",
                                   "the accelerator's file lacks multiprocessors or the bandwidth of its memory",
                                   "add them, or turn interference off");
  if (!(kernels.multiprocessors > 0.0))
    throw core::ConfigurationError("simulation.interference",
                                   "fabrics.yaml does not say how many multiprocessors transfers take",
                                   "give it communication_kernels, or turn interference off");
  multiprocessors_ = add("multiprocessors", UnitKind::processors, 1, static_cast<double>(accelerator.multiprocessors));
  memory_ = add("memory bandwidth", UnitKind::memory, 1, bandwidth->base());
  if (host) host_memory_ = add("host memory", UnitKind::memory, network.gpus_per_node, host->memory_bandwidth.base());
}

std::uint16_t MachineDemands::add(const std::string& unit, UnitKind kind, std::int64_t ranks, double capacity) {
  CAIRN_ASSERT(ranks > 0 && capacity > 0.0);
  units_.push_back({.name = unit, .kind = kind, .ranks = ranks, .capacity = capacity});
  return static_cast<std::uint16_t>(units_.size() - 1);
}

MachineDemands::Pair MachineDemands::add_link(const std::string& link, std::int64_t ranks, double capacity) {
  Pair pair;
  pair.out = add(link + " out", UnitKind::link, ranks, capacity);
  pair.in = add(link + " in", UnitKind::link, ranks, capacity);
  return pair;
}

void MachineDemands::add_links() {
  for (std::size_t i = 0; i < network_.levels.size(); ++i) {
    const hardware::NetworkLevel& level = network_.levels[i];
    const std::int64_t sets = std::gcd(level.nics, level.unit);
    const double capacity = static_cast<double>(level.nics / sets) * level.nic_bandwidth.base();
    const double share = i < network_.inner ? capacity : capacity / level.oversubscription;
    ports_[i] = add_link(name_of(level), level.unit / sets, share);
    if (level.switches > 1)
      uplinks_[i] = add_link(name_of(level) + " switch", level.switch_domain(), level.uplink.base());
  }
  if (!host_) return;
  const hardware::HostLink& link = host_->link;
  host_link_ = add_link("host link", link.shared_by, link.bandwidth.base());
  if (host_->nvme) drives_ = add("drives", UnitKind::link, network_.gpus_per_node, host_->nvme->bandwidth.base());
}

// Adds a demand of one rank: `share` of an instance. Units that are not modelled (k_none) are skipped.
void MachineDemands::take(UnitDemands& demands, std::uint16_t unit, double share, bool at_receiver) const {
  if (unit == k_none || !(share > 0.0)) return;
  const double most = 1.0 / static_cast<double>(units_[unit].ranks);
  demands.push_back({.unit = unit, .at_receiver = at_receiver, .amount = std::min(share, most)});
}

// Adds demands on both directions of a link. In a collective, and around a ring, a rank sends and receives alike; of a
// message between stages the receiving side is that of another rank.
void MachineDemands::take_both(UnitDemands& demands, const Pair& link, double bytes_per_s, bool message) const {
  if (link.out == k_none) return;
  take(demands, link.out, bytes_per_s / units_[link.out].capacity);
  take(demands, link.in, bytes_per_s / units_[link.in].capacity, message);
}

void MachineDemands::transfer(UnitDemands& demands, const program::Transfer& transfer, double duration_s) {
  const bool around = transfer.reach > 0;
  const bool message = transfer.collective == program::Collective::send && !around;
  const CostPricer::Sent sent = pricer_.sent(transfer);
  double inside = sent.scale_up;
  // Where some of a ring's messages leave a domain, the others still take its ports.
  if (around && transfer.group.hops_out(network_.domain(), transfer.reach) < network_.domain()) inside = transfer.bytes;
  if (transfer.collective == program::Collective::all_reduce &&
      pricer_.compared(transfer).algorithm == cost::Algorithm::in_switch)
    inside = collective::in_switch_share(transfer.group.size).bytes(transfer.bytes);
  for (std::size_t i = 0; i < network_.levels.size(); ++i) {
    const hardware::NetworkLevel& level = network_.levels[i];
    const std::int64_t sets = std::gcd(level.nics, level.unit), under_switch = level.switch_domain();
    const double moved = i >= network_.inner                 ? pricer_.leaving(transfer, level.unit, level.unit / sets)
                         : &level == network_.domain_level() ? inside
                                                             : 0.0;
    take_both(demands, ports_[i], moved / duration_s, message);
    if (level.switches > 1)
      take_both(demands, uplinks_[i], pricer_.leaving(transfer, under_switch, under_switch) / duration_s, message);
  }
  if (multiprocessors_ == k_none) return;
  const double held = pricer_.multiprocessors_held(transfer);
  const double accesses =
      kernels_.memory_accesses * (sent.scale_up + sent.scale_out) / duration_s / units_[memory_].capacity;
  // Around a ring each rank sends one message and receives another.
  take(demands, multiprocessors_, (around ? 2.0 : 1.0) * held / units_[multiprocessors_].capacity);
  if (!message) return take(demands, memory_, accesses);
  take(demands, multiprocessors_, held / units_[multiprocessors_].capacity, true);
  // A message is read on one side and written on the other.
  take(demands, memory_, accesses / 2.0);
  take(demands, memory_, accesses / 2.0, true);
}

void MachineDemands::shard(UnitDemands& demands, const ir::Shard& shard, double duration_s) {
  if (multiprocessors_ == k_none) return;
  ir::Shard whole = shard;
  whole.part = 0;
  whole.parts = 1;
  const cost::KernelTime time = pricer_.shards().price(whole);
  const double whole_s = duration_s * shard.parts, short_s = time.total_s - time.droop_s;
  take(demands, multiprocessors_, (time.compute_s + time.overhead_s + whole_s - short_s) / whole_s);
  take(demands, memory_, ir::bytes(whole) / whole_s / units_[memory_].capacity);
}

void MachineDemands::copy(UnitDemands& demands, const program::Copy& copy, double duration_s) const {
  const double rate = copy.bytes / duration_s;
  const bool drives = program::stream_of(copy.lane) == program::Stream::storage;
  if (drives) {
    if (drives_ != k_none) take(demands, drives_, 1.0 / static_cast<double>(units_[drives_].ranks));
  } else if (host_link_.out != k_none) {
    const std::uint16_t link = copy.lane == program::Lane::to_host ? host_link_.out : host_link_.in;
    take(demands, link, rate / units_[link].capacity);
  }
  if (!drives && memory_ != k_none) take(demands, memory_, rate / units_[memory_].capacity);
  if (host_memory_ != k_none) take(demands, host_memory_, rate / units_[host_memory_].capacity);
}

void MachineDemands::processor(UnitDemands& demands, const program::OnProcessor& work, double duration_s) const {
  if (host_memory_ == k_none) return;
  take(demands, host_memory_, bytes_on_host(work) / duration_s / units_[host_memory_].capacity);
}

UnitDemands MachineDemands::of(const program::Work& work, core::Picoseconds duration) {
  UnitDemands demands;
  const double duration_s = core::to_seconds(duration);
  program::visit(
      work, [&](const program::Transfer& moved) { transfer(demands, moved, duration_s); },
      [&](const ir::Shard& kernel) { shard(demands, kernel, duration_s); },
      [&](const program::Copy& copied) { copy(demands, copied, duration_s); },
      [&](const program::OnProcessor& update) { processor(demands, update, duration_s); }, [](program::HostWork) {},
      [](const program::Interference&) {});
  return demands;
}

}  // namespace cairn::predict
