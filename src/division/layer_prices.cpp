#include "cairn/division/layer_prices.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/models/transformer.h"
#include "cairn/numerics/format.h"
#include "cairn/plan/lowering.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/price/cost_pricer.h"
#include "cairn/software/precision.h"

namespace cairn::division {
namespace {

using program::Collective;

constexpr const char* k_step_schedule = "1f1b";         // of one stage: the two passes of a micro-batch in turn
constexpr double k_most_layer_bytes = 1099511627776.0;  // 1 TiB: more than any device has for one layer

std::int64_t whole_bytes(double bytes) {
  if (!(bytes < k_most_layer_bytes))
    throw core::ConfigurationError("training.seq_len", "a layer takes a TiB or more of a device",
                                   "share it among more ranks, or use shorter sequences");
  return static_cast<std::int64_t>(std::ceil(bytes));
}

core::Picoseconds part_of(core::Picoseconds whole, double share) {
  return static_cast<core::Picoseconds>(std::llround(static_cast<double>(whole) * share));
}

// Of what a layer's passes exchange, as if a gather and a reduction took as long: forward there is a gather, backward a
// reduction and, where parameters are given up between the two, another gather.
double forward_share_of(const plan::Strategy& strategy) {
  if (strategy.sharded != plan::Sharded::parameters) return 0.0;
  return strategy.reshard_after_forward ? 1.0 / 3.0 : 1.0 / 2.0;
}

bool sends_gradients_every_pass(const plan::Strategy& strategy) {
  return strategy.sharded >= plan::Sharded::gradients &&
         (strategy.reduce_every_micro_batch || strategy.micro_batches == 1);
}

// The plan with all layers in one stage, of as many ranks as each of its stages has.
plan::Strategy in_one_stage(const ir::Model& model, plan::Strategy strategy) {
  strategy.pipeline = 1;
  strategy.chunks = 1;
  strategy.schedule = k_step_schedule;
  strategy.schedule_options = {};
  strategy.stage_layers = {model.body_layers()};
  return strategy;
}

// Whether ranges of layers leave none of the body out.
bool cover(std::vector<plan::LayerRange> ranges, std::int64_t body) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::int64_t covered = 0;
  for (const plan::LayerRange& range : ranges)
    if (range.first <= covered) covered = std::max(covered, range.last + 1);
  return ranges.empty() || covered >= body;
}

// Whether so many of every virtual stage are all of them. Stages that are not cut yet may hold the whole body.
bool fill(std::int64_t count, const std::vector<std::int64_t>& stage_layers, std::int64_t body) {
  return count >= (stage_layers.empty() ? body : *std::max_element(stage_layers.begin(), stage_layers.end()));
}

// The strategy with all layers running again, or none, since those of one class are priced alike. Ranges beyond the
// model are left to the lowering, which refuses them.
plan::Strategy recomputed_alike(const ir::Model& model, plan::Strategy strategy) {
  const plan::RecomputeLayers& layers = strategy.recompute_layers;
  const std::int64_t body = model.body_layers();
  if (std::any_of(layers.ranges.begin(), layers.ranges.end(),
                  [&](const plan::LayerRange& range) { return range.first < 0 || range.last >= body; }))
    return strategy;
  if (strategy.recompute != plan::Recompute::none) {
    if (layers.method == plan::RecomputeMethod::uniform && layers.count > 1)
      throw core::ConfigurationError("strategy.recompute.count",
                                     "layers are priced one by one, and those of a group run again together",
                                     "use count: 1, or leave method and count out");
    const bool in_part =
        layers.method == plan::RecomputeMethod::block && !fill(layers.count, strategy.stage_layers, body);
    if (in_part || !cover(layers.ranges, body))
      throw core::ConfigurationError("strategy.recompute",
                                     "layers of a class are priced alike, so that all of them run again or none",
                                     "leave method, count and layers out, or have them name every layer");
  }
  strategy.recompute_layers = {};
  return strategy;
}

// Classes of the layers right before and right behind those of a class.
std::vector<std::set<std::size_t>> beside(const ir::Model& model) {
  std::vector<std::set<std::size_t>> all(model.classes.size());
  const auto follows = [&all](std::size_t first, std::size_t second) {
    all[first].insert(second);
    all[second].insert(first);
  };
  for (std::size_t run = 0; run < model.layers.size(); ++run) {
    const auto own = static_cast<std::size_t>(model.layers[run].layer_class);
    if (model.layers[run].count > 1) follows(own, own);
    if (run > 0) follows(static_cast<std::size_t>(model.layers[run - 1].layer_class), own);
  }
  return all;
}

// Bytes per element of parameters, and what an element that products read in a narrow format takes more.
struct ParameterBytes {
  double each = 0.0;
  double narrow = 0.0;
};

ParameterBytes parameter_bytes(const plan::ParameterTreatment& treatment) {
  const double stored = numerics::bytes_per_element(treatment.parameters);
  if (!treatment.narrow) return {.each = stored};
  const double wide = treatment.parameters == *treatment.narrow ? numerics::bytes_per_element(treatment.wide) : stored;
  return {.each = wide,
          .narrow = stored - wide + treatment.narrow_copies * numerics::bytes_per_element(*treatment.narrow)};
}

// Elements of parameters on a rank.
struct ParameterElements {
  double all = 0.0;
  double narrow = 0.0;    // products read them in a narrow format
  double factored = 0.0;  // rows and columns of matrices whose second moment is kept as their means
};

ParameterElements tied_elements(const plan::LayerState& state) {
  ParameterElements tied;
  for (const plan::Tied& each : state.tied) {
    tied.all += each.elements;
    tied.factored += each.factored;
  }
  return tied;
}

}  // namespace

