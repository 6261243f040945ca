// Backward blocks of a layer: whole, or input and weight gradients apart.
#include <algorithm>

#include "block_builder.h"
#include "cairn/core/diagnostics.h"
#include "cairn/plan/layer.h"

namespace cairn::plan {

namespace {

// The order of a backward pass with what runs again in it: a region, or a whole layer, as soon as anything of it is
// read; any other operator when its result is, after those it reads from itself.
class BackwardOrder {
 public:
  BackwardOrder(const ir::Graph& graph, const std::vector<char>& recomputed, bool at_once)
      : graph_(graph), recomputed_(recomputed), at_once_(at_once), again_(recomputed.size(), 0) {}

  void append(ir::OperatorId id) {
    recompute_reads(graph_.op(id));
    order.push_back(id);
    terms.push_back(Term::compute);
  }
  // What follows is listed apart.
  void start_over() {
    order.clear();
    terms.clear();
  }

  std::vector<ir::OperatorId> order;
  std::vector<Term> terms;

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
    order.push_back(static_cast<ir::OperatorId>(id));
    terms.push_back(Term::recompute);
  }

  const ir::Graph& graph_;
  const std::vector<char>& recomputed_;
  bool at_once_;
  std::vector<char> again_;
};

}  // namespace

void LayerLowering::begin_backward(BlockBuilder& builder) const {
  const ir::Graph& graph = layer_.graph;
  for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
    const ir::OperatorId producer = graph.producer(static_cast<ir::TensorId>(id));
    const bool comes_again =
        producer >= 0 && static_cast<std::size_t>(producer) < recomputed_.size() && recomputed_[at(producer)];
    const auto tensor = static_cast<ir::TensorId>(id);
    if (graph.tensors()[id].role == ir::Role::activation && !comes_again) builder.restore(tensor, input_held(tensor));
  }
  for (const ir::TensorId output : graph.outputs())
    if (graph.gradient(output) != ir::k_no_tensor) builder.receive(graph.border_gradient(output), false);
}

Block LayerLowering::backward_block(const GradientSync& gradient_sync, const UnitTraffic& traffic,
                                    const Observer& observe) const {
  const ir::Graph& graph = layer_.graph;
  BackwardOrder backward(graph, recomputed_, options_.recompute_all);
  for (std::size_t id = graph.forward_count(); id < graph.operators().size(); ++id)
    backward.append(static_cast<ir::OperatorId>(id));
  BlockBuilder builder(*this, layer_.name + " backward", true);
  builder.open(traffic);
  begin_backward(builder);
  builder.run(backward.order, backward.terms, gradient_sync);
  for (const ir::TensorId input : graph.inputs())
    if (graph.gradient(input) != ir::k_no_tensor) builder.hand_over(graph.gradient(input));
  builder.close(traffic);
  if (observe) observe(builder);
  return builder.finish();
}

std::vector<char> LayerLowering::weight_gradient_operators() const {
  const ir::Graph& graph = layer_.graph;
  const auto& operators = graph.operators();
  std::vector<char> awaited(graph.tensors().size(), 0);  // by the layer below, or by what makes that
  for (const ir::TensorId input : graph.inputs())
    if (graph.gradient(input) != ir::k_no_tensor) awaited[at(storage(graph.gradient(input)))] = 1;
  std::vector<char> result(operators.size(), 0);
  for (std::size_t id = operators.size(); id-- > graph.forward_count();) {
    const auto& accesses = operators[id].accesses;
    const bool rest = std::none_of(accesses.begin(), accesses.end(), [&](const ir::Access& access) {
      return access.mode != ir::Mode::read && awaited[at(storage(access.tensor))] != 0;
    });
    result[id] = rest ? 1 : 0;
    if (rest) continue;
    for (const ir::Access& access : accesses)
      if (access.mode == ir::Mode::read) awaited[at(storage(access.tensor))] = 1;
  }
  return result;
}

