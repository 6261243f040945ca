#include "cairn/predict/bounds/lower_bounds.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "cairn/cost/operator_floor.h"
#include "cairn/predict/bounds/traffic.h"
#include "cairn/predict/evaluate/analytic.h"

namespace cairn::predict {
namespace {

// Rounded down: a bound stays one.
core::Picoseconds whole(double seconds) {
  return static_cast<core::Picoseconds>(std::floor(seconds * core::k_picoseconds_per_second));
}

// Floors as prices.
class FloorPricer final : public Pricer {
 public:
  struct Kinds {
    bool compute = false;
    bool memory = false;
    bool transfers = false;
  };
  FloorPricer(CostPricer& pricer, const DeviceLimits& limits, Kinds kinds)
      : pricer_(pricer), limits_(limits), kinds_(kinds) {
    if (!limits.on_chip_bytes || limits.memory_bytes_per_s <= 0.0) kinds_.memory = false;
  }
  Price shard(const ir::Shard& shard) override {
    core::Picoseconds memory = 0;
    if (kinds_.memory) {
      const cost::WarmBytes bytes = cost::warm_bytes(shard, *limits_.on_chip_bytes);
      memory = whole((bytes.first_loads + bytes.stores) / limits_.memory_bytes_per_s);
    }
    return {.duration = std::max(memory, in_pieces(shard).duration), .launch = 0};
  }
  Price in_pieces(const ir::Shard& shard) override {
    return {.duration = kinds_.compute ? whole(pricer_.shards().compute_floor_s(shard)) : 0, .launch = 0};
  }
  Price transfer(const program::Transfer& transfer) override {
    return {.duration = kinds_.transfers ? whole(pricer_.transfer_floor_s(transfer)) : 0, .launch = 0};
  }
  // Copies and the host's cores are priced at stated rates.
  Price copy(const program::Copy& copy) override { return kinds_.transfers ? pricer_.copy(copy) : Price{}; }
  Price processor(const program::OnProcessor& work) override {
    return kinds_.compute ? pricer_.processor(work) : Price{};
  }
  Price host(program::HostWork) override { return {}; }
  core::Picoseconds host_per_kernel() const override { return 0; }

