#include "kept_tensors.h"

#include <algorithm>
#include <string>

namespace cairn::plan {

namespace {

// "norm1" names the operators norm1, norm1.square, ...; a region names all of its operators.
bool named(const std::vector<std::string>& names, const ir::Operator& op) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == op.region || name == op.name ||
           (op.name.size() > name.size() && op.name.starts_with(name) && op.name[name.size()] == '.');
  });
}

bool is_attention(const ir::Operator& op) { return op.kind == ir::Kind::contraction && !op.is_plain_contraction(); }

}  // namespace

ir::OperatorId result_operator(const ir::LayerClass& layer) {
  if (layer.position != ir::Position::exit) return -1;
  for (auto id = static_cast<ir::OperatorId>(layer.graph.forward_count()) - 1; id >= 0; --id)
    if (layer.graph.op(id).is_plain_contraction()) return id;
  return -1;
}

KeptTensors::KeptTensors(const RankLayer& layer)
    : layer_(layer),
      recomputed_(layer.graph().forward_count(), 0),
      saved_(layer.graph().tensors().size(), 0),
      shared_(layer.graph().tensors().size(), 0),
      arrives_(layer.graph().tensors().size(), 1),
      settled_(layer.graph().tensors().size(), Placements(layer.options().rules.size())) {
  find_recomputed();
  keep_result();
  keep_unread_products();
  if (!layer.options().recompute_all) leave_unread();
  for (const ir::TensorId id : layer.graph().saved(recomputed_)) saved_[at(id)] = 1;
}

bool KeptTensors::asked_for(ir::OperatorId id) const {
  const LayerOptions& options = layer_.options();
  const ir::Position position = layer_.layer().position;
  if (position != ir::Position::body) {
    if (!options.recompute_all || !options.behaviour.recompute_ends) return false;
    return position == ir::Position::entry || id <= result_operator(layer_.layer());
  }
  if (options.recompute_all || layer_.graph().op(id).reruns) return true;
  return named(options.recompute, layer_.graph().op(id));
}

void KeptTensors::find_recomputed() {
  const bool seconds = layer_.options().recompute_second && layer_.layer().position == ir::Position::body;
  int products = 0;
  for (std::size_t id = 0; id < recomputed_.size(); ++id) {
    const ir::Operator& op = layer_.graph().operators()[id];
    if (op.converts >= 0) {
      recomputed_[id] = recomputed_[at(op.converts)];
      continue;
    }
    const bool product = op.is_plain_contraction();
    if (product) ++products;
    const bool kept = is_attention(op) && !layer_.options().behaviour.repeats_attention;
    const bool second = seconds && !kept && (!product || products % 2 == 0);
    recomputed_[id] = asked_for(static_cast<ir::OperatorId>(id)) || second ? 1 : 0;
  }
}

// An exit layer's last product is not recomputed where the derivative of the loss reads its result, which is then
// saved.
void KeptTensors::keep_result() {
  const ir::OperatorId product = result_operator(layer_.layer());
  if (product < 0 || !recomputed_[at(product)]) return;
  const auto& operators = layer_.graph().operators();
  for (std::size_t id = layer_.graph().forward_count(); id < operators.size(); ++id)
    for (const ir::Access& access : operators[id].accesses)
      if (access.mode == ir::Mode::read && layer_.graph().producer(access.tensor) == product)
        recomputed_[at(product)] = 0;
}

// Unmarks recomputed operators whose results nobody reads in backward.
void KeptTensors::leave_unread() {
  const auto& operators = layer_.graph().operators();
  std::vector<char> read(layer_.graph().tensors().size(), 0);
  for (std::size_t id = operators.size(); id-- > 0;) {
    const ir::Operator& op = operators[id];
    if (id < recomputed_.size()) {
      if (!recomputed_[id]) continue;
      const bool wanted = std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
        return access.mode != ir::Mode::read && read[at(access.tensor)] != 0;
      });
      if (!wanted && op.region.empty()) recomputed_[id] = 0;
      if (!recomputed_[id]) continue;
    }
    for (const ir::Access& access : op.accesses)
      if (access.mode == ir::Mode::read) read[at(access.tensor)] = 1;
  }
}

void KeptTensors::keep_unread_products() {
  const LayerOptions& options = layer_.options();
  if (!options.recompute_second || !options.behaviour.keeps_unread_products ||
      layer_.layer().position != ir::Position::body)
    return;
  for (std::size_t id = 0; id < recomputed_.size(); ++id) {
    const ir::Operator& op = layer_.graph().operators()[id];
    if (recomputed_[id] || !op.is_plain_contraction()) continue;
    for (const ir::Access& access : op.accesses)
      if (access.mode != ir::Mode::read) saved_[at(storage(layer_.graph(), access.tensor))] = 1;
  }
}

void KeptTensors::settle(std::vector<Placements> placements) {
  settled_ = std::move(placements);
  const LayerOptions& options = layer_.options();
  if (options.settings.share_saved_inputs && !options.rules.empty() && options.rules.front().size > 1) share_inputs();
}

void KeptTensors::share_inputs() {
  const LayerOptions& options = layer_.options();
  for (const ir::TensorId input : layer_.graph().inputs()) {
    if (!saved(input) || held_below(input) || settled(input).front().kind != Placement::Kind::replicate) continue;
    const ir::Tensor& tensor = layer_.graph().tensor(input);
    for (std::size_t dim = 0; dim < tensor.dims.size(); ++dim) {
      if (tensor.dims[dim].extent.at(options.sizes) % options.rules.front().size != 0) continue;
      shared_[at(input)] = 1;
      settled_[at(input)].front() = {Placement::Kind::shard, static_cast<std::uint8_t>(dim), ir::Monoid::sum};
      break;
    }
  }
}

void KeptTensors::expect(const std::vector<char>& outputs_under_way,
                         const std::vector<char>& input_gradients_under_way) {
  const ir::Graph& graph = layer_.graph();
  for (std::size_t i = 0; i < std::min(graph.inputs().size(), graph.outputs().size()); ++i) {
    arrives_[at(graph.inputs()[i])] = outputs_under_way[i];
    if (graph.gradient(graph.outputs()[i]) != ir::k_no_tensor)
      arrives_[at(graph.border_gradient(graph.outputs()[i]))] = input_gradients_under_way[i];
  }
}

bool KeptTensors::held_below(ir::TensorId tensor) const {
  const auto& inputs = layer_.graph().inputs();
  const auto input = std::find(inputs.begin(), inputs.end(), tensor);
  return input != inputs.end() && ((layer_.options().inputs_held >> (input - inputs.begin())) & 1U) != 0;
}

}  // namespace cairn::plan