core::Bytes room_for_layers(const experiment::Parts& parts) {
  const hardware::Accelerator& accelerator = parts.machine.accelerator.value;
  return accelerator.usable_memory() - parts.software.framework.allocator.gemm_workspace.on(accelerator.architecture);
}

class LayerPrices::Implementation {
 public:
  Implementation(const experiment::Settings& settings, const experiment::Parts& parts)
      : settings_(settings),
        parts_(parts),
        pricer_(parts.calibrated.calibration, parts.machine.accelerator.value, parts.machine.network,
                parts.software.framework.host_times, parts.machine.cluster.value.host),
        prices_(pricer_),
        analytic_(prices_) {}

  std::vector<LayerCost> costs(experiment::Resolved resolved) {
    PricedModel& priced = model_of(resolved);
    resolved.strategy = recomputed_alike(priced.model, std::move(resolved.strategy));
    std::vector<LayerCost> result;
    std::vector<double> elements;
    for (std::size_t each = 0; each < priced.model.classes.size(); ++each) {
      result.push_back(alone(priced, resolved, each));
      elements.push_back(priced.lowering.layer_state(resolved.strategy, each).parameter_elements());
    }
    add_moved(priced.model, resolved, elements, result);
    share_out_step(priced, resolved.strategy, elements, result);
    return result;
  }

  core::Picoseconds time(const program::Transfer& transfer) {
    if (transfer.collective == Collective::none || transfer.group.size <= 1 || transfer.bytes <= 0.0) return 0;
    return pricer_.transfer(transfer).duration;
  }
  core::Picoseconds host_per_step() { return pricer_.host(program::HostWork::per_step).duration; }

  Layers layers(const experiment::Resolved& resolved) {
    if (resolved.model.layers > k_most_told_apart)
      throw core::ConfigurationError(
          "model.layers",
          fmt::format("{} layers, and up to {} are told apart", resolved.model.layers, k_most_told_apart), "use fewer");
    const ir::Model& model = model_of(resolved).model;
    Layers result;
    for (const ir::LayerClass& each : model.classes) {
      result.classes.push_back(each.name);
      result.positions.push_back(each.position);
    }
    for (const ir::LayerRun& run : model.layers)
      result.of.insert(result.of.end(), static_cast<std::size_t>(run.count), static_cast<std::size_t>(run.layer_class));
    return result;
  }

