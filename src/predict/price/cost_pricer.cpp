#include "cairn/predict/price/cost_pricer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/container_hash/hash.hpp>

#include "at.h"
#include "cairn/collective/folds.h"
#include "cairn/core/assert.h"
#include "cairn/core/out_of_range.h"
#include "work_text.h"

namespace cairn::predict {
namespace {

double counted_bytes(const program::Transfer& transfer) {
  return collective::buffer_bytes(transfer.collective, transfer.group.size, transfer.bytes);
}

constexpr std::int64_t k_collective = -1;  // in place of a message's reach

// Two stages that share parameters lie as those that a message joins: they are part of a pipeline, which fills domains
// where the two alone would not.
std::int64_t reach_of(const program::Transfer& transfer) {
  const bool stages = transfer.group.axis == program::Axis::pipeline;
  return transfer.collective == program::Collective::send || stages ? transfer.reach : k_collective;
}

template <class Of>
double summed(const program::OnProcessor& work, Of of) {
  double sum = 0.0;
  for (const ir::Operator& op : work.graph->operators())
    sum += of(ir::Shard{.op = &op, .graph = work.graph, .box = {loopnest::Interval{0, work.elements}}});
  return sum;
}

}  // namespace

double bytes_on_host(const program::OnProcessor& work) {
  return summed(work, [](const ir::Shard& shard) { return ir::bytes(shard); });
}

CostPricer::CostPricer(const cost::Calibration& calibration, const hardware::Accelerator& accelerator,
                       const hardware::Network& network, const hardware::HostTimes& host,
                       std::optional<hardware::Host> machine)
    : calibration_(calibration),
      network_(network),
      host_(host),
      machine_(std::move(machine)),
      shards_(calibration, accelerator) {
  // Links such as PCIe that no calibration covers get an assumed share of their stated bandwidth.
  node_laws_ = calibration.transfers;
  node_laws_.fabric = {.efficiency = calibration.transfers.domain.assumed_efficiency};
  node_laws_.domain.tree_channel = {};
  node_laws_.domain.switch_tree_channel = {};
  multiprocessors_ = static_cast<double>(accelerator.multiprocessors);
}

std::size_t CostPricer::ShardHash::operator()(const ir::Shard& shard) const {
  std::size_t seed = std::hash<const ir::Operator*>{}(shard.op);
  for (const loopnest::Interval& each : shard.box) {
    boost::hash_combine(seed, each.begin);
    boost::hash_combine(seed, each.end);
  }
  return seed;
}

void CostPricer::enter(const program::Block& block) {
  known_.clear();
  if (!calibration_.power) return;
  decltype(known_) kernels;
  cost::SharedClock clock(*calibration_.power);
  for (const program::Step& step : block.steps) {
    const program::Work* work = step.work < 0 ? nullptr : &block.works[at(step.work)];
    const ir::Shard* shard = work == nullptr ? nullptr : std::get_if<ir::Shard>(work);
    if (shard == nullptr || shard->part > 0) continue;
    ir::Shard whole = *shard;
    whole.parts = 1;
    const auto [kernel, fresh] = kernels.try_emplace(std::move(whole));
    if (fresh) {
      try {
        kernel->second = shards_.price(kernel->first);
      } catch (const core::OutOfRange& problem) {
        raise_unpriceable(*work, problem);
      }
    }
    clock.add(kernel->second);
  }
  clock_hz_ = clock.solve() / cost::slowest(*calibration_.power, network_.gpus());
  known_ = std::move(kernels);
}

Price CostPricer::shard(const ir::Shard& shard) {
  const auto known = known_.find(shard);
  const cost::KernelTime time = known != known_.end() ? known->second : shards_.price(shard);
  const double total_s = known != known_.end() ? cost::time_at(time, clock_hz_) : time.total_s;
  return {.duration = core::to_picoseconds(total_s), .launch = core::to_picoseconds(time.launch_s)};
}

void CostPricer::connect(const program::Group& group, std::int64_t reach, Route& route) const {
  const auto seconds = [](core::Seconds time) { return time / core::k_second; };
  const auto senders = [&](std::int64_t unit) {
    return reach > 0 ? std::max<std::int64_t>(1, group.hops_out(unit, reach)) : unit;
  };
  cost::TransferLinks& links = route.links;
  if (const hardware::NetworkLevel* own = network_.domain_level()) {
    links.intra = {.bandwidth = own->gpu_bandwidth().base(), .latency = seconds(own->latency)};
    if (own->switches > 1) links.uplink = own->uplink_share(senders(own->switch_domain())).base();
  }
  // Beyond the domain: through every level up to the one that joins the whole group, at the rate of the slowest.
  const std::int64_t extent = group.extent();
  for (const hardware::NetworkLevel& level : network_.beyond()) {
    double rate = level.rate_of(senders(level.unit)).base();
    if (level.switches > 1 && level.switch_domain() % extent != 0)
      rate = std::min(rate, level.uplink_share(senders(level.switch_domain())).base());
    links.inter.bandwidth = links.inter.bandwidth > 0.0 ? std::min(links.inter.bandwidth, rate) : rate;
    links.inter.latency = seconds(level.latency);
    links.adapters = static_cast<double>(level.nics) / static_cast<double>(level.unit);
    route.widest = std::max(route.widest, rate);
    if (level.domain % extent == 0) break;
  }
}

// Of a collective's groups that lie alike, the one whose units hold fewest of its ranks is the slowest.
std::int64_t CostPricer::members(const program::Group& group, std::int64_t unit, bool message) {
  return message ? group.members(unit) : group.fewest_members(unit);
}

const CostPricer::Route& CostPricer::route(const program::Group& group, std::int64_t reach) {
  const auto [slot, fresh] = routes_.try_emplace({group.size, group.stride, group.rows, group.apart, reach});
  Route& route = slot->second;
  if (!fresh) return route;
  const std::int64_t domain = network_.domain();
  const hardware::NetworkLevel* own = network_.domain_level();
  const std::int64_t under_switch = own != nullptr && own->switches > 1 ? own->switch_domain() : 0;
  connect(group, reach, route);
  route.within_node = network_.gpus_per_node % group.extent() == 0;
  if (reach > 0) {
    const std::int64_t leaving = group.hops_out(domain, reach);
    route.binding = {.size = 2, .ranks_per_domain = leaving > 0 ? 1 : 2};
    if (under_switch > 0) route.binding.ranks_per_switch = group.hops_out(under_switch, reach) > 0 ? 1 : 2;
    route.hops_inside = leaving > 0 && group.stride * std::min(reach, group.size - reach) < domain;
    return route;
  }
  const bool message = reach != k_collective;
  route.binding = {.size = group.size, .ranks_per_domain = members(group, domain, message)};
  if (under_switch > 0) route.binding.ranks_per_switch = members(group, under_switch, message);
  if (route.binding.ranks_per_domain != group.members(domain))
    assumptions_.insert(fmt::format("groups of {} ranks do not fill whole domains of {}: priced with {} in each",
                                    group.size, domain, route.binding.ranks_per_domain));
  return route;
}

const CostPricer::Route& CostPricer::route(const program::Transfer& transfer) {
  return route(transfer.group, reach_of(transfer));
}

std::int64_t CostPricer::ranks_per_domain(const program::Group& group) {
  return route({.collective = program::Collective::all_reduce, .group = group}).binding.ranks_per_domain;
}

cost::GroupBinding CostPricer::binding(const program::Transfer& transfer) {
  cost::GroupBinding binding = route(transfer).binding;
  binding.across = transfer.across;
  return binding;
}

cost::TransferTime CostPricer::compared(const program::Transfer& transfer) {
  const Route& way = route(transfer);
  const auto time = [&](const cost::GroupBinding& ranks) {
    return cost::transfer_time(transfer.collective, counted_bytes(transfer), ranks, way.links,
                               way.within_node ? node_laws_ : calibration_.transfers);
  };
  const cost::TransferTime all = time(binding(transfer));
  if (!way.hops_inside) return all;
  const cost::TransferTime inside =
      time({.size = 2, .ranks_per_domain = 2, .ranks_per_switch = way.binding.ranks_per_switch});
  return inside.total_s > all.total_s ? inside : all;
}

cost::TransferTime CostPricer::transfer_time(const program::Transfer& transfer) {
  const cost::TransferTime time = compared(transfer);
  extrapolation_.see(transfer.collective, counted_bytes(transfer), binding(transfer), calibration_.transfers.domain);
  if (time.basis == cost::Basis::assumed) {
    const Route& way = route(transfer);
    const cost::TransferLaws& laws = way.within_node ? node_laws_ : calibration_.transfers;
    const bool fabric = way.binding.domains() > 1 && !laws.fabric.fitted;
    unmeasured_[fabric ? laws.fabric.efficiency : laws.domain.assumed_efficiency][collective::name(transfer.collective)]
        .insert(way.binding.size);
  }
  return time;
}

std::set<std::string> CostPricer::assumptions() const {
  std::set<std::string> all = assumptions_;
  for (const auto& [share, transfers] : unmeasured_) {
    std::vector<std::string> each;
    for (const auto& [name, ranks] : transfers) each.push_back(fmt::format("{} over {}", name, fmt::join(ranks, ", ")));
    all.insert(
        fmt::format("links that were never measured have the stated latency and {:.3g} % of the stated bandwidth: {} "
                    "ranks",
                    100.0 * share, fmt::join(each, "; ")));
  }
  return all;
}

Price CostPricer::transfer(const program::Transfer& transfer) {
  double issue = 0.0;  // [ps]
  if (transfer.per_peer) {
    const double launches = host_.per_peer(transfer.group.crosses(network_.domain()));
    issue = static_cast<double>(transfer.group.size) * launches * static_cast<double>(host_per_kernel());
  }
  if (issue >= static_cast<double>(core::k_reach))
    throw core::OutOfRange(
        fmt::format("issuing one collective of {} ranks takes longer than simulated time reaches, {}",
                    transfer.group.size, core::reach_text()))
        .at("training.framework", "look at the profile's host_per_kernel");
  return {.duration = core::to_picoseconds(transfer_time(transfer).total_s),
          .issue = static_cast<core::Picoseconds>(std::llround(issue))};
}

double CostPricer::leaving(const program::Transfer& transfer, std::int64_t unit, std::int64_t sharing) {
  if (transfer.reach > 0) {
    const std::int64_t senders = std::min(transfer.group.hops_out(unit, transfer.reach), sharing);
    return transfer.bytes * static_cast<double>(senders) / static_cast<double>(sharing);
  }
  return leaving_units(transfer, members(transfer.group, unit, reach_of(transfer) != k_collective));
}

double CostPricer::leaving_units(const program::Transfer& transfer, std::int64_t ranks) {
  const std::int64_t units = (transfer.group.size + ranks - 1) / ranks;
  if (units <= 1) return 0.0;
  const auto together = static_cast<double>(ranks);
  // A ring inside a domain is priced by what must cross there (cost/transfer.h, switches).
  const bool beyond = route(transfer).binding.domains() > 1;
  if (beyond && compared(transfer).algorithm == cost::Algorithm::ring)
    return transfer.across * collective::bytes_sent(transfer.collective, transfer.group.size, transfer.bytes) /
           together;
  return transfer.across * collective::bytes_sent(transfer.collective, units, transfer.bytes / together);
}

CostPricer::Sent CostPricer::sent(const program::Transfer& transfer) {
  const cost::GroupBinding where = route(transfer).binding;
  const double total = collective::bytes_sent(transfer.collective, transfer.group.size, transfer.bytes);
  if (where.domains() == 1) return {.scale_up = total, .scale_out = 0.0};
  if (where.ranks_per_domain == 1) return {.scale_up = 0.0, .scale_out = transfer.across * total};
  const auto inside = static_cast<double>(where.ranks_per_domain);
  const double across = leaving_units(transfer, where.ranks_per_domain);
  if (transfer.across == 1.0) return {.scale_up = std::max(0.0, total - across), .scale_out = across};
  // A row that crosses once is forwarded inside, so every row passes the inner links unless it is at its target
  // already.
  const double rows = counted_bytes(transfer);
  return {.scale_up = (inside - 1.0) / inside * rows, .scale_out = across};
}

LinkBytes CostPricer::least_bytes(const program::Transfer& transfer) {
  const cost::GroupBinding where = route(transfer).binding;
  const bool switch_adds = calibration_.transfers.domain.switch_bandwidth > 0.0;
  const bool added_on_the_way =
      transfer.collective == program::Collective::all_reduce && switch_adds && transfer.group.size > 1;
  const double total = added_on_the_way
                           ? transfer.bytes
                           : collective::bytes_sent(transfer.collective, transfer.group.size, transfer.bytes);
  if (where.domains() == 1) return {.inside = total, .either = 0.0, .across = 0.0};
  // What leaves a domain is known where every domain holds equally many ranks of the group.
  const std::int64_t domain = network_.domain();
  const bool message = transfer.collective == program::Collective::send;
  const bool even = transfer.reach > 0 ? transfer.group.extent() % domain == 0
                    : message          ? where.ranks_per_domain == 1
                                       : transfer.group.fills_evenly(domain);
  if (!even) return {.inside = 0.0, .either = transfer.across * total, .across = 0.0};
  // Around a ring few of a domain's ranks send out of it: what its links carry is less for each of all its ranks.
  const double across = transfer.reach > 0
                            ? leaving(transfer, domain, domain)
                            : collective::bytes_sent(transfer.collective, where.domains(),
                                                     transfer.bytes / static_cast<double>(where.ranks_per_domain));
  return {.inside = 0.0, .either = total - (1.0 - transfer.across) * across, .across = transfer.across * across};
}

double CostPricer::link_floor_s(const LinkBytes& bytes) const {
  const hardware::NetworkLevel* own = network_.domain_level();
  const double inner = own == nullptr ? 0.0 : own->gpu_bandwidth().base();
  double outer = 0.0;  // nothing leaves a domain faster, whatever network it takes
  double all = inner;
  for (const hardware::NetworkLevel& level : network_.beyond()) {
    const double rate = level.gpu_bandwidth().base() / level.oversubscription;
    outer = std::max(outer, rate);
    all += rate;
  }
  const auto over = [](double moved, double rate) { return moved > 0.0 ? moved / rate : 0.0; };
  return std::max({over(bytes.inside, inner), over(bytes.inside + bytes.either, all), over(bytes.across, outer)});
}

Price CostPricer::copy(const program::Copy& copy) {
  CAIRN_ASSERT(machine_.has_value());
  const hardware::HostLink& link = machine_->link;
  if (copy.lane == program::Lane::to_device || copy.lane == program::Lane::to_host) {
    assumptions_.insert(
        "copies over the host link run at its stated bandwidth, all accelerators on it at once, both directions "
        "independent");
    const core::BytesPerSecond share = link.bandwidth / static_cast<double>(link.shared_by);
    return {.duration = core::to_picoseconds(link.latency / core::k_second + copy.bytes / share.base()), .launch = 0};
  }
  CAIRN_ASSERT(machine_->nvme.has_value());
  assumptions_.insert(
      "drives run at their stated bandwidth, shared by the accelerators of a node; reads and writes take turns");
  const hardware::Nvme& drives = *machine_->nvme;
  const core::BytesPerSecond all =
      copy.lane == program::Lane::to_storage ? drives.write.value_or(drives.bandwidth) : drives.bandwidth;
  return {.duration = core::to_picoseconds(copy.bytes * static_cast<double>(network_.gpus_per_node) / all.base()),
          .launch = 0};
}

Price CostPricer::processor(const program::OnProcessor& work) {
  CAIRN_ASSERT(machine_.has_value());
  const std::string reached = host_.memory_share < 1.0 ? fmt::format("{:.3g} of ", host_.memory_share) : "";
  assumptions_.insert(
      fmt::format("the host's cores update parameters at {}the host's stated memory bandwidth, shared by the "
                  "accelerators of a node",
                  reached));
  const double flops = summed(work, [](const ir::Shard& shard) { return ir::flops(shard); });
  const auto sharing = static_cast<double>(network_.gpus_per_node);
  double time = bytes_on_host(work) * sharing / (host_.memory_share * machine_->memory_bandwidth.base());
  if (machine_->flops) time = std::max(time, flops * sharing / machine_->flops->base());
  return {.duration = core::to_picoseconds(time), .launch = 0};
}

double CostPricer::transfer_floor_s(const program::Transfer& transfer) {
  const LinkBytes bytes = least_bytes(transfer);
  const double across_s = bytes.across > 0.0 ? bytes.across / route(transfer).widest : 0.0;
  return std::max(link_floor_s(bytes), across_s);
}

Price CostPricer::host(program::HostWork work) {
  const core::Seconds time = work == program::HostWork::per_step ? host_.per_step : host_.per_micro_batch;
  return {.duration = core::to_picoseconds(time / core::k_second), .launch = 0};
}

double CostPricer::held_while_moving(const program::Transfer& transfer, const cost::TransferTime& time) {
  const cost::CommunicationKernels& kernels = calibration_.communication;
  const Sent bytes = sent(transfer);
  return std::min(kernels.multiprocessors,
                  (bytes.scale_up + bytes.scale_out) / kernels.channel_bandwidth / time.bandwidth_s);
}

double CostPricer::multiprocessors_held(const program::Transfer& transfer) {
  const cost::CommunicationKernels& kernels = calibration_.communication;
  if (transfer.collective == program::Collective::send) return kernels.message_multiprocessors;
  const cost::TransferTime time = compared(transfer);
  return time.bandwidth_s > 0.0 ? held_while_moving(transfer, time) : std::min(1.0, kernels.multiprocessors);
}

Price CostPricer::interference(const program::Interference& beside) {
  if (!(multiprocessors_ > 0.0) || !(calibration_.communication.multiprocessors > 0.0)) return {};
  const cost::TransferTime time = compared(beside.transfer);
  const double moving_s = std::min(time.bandwidth_s, time.total_s);
  double taken_s = time.total_s - moving_s;  // by one
  if (moving_s > 0.0) taken_s += std::min(multiprocessors_, held_while_moving(beside.transfer, time)) * moving_s;
  return {.duration = core::to_picoseconds(taken_s / multiprocessors_)};
}

core::Picoseconds CostPricer::host_per_kernel() const {
  return core::to_picoseconds(host_.per_kernel / core::k_second);
}

}  // namespace cairn::predict
