#include "layer_blocks.h"

#include <algorithm>
#include <numeric>

#include "block_builder.h"
#include "cairn/core/diagnostics.h"

namespace cairn::plan {

namespace {

// The order of operators in a backward pass with recomputation. A recomputed region, or a whole layer (`at_once`), runs
// when the first of its results is read; any other operator when its own result is read, after the operators it needs.
class BackwardOrder {
 public:
  BackwardOrder(const ir::Graph& graph, const std::vector<char>& recomputed, bool at_once)
      : graph_(graph), recomputed_(recomputed), at_once_(at_once), again_(recomputed.size(), 0) {}

  void append(ir::OperatorId id) {
    recompute_reads(graph_.op(id));
    order_.append(id, Term::compute);
  }
  // Returns the operators appended since the last call.
  OperatorOrder take() { return std::exchange(order_, {}); }

 private:
  void recompute_reads(const ir::Operator& op) {
    for (const ir::Access& access : op.accesses) {
      const ir::OperatorId producer = graph_.producer(access.tensor);
      if (access.mode != ir::Mode::read || producer < 0 || at(producer) >= recomputed_.size()) continue;
      if (!recomputed_[at(producer)] || again_[at(producer)]) continue;
      const std::string& region = graph_.op(producer).region;
      if (!at_once_ && region.empty()) {
        again(at(producer));
        continue;
      }
      for (std::size_t id = 0; id < recomputed_.size(); ++id)
        if (recomputed_[id] && !again_[id] && (at_once_ || graph_.operators()[id].region == region)) again(id);
    }
  }
  void again(std::size_t id) {
    again_[id] = 1;
    if (!at_once_) recompute_reads(graph_.operators()[id]);
    order_.append(static_cast<ir::OperatorId>(id), Term::recompute);
  }

  const ir::Graph& graph_;
  const std::vector<char>& recomputed_;
  bool at_once_;
  std::vector<char> again_;
  OperatorOrder order_;
};

std::vector<ir::TensorId> data_of(const ir::Graph& graph) {
  std::vector<ir::TensorId> data;
  const auto known = [](const std::vector<ir::TensorId>& list, ir::TensorId tensor) {
    return std::find(list.begin(), list.end(), tensor) != list.end();
  };
  for (std::size_t id = 0; id < graph.forward_count(); ++id)
    for (const ir::Access& access : graph.operators()[id].accesses)
      if (access.mode == ir::Mode::read && graph.tensor(access.tensor).role == ir::Role::activation &&
          graph.producer(access.tensor) < 0 && !known(graph.inputs(), access.tensor) && !known(data, access.tensor))
        data.push_back(access.tensor);
  return data;
}

}  // namespace

LayerBlocks::LayerBlocks(const RankLayer& layer, const KeptTensors& kept)
    : layer_(layer),
      kept_(kept),
      forward_{.layer = layer, .kept = kept, .backward = false},
      backward_{.layer = layer, .kept = kept, .backward = true},
      operators_(layer.graph().forward_count()),
      data_(data_of(layer.graph())) {
  std::iota(operators_.begin(), operators_.end(), ir::OperatorId{0});
}

Block LayerBlocks::forward(const GradientSync& parameter_gather, const PerGroup<double>& gathered,
                           const UnitTraffic& traffic, Term term, const Observer& observe) const {
  const ir::Graph& graph = layer_.graph();
  BlockBuilder builder(forward_, layer_.layer().name + (term == Term::recompute ? " forward again" : " forward"),
                       traffic);
  if (parameter_gather.collective != Collective::none) builder.gather_parameters(parameter_gather, gathered);
  for (const ir::TensorId input : graph.inputs()) builder.receive(input, kept_.held_below(input));
  for (const ir::TensorId data : data_) builder.receive(data, false);
  builder.run({.operators = operators_, .terms = std::vector<Term>(operators_.size(), term)}, {});
  for (const ir::TensorId output : graph.outputs()) builder.hand_over(output);
  if (observe) observe(builder);
  return builder.finish();
}

void LayerBlocks::begin_backward(BlockBuilder& builder) const {
  const ir::Graph& graph = layer_.graph();
  const std::vector<char>& recomputed = kept_.recomputed();
  for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
    const auto tensor = static_cast<ir::TensorId>(id);
    const ir::OperatorId producer = graph.producer(tensor);
    const bool comes_again = producer >= 0 && at(producer) < recomputed.size() && recomputed[at(producer)];
    if (graph.tensors()[id].role == ir::Role::activation && !comes_again)
      builder.restore(tensor, kept_.held_below(tensor));
  }
  for (const ir::TensorId output : graph.outputs())
    if (graph.gradient(output) != ir::k_no_tensor) builder.receive(graph.border_gradient(output), false);
}