  std::vector<std::string> assumptions() const {
    std::set<std::string> all = pricer_.assumptions();
    if (const std::string& carried = parts_.calibrated.carried; !carried.empty()) all.insert(carried);
    all.insert("passes of plans that share all layers alike are shared out among layers by what each takes alone");
    return {all.begin(), all.end()};
  }

  std::vector<std::string> warnings() {
    std::vector<std::string> all = pricer_.extrapolation().sentences();
    for (std::string& each : pricer_.shards().extrapolation().sentences()) all.push_back(std::move(each));
    return all;
  }

 private:
  // A model and what was lowered of it; blocks refer to both.
  struct PricedModel {
    PricedModel(const experiment::Resolved& resolved, std::int64_t sequence, std::int64_t domain)
        : transformer(resolved.model),
          build(resolved.build),
          model(models::build_transformer(transformer, build)),
          lowering(model, sequence, resolved.treatment, domain, resolved.behaviour) {}
    bool serves(const experiment::Resolved& resolved) const {
      return transformer == resolved.model && build == resolved.build && lowering.treatment() == resolved.treatment &&
             lowering.behaviour() == resolved.behaviour;
    }

    const models::TransformerConfig transformer;
    const models::BuildOptions build;
    const ir::Model model;
    plan::Lowering lowering;
  };

  PricedModel& model_of(const experiment::Resolved& resolved) {
    for (const std::unique_ptr<PricedModel>& each : models_)
      if (each->serves(resolved)) return *each;
    return *models_.emplace_back(
        std::make_unique<PricedModel>(resolved, settings_.training.seq_len, parts_.machine.network.domain()));
  }

  // Of a layer by itself: its blocks with all streams free before them, and its memory.
  LayerCost alone(PricedModel& priced, const experiment::Resolved& resolved, std::size_t layer_class) {
    const plan::Strategy& strategy = resolved.strategy;
    const program::Block& forward = priced.lowering.forward_block(strategy, layer_class);
    const program::Block& backward = priced.lowering.backward_block(strategy, layer_class);
    const plan::LayerState& state = priced.lowering.layer_state(strategy, layer_class);
    const double elements = state.parameter_elements();
    LayerCost cost{.forward = analytic_.alone(forward), .backward = analytic_.alone(backward)};
    cost.gathered = whole_bytes(elements * numerics::bytes_per_element(resolved.treatment.gather));
    cost.reduced = whole_bytes(elements * numerics::bytes_per_element(resolved.treatment.reduce));
    const double factor = parts_.software.framework.allocator.factor(strategy.tensor > 1 || strategy.context > 1 ||
                                                                     strategy.pipeline > 1);
    cost.saved = whole_bytes(factor * state.saved_bytes);
    cost.transient = whole_bytes(factor * std::max(forward.profile.peak - std::max(0.0, forward.profile.delta),
                                                   std::max(0.0, backward.profile.peak)));
    cost.state = whole_bytes(factor * std::max(forward.recorded, backward.recorded));
    add_state(cost, resolved, state);
    return cost;
  }

  core::Picoseconds step(PricedModel& priced, plan::Strategy& strategy, std::int64_t micro_batches) {
    strategy.micro_batches = micro_batches;
    return analytic_.makespan(priced.lowering.lower(strategy)).time;
  }

