#include "cairn/division/layer_prices.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/models/transformer.h"
#include "cairn/numerics/format.h"
#include "cairn/plan/lowering.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/price/cost_pricer.h"

namespace cairn::division {
namespace {

using program::Collective;

constexpr double k_most_layer_bytes = 1099511627776.0;  // 1 TiB: more than any device has for one layer

std::int64_t whole_bytes(double bytes) {
  if (!(bytes < k_most_layer_bytes))
    throw core::ConfigurationError("training.seq_len", "a layer takes a TiB or more of a device",
                                   "share it among more ranks, or use shorter sequences");
  return static_cast<std::int64_t>(std::ceil(bytes));
}

double parameter_bytes(const plan::ParameterTreatment& treatment, const plan::LayerState& state) {
  const double narrow =
      treatment.narrow ? treatment.narrow_copies * numerics::bytes_per_element(*treatment.narrow) : 0.0;
  return state.parameter_elements() * numerics::bytes_per_element(treatment.parameters) +
         state.narrow_elements * narrow;
}

}  // namespace

class LayerPrices::Implementation {
 public:
  Implementation(const experiment::Settings& settings, const experiment::Parts& parts)
      : settings_(settings),
        parts_(parts),
        pricer_(parts.calibrated.calibration, parts.machine.accelerator.value, parts.machine.network,
                parts.software.framework.host_times, parts.machine.cluster.value.host),
        prices_(pricer_),
        analytic_(prices_) {}

  std::vector<LayerCost> costs(const experiment::Resolved& resolved) {
    PricedModel& priced = model_of(resolved);
    std::vector<LayerCost> result;
    for (std::size_t each = 0; each < priced.model.classes.size(); ++each)
      result.push_back(cost(priced, resolved, each));
    return result;
  }

  core::Picoseconds time(const program::Transfer& transfer) {
    if (transfer.collective == Collective::none || transfer.group.size <= 1 || transfer.bytes <= 0.0) return 0;
    return pricer_.transfer(transfer).duration;
  }

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
    all.insert("layers run one after another: nothing of one overlaps another but gathers of parameters");
    all.insert("without the update of the parameters");
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

  LayerCost cost(PricedModel& priced, const experiment::Resolved& resolved, std::size_t layer_class) {
    plan::Strategy strategy = resolved.strategy;
    if (priced.model.classes[layer_class].position != ir::Position::body) {  // nothing runs again there
      strategy.recompute = plan::Recompute::none;
      strategy.share_saved_inputs = false;
    }
    const program::Block& forward = priced.lowering.forward_block(strategy, layer_class);
    const program::Block& backward = priced.lowering.backward_block(strategy, layer_class);
    const plan::LayerState& state = priced.lowering.layer_state(strategy, layer_class);
    LayerCost cost{.forward = analytic_.alone(forward), .backward = analytic_.alone(backward)};
    add_exchanges(cost, resolved, state);
    cost.saved = whole_bytes(state.saved_bytes);
    cost.transient = whole_bytes(
        std::max(forward.profile.peak - std::max(0.0, forward.profile.delta), std::max(0.0, backward.profile.peak)));
    add_state(cost, resolved, state);
    return cost;
  }

  void add_exchanges(LayerCost& cost, const experiment::Resolved& resolved, const plan::LayerState& state) {
    const plan::Strategy& strategy = resolved.strategy;
    const program::Mesh mesh = plan::mesh(strategy);
    const program::Group copies = mesh.group(program::Axis::data, program::Axis::context);
    const double elements = state.parameter_elements();
    const auto exchange = [&](Collective collective, numerics::Format format) {
      return time({.collective = collective, .group = copies, .bytes = elements * numerics::bytes_per_element(format)});
    };
    const auto beside = [](core::Picoseconds pass, core::Picoseconds sent, bool hidden) {
      return hidden ? std::max(pass, sent) : pass + sent;
    };
    cost.gathered = whole_bytes(elements * numerics::bytes_per_element(resolved.treatment.gather));
    cost.reduced = whole_bytes(elements * numerics::bytes_per_element(resolved.treatment.reduce));
    const core::Picoseconds forward = cost.forward, backward = cost.backward;
    const bool by_shard = strategy.sharded != plan::Sharded::nothing;
    const core::Picoseconds reduce =
        exchange(by_shard ? Collective::reduce_scatter : Collective::all_reduce, resolved.treatment.reduce);
    const core::Picoseconds gather = by_shard ? exchange(Collective::all_gather, resolved.treatment.gather) : 0;
    const bool every_micro_batch = strategy.sharded >= plan::Sharded::gradients && strategy.reduce_every_micro_batch;
    core::Picoseconds in_backward = every_micro_batch ? reduce : 0;
    if (strategy.sharded == plan::Sharded::parameters) {
      const bool ahead = strategy.prefetch > 0;
      cost.forward = beside(forward, gather, ahead);
      if (strategy.reshard_after_forward) in_backward += gather;
      cost.backward = beside(backward, in_backward, ahead);
    } else {
      cost.backward = beside(backward, in_backward, true);
      cost.once += strategy.overlap_parameter_gather ? beside(forward, gather, true) - forward : gather;
    }
    if (!every_micro_batch)
      cost.once += strategy.overlap_gradient_reduce ? beside(backward, reduce, true) - backward : reduce;
    double partial = 0.0;  // summed over the ranks that share the layer
    for (const double each : state.partial_elements) partial += each;
    cost.once += time({.collective = Collective::all_reduce,
                       .group = mesh.group(program::Axis::tensor),
                       .bytes = partial * numerics::bytes_per_element(resolved.treatment.gradients)});
  }

  static void add_state(LayerCost& cost, const experiment::Resolved& resolved, const plan::LayerState& state) {
    const plan::Strategy& strategy = resolved.strategy;
    const plan::ParameterTreatment& treatment = resolved.treatment;
    const auto copies = static_cast<double>(strategy.data * strategy.context);
    const double elements = state.parameter_elements();
    const double parameters = parameter_bytes(treatment, state);
    const double gradients = elements * numerics::bytes_per_element(treatment.gradients);
    const double optimizer = elements * plan::state_bytes(treatment);
    const auto shared = [&](double bytes, plan::Sharded from) {
      return strategy.sharded >= from ? bytes / copies : bytes;
    };
    cost.state = whole_bytes(shared(parameters, plan::Sharded::parameters) +
                             shared(gradients, plan::Sharded::gradients) + shared(optimizer, plan::Sharded::optimizer));
    if (strategy.sharded == plan::Sharded::parameters)
      cost.transient += whole_bytes(parameters * static_cast<double>(1 + strategy.prefetch));
    if (strategy.sharded >= plan::Sharded::gradients) cost.transient += whole_bytes(gradients);
  }

  const experiment::Settings& settings_;
  const experiment::Parts& parts_;
  predict::CostPricer pricer_;
  predict::PriceTable prices_;
  predict::Analytic analytic_;
  std::vector<std::unique_ptr<PricedModel>> models_;
};

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
LayerPrices::Layers LayerPrices::layers(const experiment::Resolved& resolved) {
  return implementation_->layers(resolved);
}
std::vector<std::string> LayerPrices::assumptions() const { return implementation_->assumptions(); }
std::vector<std::string> LayerPrices::warnings() const { return implementation_->warnings(); }

}  // namespace cairn::division
