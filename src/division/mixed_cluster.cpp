#include "cairn/division/mixed_cluster.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "cairn/division/layer_prices.h"
#include "cairn/experiment/resolve.h"

namespace cairn::division {
namespace {

constexpr const char* k_groups_key = "cluster.groups";
constexpr std::int64_t k_most_ranks = 1 << 20;
constexpr std::int64_t k_all_sharded = 3;  // the stage of ZeRO

struct WrittenGroup {
  std::int64_t count = 1;
  config::Node accelerator = {};
};

void describe(config::Fields& fields, WrittenGroup& group) {
  fields.count("count", group.count,
               {.doc = "accelerators of this kind", .required = true, .minimum = 1, .maximum = k_most_ranks});
  fields.node("accelerator", group.accelerator,
              {.doc = "a name, {file: name, overriding keys} or a whole block", .required = true});
}

std::vector<WrittenGroup> written_groups(const config::Node& node) {
  std::vector<WrittenGroup> groups;
  core::Diagnostics diagnostics;
  config::read_value(
      node, [&](config::Value& value) { value.objects(groups, {.minimum_size = 1, .maximum_size = 64}); }, diagnostics,
      k_groups_key);
  diagnostics.raise_if_errors();
  return groups;
}

// What is wrong with its accelerator is told at the group's own key.
experiment::Parts parts_of_group(const experiment::LoadedExperiment& alike, const config::Loader& loader,
                                 std::size_t group) {
  try {
    return experiment::load_parts(alike, loader);
  } catch (const core::ConfigurationError& error) {
    constexpr std::string_view k_key = "cluster.accelerator";
    std::vector<core::Diagnostic> all = error.diagnostics();
    for (core::Diagnostic& each : all)
      if (each.key_path.starts_with(k_key))
        each.key_path = fmt::format("{}[{}].accelerator{}", k_groups_key, group, each.key_path.substr(k_key.size()));
    throw core::ConfigurationError(std::move(all));
  }
}

void require_data_parallel(const experiment::Settings& settings, const experiment::Parts& parts) {
  const experiment::StrategyChoice& strategy = settings.strategy;
  const auto refuse = [](bool asked, const char* key, const char* message, const char* hint) {
    if (asked) throw core::ConfigurationError(key, message, hint);
  };
  refuse(strategy.tp > 1, "strategy.tp", "unlike accelerators share no layer", "use tp: 1");
  refuse(strategy.pp > 1, "strategy.pp", "unlike accelerators form no stages here", "use pp: 1");
  refuse(strategy.cp > 1, "strategy.cp", "unlike accelerators share no sequence", "use cp: 1");
  refuse(parts.model.moe.has_value(), "model.moe", "experts are not spread over unlike accelerators",
         "use a model without experts");
  refuse(strategy.zero.offload.has_value(), "strategy.zero.offload", "state is shared out over devices alone",
         "leave it out");
  const std::int64_t ranks = parts.machine.network.gpus();
  refuse(strategy.zero.shard.value_or(ranks) != ranks || strategy.zero.replicate.value_or(1) != 1,
         "strategy.zero.shard", "all ranks share one copy of the state, in shares of their own",
         "leave shard and replicate out");
  refuse(!strategy.zero.reshard_after_forward.value_or(true), "strategy.zero.reshard_after_forward",
         "a layer is given up when all micro-batches are done with it", "leave it true");
  refuse(settings.simulation.asks_for_events(), "simulation", "shares are not simulated event by event",
         "leave it out");
  refuse(strategy.micro_batch > k_most_shared_sequences, "strategy.micro_batch", "more sequences than are shared out",
         "use fewer");
}

// Sums over the layers of a model on one rank.
struct ModelCost {
  core::Picoseconds pass = 0;  // forward and backward
  std::int64_t saved = 0;
  std::int64_t transient = 0;
  std::int64_t moved = 0;  // of `transient`, what gathers and reductions take
  std::int64_t state = 0;
};

// What one group's accelerator takes.
class GroupPrices {
 public:
  GroupPrices(const experiment::Settings& settings, const AcceleratorGroup& group)
      : settings_(settings), group_(group), prices_(settings_, group.parts) {
    // The batch is shared out later: any that falls into equal parts resolves.
    settings_.training.global_batch = {.sequences = group.parts.machine.network.gpus()};
    settings_.strategy.micro_batch = 1;
    settings_.strategy.micro_batches.reset();
    settings_.strategy.dp.reset();
    settings_.strategy.sequence_parallel = false;
    plain_ = resolved({});
    sharded_ =
        resolved({.stage = k_all_sharded, .prefetch = settings.strategy.zero.prefetch, .reshard_after_forward = true});
  }