  // From what layers take alone to their shares of a step in which all are alike.
  void share_out_step(PricedModel& priced, const plan::Strategy& strategy, const std::vector<double>& elements,
                      std::vector<LayerCost>& costs) {
    plan::Strategy alike = in_one_stage(priced.model, strategy);
    double all_alone = 0.0, all_elements = 0.0;
    for (const ir::LayerRun& run : priced.model.layers) {
      const auto each = static_cast<std::size_t>(run.layer_class);
      const auto count = static_cast<double>(run.count);
      all_alone += count * (static_cast<double>(analytic_.alone(priced.lowering.forward_block(alike, each))) +
                            static_cast<double>(analytic_.alone(priced.lowering.backward_block(alike, each))));
      all_elements += count * elements[each];
    }
    const std::int64_t few = std::min<std::int64_t>(strategy.micro_batches, 2);
    const core::Picoseconds first = step(priced, alike, few);
    const core::Picoseconds both = std::max<core::Picoseconds>(0, step(priced, alike, few + 1) - first);
    core::Picoseconds own = both;  // of its two passes what is not waiting for exchanges
    if (alike.sharded >= plan::Sharded::gradients) {
      alike.sharded = plan::Sharded::nothing;
      alike.shard = 0;
      own = std::clamp<core::Picoseconds>(step(priced, alike, few + 1) - step(priced, alike, few), 0, both);
    }
    const core::Picoseconds once = std::max<core::Picoseconds>(0, first - few * both - host_per_step());
    const double forward_share = forward_share_of(strategy);
    for (std::size_t each = 0; each < costs.size(); ++each) {
      LayerCost& cost = costs[each];
      const double of_elements = all_elements > 0.0 ? elements[each] / all_elements : 0.0;
      const auto passes = [&](core::Picoseconds pass, double sent) {
        const double of_alone = all_alone > 0.0 ? static_cast<double>(pass) / all_alone : 0.0;
        return part_of(own, of_alone) + part_of(both - own, sent * of_elements);
      };
      cost.forward = passes(cost.forward, forward_share);
      cost.backward = passes(cost.backward, 1.0 - forward_share);
      cost.once = part_of(once, of_elements);
    }
  }

  void add_state(LayerCost& cost, const experiment::Resolved& resolved, const plan::LayerState& state) const {
    const ParameterElements tied = tied_elements(state);
    const ParameterElements all{.all = state.parameter_elements(),
                                .narrow = state.narrow_elements,
                                .factored = program::sum(state.factored_elements) + tied.factored};
    const double results =
        static_cast<double>(std::min(resolved.behaviour.held_results, resolved.strategy.micro_batches)) *
        state.result_bytes;
    cost.state += whole_bytes(held_bytes(resolved, all) + results);
    cost.tied = whole_bytes(held_bytes(resolved, tied));
  }

  // Of parameters, with their gradients and the optimizer's state.
  double held_bytes(const experiment::Resolved& resolved, const ParameterElements& of) const {
    const plan::Strategy& strategy = resolved.strategy;
    const plan::ParameterTreatment& treatment = resolved.treatment;
    const plan::Offload& offload = strategy.offload;
    const auto copies = static_cast<double>(strategy.shard > 0 ? strategy.shard : strategy.data * strategy.context);
    const double elements = of.all;
    const double gradients = elements * numerics::bytes_per_element(treatment.gradients);
    const ParameterBytes bytes = parameter_bytes(treatment);
    const bool parameters_sharded = strategy.sharded == plan::Sharded::parameters;
    const bool gradients_sharded = sends_gradients_every_pass(strategy);
    double parameters = of.narrow * bytes.narrow;
    if (!parameters_sharded || treatment.narrow_shards || !treatment.master) parameters += elements * bytes.each;
    double optimizer = elements * plan::state_bytes(treatment);
    if (treatment.factored_moment) optimizer += of.factored * numerics::bytes_per_element(numerics::Format::fp32);
    double held = gradients_sharded ? gradients / copies : gradients;
    if (offload.parameters == plan::Home::device) held += parameters_sharded ? parameters / copies : parameters;
    if (offload.optimizer == plan::Home::device)
      held += strategy.sharded != plan::Sharded::nothing ? optimizer / copies : optimizer;
    if (treatment.separate_gradients && strategy.sharded < plan::Sharded::gradients)
      held += elements * numerics::bytes_per_element(treatment.parameters);
    if (parameters_sharded && !strategy.reshard_after_forward)
      held += elements * numerics::bytes_per_element(resolved.treatment.gather);
    return held;
  }