 private:
  CostPricer& pricer_;
  const DeviceLimits& limits_;
  Kinds kinds_;
};

double longest_path_s(const program::Program& program, CostPricer& pricer, const DeviceLimits& limits,
                      FloorPricer::Kinds kinds) {
  FloorPricer floors(pricer, limits, kinds);
  PriceTable prices(floors);
  return core::to_seconds(Analytic(prices).makespan(program).time);
}

// A bound of nothing proves nothing.
std::optional<double> unless_zero(double seconds) { return seconds > 0.0 ? std::optional(seconds) : std::nullopt; }

// Bytes of the parameters that contractions read, in the narrowest format that any of their factors has.
double multiplied_parameter_bytes(const ir::Model& model) {
  double bytes = 0.0;
  for (const ir::LayerRun& run : model.layers) {
    const ir::Graph& graph = model.classes[static_cast<std::size_t>(run.layer_class)].graph;
    std::vector<double> of_tensor(graph.tensors().size(), 0.0);
    for (const ir::Operator& op : graph.operators()) {
      if (!op.is_plain_contraction() || op.phase != ir::Phase::forward) continue;
      double narrowest = numerics::bytes_per_element(numerics::Format::fp64);
      for (const ir::Access& access : op.accesses)
        if (access.mode == ir::Mode::read && !access.addend)
          narrowest = std::min(narrowest, numerics::bytes_per_element(graph.tensor(access.tensor).format));
      for (const ir::Access& access : op.accesses) {
        const ir::Tensor& tensor = graph.tensor(access.tensor);
        if (access.mode != ir::Mode::read || access.addend || tensor.role != ir::Role::parameter ||
            !tensor.tied.empty())
          continue;
        of_tensor[static_cast<std::size_t>(access.tensor)] = narrowest * static_cast<double>(tensor.elements({}));
      }
    }
    for (const double each : of_tensor) bytes += static_cast<double>(run.count) * each;
  }
  return bytes;
}

}  // namespace

std::optional<double> Bounds::best_s() const {
  std::optional<double> best;
  for (const std::optional<double>& bound : {compute_s, memory_s, network_s, together_s})
    if (bound && (!best || *bound > *best)) best = bound;
  return best;
}

Bounds larger(const Bounds& a, const Bounds& b) {
  const auto more = [](const std::optional<double>& x, const std::optional<double>& y) {
    return x && y ? std::optional(std::max(*x, *y)) : x ? x : y;
  };
  return {.compute_s = more(a.compute_s, b.compute_s),
          .memory_s = more(a.memory_s, b.memory_s),
          .network_s = more(a.network_s, b.network_s),
          .together_s = more(a.together_s, b.together_s),
          .links = std::max(a.links, b.links)};
}

core::Picoseconds busiest_links(const program::Program& program, CostPricer& pricer) {
  return BusiestLinks(pricer).time(program);
}

core::Picoseconds busiest_links(const program::Block& block, CostPricer& pricer) {
  return BusiestLinks(pricer).time(block);
}

core::Picoseconds BusiestLinks::time(const program::Block& block) { return whole(pricer_.link_floor_s(of(block))); }

// What the links of a stage need for everything that leaves one of its ranks, of the busiest.
core::Picoseconds BusiestLinks::time(const program::Program& program) {
  const program::PassOrder& order = *program.pass_order;
  const auto slots = static_cast<std::uint16_t>(program.layout().size());
  core::Picoseconds longest = 0;
  for (std::size_t stage = 0; stage < program.stages(); ++stage) {
    LinkBytes sum;
    const auto& passes = program.stage(stage).passes;
    for (std::int32_t i = order.row_begin[stage]; i < order.row_begin[stage + 1]; ++i) {
      const program::PassOrder::Stretch& stretch = order.stretches[static_cast<std::size_t>(i)];
      for (const std::uint16_t slot : {stretch.slot, stretch.then})
        if (slot < slots) sum.add(of(*passes[slot]), static_cast<double>(stretch.times));
    }
    longest = std::max(longest, whole(pricer_.link_floor_s(sum)));
  }
  return longest;
}

const LinkBytes& BusiestLinks::of(const program::Pass& pass) {
  const auto id = static_cast<std::size_t>(pass.id);
  if (id >= passes_.size()) passes_.resize(id + 1);
  auto& [known, bytes] = passes_[id];
  if (known == &pass) return bytes;
  bytes = {};
  for (const program::BlockRun& run : pass.runs) bytes.add(of(*run.block), static_cast<double>(run.count));
  known = &pass;
  return bytes;
}

const LinkBytes& BusiestLinks::of(const program::Block& block) {
  const auto [slot, fresh] = blocks_.try_emplace(&block);
  if (!fresh) return slot->second;
  std::vector<std::optional<LinkBytes>> of_work(block.works.size());
  for (const program::Step& step : block.steps) {
    if (step.work < 0) continue;
    const auto* transfer = std::get_if<program::Transfer>(&block.works[static_cast<std::size_t>(step.work)]);
    if (transfer == nullptr) continue;
    std::optional<LinkBytes>& bytes = of_work[static_cast<std::size_t>(step.work)];
    if (!bytes) bytes = pricer_.least_bytes(*transfer);
    slot->second.add(*bytes, 1.0);
  }
  return slot->second;
}

Bounds plan_bounds(const program::Program& program, CostPricer& pricer, const DeviceLimits& limits) {
  Bounds bounds;
  bounds.compute_s = unless_zero(longest_path_s(program, pricer, limits, {.compute = true}));
  bounds.together_s =
      unless_zero(longest_path_s(program, pricer, limits, {.compute = true, .memory = true, .transfers = true}));
  double network_s = longest_path_s(program, pricer, limits, {.transfers = true});
  double memory_s = longest_path_s(program, pricer, limits, {.memory = true});
  double traffic = 0.0;
  bounds.links = busiest_links(program, pricer);
  network_s = std::max(network_s, core::to_seconds(bounds.links));
  if (limits.on_chip_bytes)
    for (const Traffic& stage : least_traffic(program, *limits.on_chip_bytes))
      traffic = std::max(traffic, stage.total());
  bounds.network_s = unless_zero(network_s);
  if (limits.memory_bytes_per_s > 0.0) memory_s = std::max(memory_s, traffic / limits.memory_bytes_per_s);
  bounds.memory_s = unless_zero(memory_s);
  return bounds;
}

Bounds problem_bounds(const ir::Model& model, const Batch& batch, double devices, const DeviceLimits& limits) {
  Bounds bounds;
  const bool computes = limits.peak_flops > 0.0;
  if (computes) bounds.compute_s = unless_zero(batch.contraction_flops / (limits.peak_flops * devices));
  if (limits.on_chip_bytes && limits.memory_bytes_per_s > 0.0) {
    const double loaded = multiplied_parameter_bytes(model) - devices * *limits.on_chip_bytes;
    bounds.memory_s = unless_zero(std::max(0.0, loaded) / (devices * limits.memory_bytes_per_s));
  }
  if (computes && limits.links_bytes_per_s && devices > 1.0) {
    if (auto chain = product_chain(model, batch.sizes)) {
      chain->tokens *= batch.passes;
      bounds.network_s =
          unless_zero(network_bound_s(*chain, devices, limits.words, *limits.links_bytes_per_s, limits.peak_flops));
    }
  }
  return bounds;
}

}  // namespace cairn::predict