  ModelCost model(std::int64_t sequences) {
    ModelCost sum;
    const std::vector<LayerCost> plain = costs(plain_, sequences), sharded = costs(sharded_, sequences);
    const LayerPrices::Layers layers = prices_.layers(plain_);
    bool shared = false;  // parameters that layers share are there already
    for (const std::size_t each : layers.of) {
      // A micro-batch goes back through the head right after it went forward: others have nothing there yet.
      const bool turns = layers.positions[each] == ir::Position::exit;
      add_time(sum.pass, plain[each].forward);
      add_time(sum.pass, plain[each].backward);
      if (!turns) sum.saved += plain[each].saved;
      const std::int64_t held = sharded[each].state - (shared ? sharded[each].tied : 0);
      shared = shared || sharded[each].tied > 0;
      sum.state += held * group_.parts.machine.network.gpus();
      sum.transient = std::max(sum.transient, sharded[each].transient + (turns ? plain[each].saved : 0));
      sum.moved = std::max(sum.moved, sharded[each].moved);
    }
    // Of every micro-batch that awaits its way back there is what the last layer made, then the gradient of it. What the
    // head keeps of the one on its way holds it once more.
    sum.saved +=
        static_cast<std::int64_t>(std::ceil(static_cast<double>(sequences) * stream_bytes(settings_, group_.parts)));
    require_countable(sum);
    return sum;
  }

  // Of all layers' gathers and reductions, with `times` the bytes.
  core::Picoseconds exchanges(std::int64_t ranks, double times) {
    const program::Group all{.axis = program::Axis::data, .size = ranks};
    const std::vector<LayerCost> layers = costs(plain_, 1);
    const auto time = [&](program::Collective collective, std::int64_t bytes) {
      return prices_.time({.collective = collective, .group = all, .bytes = times * static_cast<double>(bytes)});
    };
    core::Picoseconds sum = 0;
    for (const std::size_t each : prices_.layers(plain_).of)
      for (const core::Picoseconds each_time : {time(program::Collective::all_gather, layers[each].gathered),
                                                time(program::Collective::all_gather, layers[each].gathered),
                                                time(program::Collective::reduce_scatter, layers[each].reduced)})
        add_time(sum, each_time);
    return sum;
  }

  core::Picoseconds host_per_step() { return prices_.host_per_step(); }
  const LayerPrices& prices() const { return prices_; }
  const std::vector<std::string>& warnings() const { return sharded_.warnings; }

 private:
  // So that sums over k_most_shared_sequences are.
  static void require_countable(const ModelCost& cost) {
    constexpr std::int64_t k_most = std::int64_t{1} << 46;  // 64 TiB, 70 s
    if (cost.saved > k_most || cost.pass > k_most * 4)
      throw core::ConfigurationError("training.seq_len",
                                     "one accelerator takes minutes for a micro-batch, or keeps 64 TiB",
                                     "use shorter sequences, a smaller micro_batch, or recompute");
  }

  experiment::Resolved resolved(const experiment::Zero& zero) const {
    experiment::Settings settings = settings_;
    settings.strategy.zero = zero;
    return experiment::resolve(settings, group_.parts);
  }

  std::vector<LayerCost> costs(experiment::Resolved& of, std::int64_t sequences) {
    of.strategy.micro_batch = sequences;
    return prices_.costs(of);
  }