  // Beside a layer's gathered parameters there are those of the next layers of its pass; beside its gradients, and their
  // copy where one is reduced, those of the layer behind it until they are sent. Of two unlike neighbours the larger one
  // is charged for both, since layers of the smaller one's class also lie in stages without it.
  void add_moved(const ir::Model& model, const experiment::Resolved& resolved, const std::vector<double>& elements,
                 std::vector<LayerCost>& costs) const {
    const plan::Strategy& strategy = resolved.strategy;
    const bool parameters_sharded = strategy.sharded == plan::Sharded::parameters;
    const bool copied = resolved.behaviour.pads_gradients && strategy.sharded >= plan::Sharded::gradients &&
                        (parameters_sharded || !resolved.behaviour.reduce_whole_gradients);
    const double width =
        (sends_gradients_every_pass(strategy) ? numerics::bytes_per_element(resolved.treatment.gradients) : 0.0) +
        (copied ? numerics::bytes_per_element(resolved.treatment.reduce) : 0.0);
    const std::vector<std::set<std::size_t>> neighbours = beside(model);
    for (std::size_t each = 0; each < costs.size(); ++each) {
      LayerCost& cost = costs[each];
      if (parameters_sharded && strategy.reshard_after_forward) {
        std::int64_t next = 0;
        for (const std::size_t other : neighbours[each])
          next = std::max(next, std::min(costs[other].gathered, cost.gathered));
        cost.moved += cost.gathered + strategy.prefetch * next;
      }
      if (width > 0.0) {
        double sent = 0.0;
        for (const std::size_t other : neighbours[each])
          sent = std::max(sent, std::min(elements[other], elements[each]));
        cost.moved += whole_bytes(elements[each] * width) + whole_bytes(sent * width);
      }
      if (resolved.behaviour.holds_buckets && strategy.sharded != plan::Sharded::nothing)
        cost.moved +=
            whole_bytes(strategy.bucket_bytes * (strategy.overlap_gradient_reduce && !parameters_sharded ? 2.0 : 1.0));
      cost.transient += cost.moved;
    }
  }

  const experiment::Settings& settings_;
  const experiment::Parts& parts_;
  predict::CostPricer pricer_;
  predict::PriceTable prices_;
  predict::Analytic analytic_;
  std::vector<std::unique_ptr<PricedModel>> models_;
};

double stream_bytes(const experiment::Settings& settings, const experiment::Parts& parts) {
  return static_cast<double>(settings.training.seq_len) * static_cast<double>(parts.model.hidden) *
         numerics::bytes_per_element(software::activation_format(parts.software.recipe));
}

std::string LayerPrices::Layers::name(std::size_t layer) const {
  return in_body(layer) ? fmt::format("layer {}", layer) : classes[of[layer]];
}

LayerPrices::LayerPrices(const experiment::Settings& settings, const experiment::Parts& parts)
    : implementation_(std::make_unique<Implementation>(settings, parts)) {}
LayerPrices::~LayerPrices() = default;

std::vector<LayerCost> LayerPrices::costs(const experiment::Resolved& resolved) {
  return implementation_->costs(resolved);
}
core::Picoseconds LayerPrices::time(const program::Transfer& transfer) { return implementation_->time(transfer); }
core::Picoseconds LayerPrices::host_per_step() { return implementation_->host_per_step(); }
LayerPrices::Layers LayerPrices::layers(const experiment::Resolved& resolved) {
  return implementation_->layers(resolved);
}
std::vector<std::string> LayerPrices::assumptions() const { return implementation_->assumptions(); }
std::vector<std::string> LayerPrices::warnings() const { return implementation_->warnings(); }

}  // namespace cairn::division