void LayerBlocks::end_backward(BlockBuilder& builder) const {
  const ir::Graph& graph = layer_.graph();
  builder.drop_unread();
  for (const ir::TensorId input : graph.inputs())
    if (graph.gradient(input) != ir::k_no_tensor) builder.hand_over(graph.gradient(input));
}

Block LayerBlocks::backward(const GradientSync& gradient_sync, const UnitTraffic& traffic,
                            const Observer& observe) const {
  const ir::Graph& graph = layer_.graph();
  BackwardOrder order(graph, kept_.recomputed(), layer_.options().recompute_all);
  for (std::size_t id = graph.forward_count(); id < graph.operators().size(); ++id)
    order.append(static_cast<ir::OperatorId>(id));
  BlockBuilder builder(backward_, layer_.layer().name + " backward", traffic);
  begin_backward(builder);
  builder.run(order.take(), gradient_sync);
  end_backward(builder);
  if (observe) observe(builder);
  return builder.finish();
}

std::vector<char> LayerBlocks::weight_gradient_operators() const {
  const ir::Graph& graph = layer_.graph();
  const auto& operators = graph.operators();
  std::vector<char> awaited(graph.tensors().size(), 0);  // by the layer below, or by what makes that
  for (const ir::TensorId input : graph.inputs())
    if (graph.gradient(input) != ir::k_no_tensor) awaited[at(storage(graph, graph.gradient(input)))] = 1;
  std::vector<char> result(operators.size(), 0);
  for (std::size_t id = operators.size(); id-- > graph.forward_count();) {
    const auto& accesses = operators[id].accesses;
    const bool rest = std::none_of(accesses.begin(), accesses.end(), [&](const ir::Access& access) {
      return access.mode != ir::Mode::read && awaited[at(storage(graph, access.tensor))] != 0;
    });
    result[id] = rest ? 1 : 0;
    if (rest) continue;
    for (const ir::Access& access : accesses)
      if (access.mode == ir::Mode::read) awaited[at(storage(graph, access.tensor))] = 1;
  }
  return result;
}

LayerLowering::Split LayerBlocks::split(const GradientSync& gradient_sync, const UnitTraffic& first_traffic,
                                        const UnitTraffic& second_traffic, const Observer& observe) const {
  if (layer_.options().settings.tensor_pieces.kind == TensorPieces::Kind::halves)
    throw core::ConfigurationError("strategy.overlap.tp", "halves of the tokens do not take turns in split backwards",
                                   "use kind: chunked, or a schedule that does not split them");
  const ir::Graph& graph = layer_.graph();
  const std::vector<char> rest = weight_gradient_operators();
  BackwardOrder order(graph, kept_.recomputed(), layer_.options().recompute_all);
  const auto part = [&](bool of_rest) {
    for (std::size_t id = graph.forward_count(); id < graph.operators().size(); ++id)
      if ((rest[id] != 0) == of_rest) order.append(static_cast<ir::OperatorId>(id));
    return order.take();
  };
  const OperatorOrder first = part(false);
  const OperatorOrder second = part(true);
  BlockBuilder builder(backward_, layer_.layer().name + " input gradient", first_traffic);
  begin_backward(builder);
  builder.run_first(first, second, gradient_sync);
  end_backward(builder);
  LayerLowering::Split split;
  split.input_gradient = builder.cut(layer_.layer().name + " weight gradient", second_traffic);
  builder.run_second(second);
  if (observe) observe(builder);
  split.weight_gradient = builder.finish();
  return split;
}

}  // namespace cairn::plan