  experiment::Settings settings_;
  const AcceleratorGroup& group_;
  LayerPrices prices_;
  experiment::Resolved plain_;
  experiment::Resolved sharded_;
};

allotment::RankType rank_type(GroupPrices& prices, const AcceleratorGroup& group, std::int64_t micro_batch,
                              std::int64_t sequences) {
  std::vector<ModelCost> costs(1);
  for (std::int64_t b = 1; b <= std::min(micro_batch, sequences); ++b) costs.push_back(prices.model(b));
  allotment::RankType type{.ranks = group.ranks,
                           .capacity = static_cast<std::int64_t>(room_for_layers(group.parts).base())};
  for (std::int64_t b = 0; b <= sequences; ++b) {
    const std::int64_t whole = b / micro_batch;
    const ModelCost& full = costs[static_cast<std::size_t>(whole > 0 ? micro_batch : 0)];
    const ModelCost& rest = costs[static_cast<std::size_t>(b % micro_batch)];
    type.compute_times.push_back(whole * full.pass + rest.pass);
    // A rank without sequences gathers and reduces with the others.
    type.activations.push_back(b == 0 ? costs[1].moved
                                      : whole * full.saved + rest.saved + std::max(full.transient, rest.transient));
  }
  return type;
}

// As many sequences and as much state for every rank, as far as they can be.
std::vector<allotment::RankShare> even_shares(const allotment::ShareProblem& problem, std::int64_t ranks) {
  std::vector<allotment::RankShare> shares;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    shares.push_back({.samples = problem.samples / ranks + (rank < problem.samples % ranks ? 1 : 0),
                      .state = problem.state / ranks + (rank < problem.state % ranks ? 1 : 0)});
  return shares;
}

}  // namespace

std::vector<AcceleratorGroup> accelerator_groups(const experiment::LoadedExperiment& loaded,
                                                 const config::Loader& loader) {
  core::Diagnostics diagnostics;
  config::Node cluster = loader.resolve(loaded.experiment.cluster, "clusters", "cluster", diagnostics);
  diagnostics.raise_if_errors();
  const config::Node* written = cluster.find("groups");
  if (written == nullptr || written->is_null())
    throw core::ConfigurationError(k_groups_key, "the cluster has one kind of accelerator, and shares are even there",
                                   "name several: groups: [{count: 8, accelerator: h100-sxm5-80gb}, ...]");
  if (!loaded.experiment.calibration.is_null())
    throw core::ConfigurationError("calibration", "each kind of accelerator has its own", "leave it out");
  const std::vector<WrittenGroup> groups = written_groups(*written);
  cluster.remove("groups");
  std::vector<AcceleratorGroup> result;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    experiment::LoadedExperiment alike = loaded;
    cluster.put("accelerator", groups[i].accelerator);
    alike.experiment.cluster = cluster;
    result.push_back({.ranks = groups[i].count, .parts = parts_of_group(alike, loader, i)});
    all += groups[i].count;
  }
  if (const std::int64_t there = result.front().parts.machine.network.gpus(); all != there)
    throw core::ConfigurationError(
        k_groups_key, fmt::format("they are {} accelerators, and the cluster's network joins {}", all, there),
        "change a count, or the number of nodes");
  return result;
}

MixedShares best_mixed_shares(const experiment::Settings& settings, const std::vector<AcceleratorGroup>& groups) {
  require_data_parallel(settings, groups.front().parts);
  const std::int64_t sequences = experiment::sequences_per_step(settings.training);
  if (sequences > k_most_shared_sequences)
    throw core::ConfigurationError(
        "training.global_batch",
        fmt::format("{} sequences, and up to {} are shared out one by one", sequences, k_most_shared_sequences),
        "use fewer");
  std::int64_t ranks = 0;
  for (const AcceleratorGroup& group : groups) ranks += group.ranks;
  MixedShares result;
  allotment::ShareProblem& problem = result.problem;
  problem.samples = sequences;
  core::Picoseconds even = 0, alone = 0, host = 0;
  std::set<std::string> assumptions, warnings;
  for (const AcceleratorGroup& group : groups) {
    GroupPrices prices(settings, group);
    problem.types.push_back(rank_type(prices, group, settings.strategy.micro_batch, sequences));
    problem.state = std::max(problem.state, prices.model(1).state);
    even = std::max(even, prices.exchanges(ranks, 1.0));
    alone = std::max(alone, prices.exchanges(ranks, static_cast<double>(ranks)));
    host = std::max(host, prices.host_per_step());
    for (std::string& each : prices.prices().assumptions()) assumptions.insert(std::move(each));
    for (std::string& each : prices.prices().warnings()) warnings.insert(std::move(each));
    warnings.insert(prices.warnings().begin(), prices.warnings().end());
  }
  if (ranks > 1) {
    problem.whole = std::max<core::Picoseconds>(0, alone - even) / (ranks - 1) * ranks;
    problem.fixed = std::max<core::Picoseconds>(0, even - problem.whole / ranks);
  }
  add_time(problem.fixed, host);
  assumptions.insert("without the update of the parameters");
  if (settings.strategy.zero.stage < k_all_sharded)
    assumptions.insert("all state is sharded, as by ZeRO 3, whatever strategy.zero says");
  assumptions.insert("nothing of gathers and reductions hides behind computation");
  assumptions.insert("a micro-batch goes back through the head right after it went forward");
  assumptions.insert("a layer is done with all micro-batches before the next one begins: it is gathered once a pass");
  result.best = allotment::best_shares(problem);
  result.even = allotment::priced(problem, even_shares(problem, ranks));
  result.assumptions = {assumptions.begin(), assumptions.end()};
  result.warnings = {warnings.begin(), warnings.end()};
  return result;
}

}  // namespace cairn::division
