#include "assumptions.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cairn/hardware/running_costs.h"

namespace cairn::experiment {
namespace {

// What work that overlaps does to each other, and what of that is left out.
void add_sharing(const Case& r, predict::Engine engine, std::set<std::string>& all) {
  const Simulation& simulation = r.experiment.simulation;
  const bool simulated = engine != predict::Engine::analytic;
  const bool links = simulated && simulation.contention;
  const bool device = simulated && simulation.interference;
  if (links)
    all.insert(
        "transfers that overlap share their ranks' links max-min fairly, up to the stated bandwidth; switches and "
        "cables between nodes are not shared beyond a node's own ports (simulation.contention)");
  else
    all.insert(fmt::format(
        "transfers have their links to themselves, but the step lasts until the busiest links have carried all ({})",
        simulated ? "simulation.contention is off" : "analytic engine"));
  if (device)
    all.insert(
        "kernels and transfers that overlap share multiprocessors and memory, not caches; transfers leave the clock "
        "as it is (simulation.interference)");
  else
    all.insert(
        fmt::format("a collective beside kernels takes the multiprocessors that it holds from them, and nothing of "
                    "memory, caches and clock ({})",
                    simulated ? "simulation.interference is off" : "analytic engine"));
  if (r.parts.calibrated.calibration.communication.provenance.evidence == cost::Evidence::assumed)
    all.insert("what transfers take of the device: " + r.parts.calibrated.calibration.communication.provenance.source);
}

// One that is measured on this accelerator and most likely to be run in place of the one chosen.
std::optional<models::AttentionKernel> other_attention(const Case& r) {
  using models::AttentionKernel;
  const AttentionKernel now =
      r.experiment.training.kernels.over(r.parts.software.framework.kernels_on(r.parts.machine.accelerator.value))
          .attention;
  for (const AttentionKernel kernel : {AttentionKernel::flash3, AttentionKernel::flash2, AttentionKernel::cudnn})
    if (kernel != now && r.parts.calibrated.calibration.find_flash(models::variant(kernel)) != nullptr) return kernel;
  return std::nullopt;
}

// Whether experts' rows are sorted by ranks that share them.
bool sorts_shares(const Case& r) {
  const models::BuildOptions& build = r.resolved.build;
  return build.kernels.sorts_rows && build.several_experts && r.resolved.strategy.expert_tensor > 1 &&
         r.parts.model.moe && r.parts.model.moe->dispatcher == models::Dispatcher::alltoall;
}

// The fabric whose laws stand for a network that names none of its own; empty: nothing leaves a domain, or it names one.
std::string assumed_fabric(const Case& r) {
  const hardware::Network& network = r.parts.machine.network;
  const auto names_one = [](const hardware::NetworkLevel& level) { return !level.fabric.empty(); };
  const auto beyond = network.beyond();
  const bool leaves = network.gpus() > network.domain();
  return !leaves || std::any_of(beyond.begin(), beyond.end(), names_one) ? std::string()
                                                                         : r.parts.calibrated.calibration.fabric;
}

}  // namespace

std::vector<std::string> assumptions(const Case& r, predict::CostPricer& pricer, predict::Engine engine) {
  std::set<std::string> all = pricer.assumptions();
  all.insert(pricer.shards().assumptions().begin(), pricer.shards().assumptions().end());
  add_sharing(r, engine, all);
  for (std::string& each : models::assumptions(r.resolved.model, r.resolved.build.kernels)) all.insert(std::move(each));
  if (const auto& power = r.parts.calibrated.calibration.power)
    all.insert(
        fmt::format("kernels of a pass of a layer share one clock, at which they draw {:g} W in the mean: {:g} W "
                    "while they wait for memory, {:g} W idle, both assumed",
                    power->limit_w, power->memory_w, power->idle_w));
  if (sorts_shares(r))
    all.insert(
        fmt::format("each of {} ranks that share experts sorts its own share of their rows; Megatron gathers before, "
                    "and each sorts all of them",
                    r.resolved.strategy.expert_tensor));
  if (!r.parts.calibrated.carried.empty()) all.insert(r.parts.calibrated.carried);
  if (const std::string fabric = assumed_fabric(r); !fabric.empty())
    all.insert(fmt::format("the network between nodes behaves as {}: cluster.inter.fabric names none", fabric));
  const hardware::RunningCosts costs = hardware::running_costs(r.parts.machine);
  all.insert(costs.assumptions.begin(), costs.assumptions.end());
  if (engine == predict::Engine::analytic) {
    const Simulation& simulation = r.experiment.simulation;
    if (simulation.jitter.sigma > 0.0)
      all.insert("computation takes what it is priced at: no jitter (analytic engine)");
    if (!simulation.faults.empty()) all.insert("every rank runs at full speed: no faults (analytic engine)");
  }
  if (r.parts.calibrated.calibration.transfer_provenance.evidence == cost::Evidence::assumed)
    all.insert("transfers: " + r.parts.calibrated.calibration.transfer_provenance.source);
  return {all.begin(), all.end()};
}

std::vector<Alternative> alternatives(const Case& r, const predict::CostPricer& pricer, predict::Engine engine) {
  std::vector<Alternative> all;
  const Simulation& simulation = r.experiment.simulation;
  if (engine != predict::Engine::analytic) {
    if (!simulation.contention)
      all.push_back({"simulation.contention=true (transfers share links)",
                     [](Case& other) { other.experiment.simulation.contention = true; }});
    if (!simulation.interference)
      all.push_back({"simulation.interference=true (transfers share memory with kernels)",
                     [](Case& other) { other.experiment.simulation.interference = true; }});
  }
  if (pricer.assumes_links())
    for (const double share : {0.8, 1.0})
      all.push_back(
          {fmt::format("unmeasured links give {:.0f} % of their bandwidth", 100.0 * share), [share](Case& other) {
             cost::TransferLaws& laws = other.parts.calibrated.calibration.transfers;
             if (!laws.fabric.fitted) laws.fabric.efficiency = share;
             laws.domain.assumed_efficiency = share;
           }});
  if (const auto kernel = other_attention(r))
    all.push_back({fmt::format("training.kernels.attention={}", models::name(*kernel)),
                   [kernel](Case& other) { other.experiment.training.kernels.attention = kernel; }});
  return all;
}

}  // namespace cairn::experiment