LayerLowering::Split LayerLowering::split_backward(const GradientSync& gradient_sync, const UnitTraffic& first_traffic,
                                                   const UnitTraffic& second_traffic,
                                                   PerGroup<double>* in_flight) const {
  if (options_.pieces.kind == TensorPieces::Kind::halves)
    throw core::ConfigurationError("strategy.overlap.tp", "halves of the tokens do not take turns in split backwards",
                                   "use kind: chunked, or a schedule that does not split them");
  const ir::Graph& graph = layer_.graph;
  const std::vector<char> rest = weight_gradient_operators();
  BackwardOrder first(graph, recomputed_, options_.recompute_all);
  const auto append = [&](BackwardOrder& order, bool of_rest) {
    for (std::size_t id = graph.forward_count(); id < graph.operators().size(); ++id)
      if ((rest[id] != 0) == of_rest) order.append(static_cast<ir::OperatorId>(id));
  };
  append(first, false);
  BackwardOrder second = first;  // knows what has run again
  second.start_over();
  append(second, true);
  BlockBuilder builder(*this, layer_.name + " input gradient", true);
  builder.open(first_traffic);
  begin_backward(builder);
  builder.run_first(first.order, first.terms, second.order, gradient_sync);
  for (const ir::TensorId input : graph.inputs())
    if (graph.gradient(input) != ir::k_no_tensor) builder.hand_over(graph.gradient(input));
  builder.close(first_traffic);
  Split split{.input_gradient = builder.cut(layer_.name + " weight gradient"), .weight_gradient = {}};
  builder.open(second_traffic);
  builder.run_second(second.order, second.terms, gradient_sync);
  builder.close(second_traffic);
  if (in_flight != nullptr) *in_flight = builder.in_flight();
  split.weight_gradient = builder.finish();
  return split;
}

void BlockBuilder::run_first(const std::vector<ir::OperatorId>& first, const std::vector<Term>& terms,
                             const std::vector<ir::OperatorId>& second, const GradientSync& sync) {
  note_uses(first);
  first_position_ = static_cast<std::int32_t>(first.size());
  note_uses(second);
  first_position_ = 0;
  unsent_elements_ = sync.carried_elements;
  in_flight_ = sync.in_flight;
  defers_ = true;
  for (std::size_t position = 0; position < first.size(); ++position) step(position, first, terms, sync);
  defers_ = false;
  first_position_ = static_cast<std::int32_t>(first.size());
}

// Other passes run in between: what is still under way is awaited as a frontier of its stream.
Block BlockBuilder::cut(std::string name_of_second) {
  drop_all_copies();
  for (Dependency& ready : ready_)
    if (ready >= 0) ready = entry_of(block_.steps[at(ready)].stream);
  Block first = finish();
  block_ = Block{};
  block_.name = std::move(name_of_second);
  blocking_.clear();
  wait_on_entry();
  last_compute_ = entry_of(Stream::compute);
  last_transfer_ = -1;
  kept_copies_ = 0;
  return first;
}

void BlockBuilder::run_second(const std::vector<ir::OperatorId>& second, const std::vector<Term>& terms,
                              const GradientSync& sync) {
  if (deferred_bytes_ > 0.0) memory(false, Category::gradients, deferred_bytes_);
  for (std::size_t position = 0; position < second.size(); ++position) {
    // What the next product still has to gather moves beside this one.
    if (layer_.options_.tensor_overlap && position + 1 < second.size()) request(position, position + 2, second);
    step(position, second, terms, sync);
  }
  if (sync.collective != Collective::none)
    for (const ParameterGroup group : k_all_parameter_groups) send_gradients(sync, group);
}

void BlockBuilder::drop_all_copies() {
  for (const TensorCopy& copy : copies_)
    if (copy.bytes > 0.0) memory(true, Category::workspace, -copy.bytes);
  copies_.clear();
}

}  // namespace cairn::plan
