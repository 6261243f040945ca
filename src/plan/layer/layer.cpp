#include "cairn/plan/layer.h"

#include "block_builder.h"
#include "layer_blocks.h"
#include "layer_state.h"

namespace cairn::plan {

namespace {

LayerBlocks::Observer note_in_flight(PerGroup<double>* in_flight) {
  return [in_flight](const BlockBuilder& builder) {
    if (in_flight != nullptr) *in_flight = builder.gradients().in_flight();
  };
}

}  // namespace

class LayerLowering::Implementation {
 public:
  Implementation(const ir::LayerClass& layer_class, LayerOptions options)
      : layer(layer_class, std::move(options)), kept(layer), blocks(layer, kept) {
    blocks.forward({}, {}, {}, Term::compute,
                   [&](const BlockBuilder& builder) { kept.settle(builder.progress().placements); });
    state = state_of(layer, kept);
    if (layer.options().settings.asynchronous_tensor) find_arrivals();
  }

  RankLayer layer;
  KeptTensors kept;
  LayerBlocks blocks;
  LayerState state;

 private:
  void find_arrivals() {
    const ir::Graph& graph = layer.graph();
    std::vector<char> outputs;
    std::vector<char> input_gradients;
    blocks.forward({}, {}, {}, Term::compute, [&](const BlockBuilder& builder) {
      for (const ir::TensorId output : graph.outputs()) outputs.push_back(builder.progress().ready[at(output)] >= 0);
    });
    blocks.backward({}, {}, [&](const BlockBuilder& builder) {
      for (const ir::TensorId input : graph.inputs()) {
        const ir::TensorId gradient = graph.gradient(input);
        input_gradients.push_back(gradient != ir::k_no_tensor && builder.progress().ready[at(gradient)] >= 0);
      }
    });
    kept.expect(outputs, input_gradients);
  }
};

LayerLowering::LayerLowering(const ir::LayerClass& layer, LayerOptions options)
    : implementation_(std::make_unique<Implementation>(layer, std::move(options))) {}
LayerLowering::~LayerLowering() = default;

const ir::LayerClass& LayerLowering::layer() const { return implementation_->layer.layer(); }
const LayerState& LayerLowering::state() const { return implementation_->state; }

Block LayerLowering::forward(const GradientSync& parameter_gather, const UnitTraffic& traffic) const {
  const PerGroup<double> gathered = state().moved_elements(parameter_gather.without_tied);
  return implementation_->blocks.forward(parameter_gather, gathered, traffic, Term::compute, {});
}
Block LayerLowering::recomputation() const { return implementation_->blocks.forward({}, {}, {}, Term::recompute, {}); }
Block LayerLowering::backward(const GradientSync& gradient_sync, const UnitTraffic& traffic,
                              PerGroup<double>* in_flight) const {
  return implementation_->blocks.backward(gradient_sync, traffic, note_in_flight(in_flight));
}
LayerLowering::Split LayerLowering::split_backward(const GradientSync& gradient_sync, const UnitTraffic& first_traffic,
                                                   const UnitTraffic& second_traffic,
                                                   PerGroup<double>* in_flight) const {
  return implementation_->blocks.split(gradient_sync, first_traffic, second_traffic, note_in_flight(in_flight));
}

double LayerLowering::border_bytes(ir::TensorId tensor) const {
  const RankLayer& layer = implementation_->layer;
  return layer.bytes(tensor, layer.border(tensor));
}
bool LayerLowering::border_replicated(ir::TensorId tensor, std::size_t rule) const {
  return implementation_->layer.border(tensor)[rule].kind == Placement::Kind::replicate;
}

}  // namespace cairn::plan
