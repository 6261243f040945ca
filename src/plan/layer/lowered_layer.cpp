#include "lowered_layer.h"

#include <algorithm>

namespace cairn::plan {

namespace {

std::int64_t owners(const Stretch& stretch) {
  if (stretch.layer->lowering.state().tied.empty()) return stretch.count;
  return stretch.owns_ties ? 1 : 0;
}

void append_buckets(Pass& pass, LoweredLayer& layer, std::int64_t count, GradientSync sync, Half half) {
  if (count == 0) return;
  const PerGroup<double> elements = layer.lowering.state().moved_elements(sync.without_tied);
  PerGroup<std::int64_t> together;  // number of layers whose gradients share one bucket
  for (const ParameterGroup group : k_all_parameter_groups) {
    const double bytes = elements[group] * sync.bytes_per_element;
    together[group] =
        bytes > 0.0 ? std::clamp(static_cast<std::int64_t>(sync.bucket_bytes / bytes), std::int64_t{1}, count) : count;
  }
  const Block* block = nullptr;
  for (std::int64_t index = 0; index < count; ++index) {
    bool changed = block == nullptr;
    for (const ParameterGroup group : k_all_parameter_groups) {
      const std::int64_t before = index % together[group];  // layers of this bucket that have held theirs back
      const bool hold = elements[group] > 0.0 && before + 1 < together[group] && index + 1 < count;
      const double carried = hold ? 0.0 : static_cast<double>(before) * elements[group];
      changed = changed || hold != sync.hold[group] || carried != sync.carried_elements[group];
      sync.hold[group] = hold;
      sync.carried_elements[group] = carried;
    }
    if (changed) block = half == Half::both ? layer.reducing(sync) : layer.reducing_weights(sync);
    append(pass, block, 1);
  }
}

}  // namespace

LoweredLayer::LoweredLayer(const ir::LayerClass& layer_class, LayerOptions options)
    : lowering(layer_class, std::move(options)),
      forward(lowering.forward()),
      backward(lowering.backward()),
      below(border(layer_class.graph.inputs())),
      above(border(layer_class.graph.outputs())) {}

LayerBorder LoweredLayer::border(const std::vector<ir::TensorId>& tensors) const {
  LayerBorder border;
  for (const ir::TensorId tensor : tensors) {
    border.bytes += lowering.border_bytes(tensor);
    border.replicated = lowering.border_replicated(tensor, 0);
  }
  return border;
}

void append(Pass& pass, const Block* block, std::int64_t count) {
  if (count == 0) return;
  if (!pass.runs.empty() && pass.runs.back().block == block)
    pass.runs.back().count += count;
  else
    pass.runs.push_back({block, count});
}

std::size_t LoweredLayer::BlockHash::operator()(const BlockView& key) const {
  const auto& [part, sync, traffic] = key;
  core::Hash hash;
  hash.add(static_cast<std::uint8_t>(part)).add(static_cast<std::uint8_t>(sync.collective)).add(sync.without_tied);
  add(hash, sync.copies);
  add(hash, sync.replicas);
  add(hash, sync.carried_elements);
  add(hash, sync.in_flight);
  for (const bool hold : sync.hold) hash.add(hold);
  hash.add(traffic.distance).add(traffic.fetch.journeys.size()).add(traffic.leaving.size());
  hash.add(traffic.kernels.size());
  for (const double bytes : traffic.fetch.bytes) add(hash, bytes);
  for (const double bytes : traffic.given_up) add(hash, bytes);
  add(hash, traffic.left_bytes);
  return hash.value();
}

const LoweredLayer::Moving& LoweredLayer::moving(Part part, const GradientSync& sync, const UnitTraffic& traffic) {
  if (const auto known = moving_.find(BlockView{part, sync, traffic}); known != moving_.end()) return *known->second;
  // It is stored only when complete, so that a block that cannot be made throws every time.
  auto made = std::make_unique<Moving>();
  switch (part) {
    case Part::forward:
      made->block = lowering.forward(sync, traffic);
      break;
    case Part::backward:
      made->block = lowering.backward(sync, traffic, &made->in_flight);
      break;
    case Part::input_gradient:
      made->block = lowering.split_backward(sync, traffic).input_gradient;
      break;
    case Part::weight_gradient:
      made->block = lowering.split_backward(sync, {}, traffic, &made->in_flight).weight_gradient;
      break;
  }
  auto& slot = moving_[{.part = part, .sync = sync, .traffic = traffic}];
  slot = std::move(made);
  return *slot;
}

void append_gathering(Pass& pass, const Stretch& stretch, const GradientSync& sync) {
  const std::int64_t owning = owners(stretch);
  GradientSync own = sync;
  own.without_tied = true;
  if (owning > 0) append(pass, stretch.layer->gathering(sync), owning);
  if (owning < stretch.count) append(pass, stretch.layer->gathering(own), stretch.count - owning);
}

namespace {

void append_reducing(Pass& pass, const Stretch& stretch, const GradientSync& sync, Half half) {
  const std::int64_t owning = owners(stretch);
  GradientSync own = sync;
  own.without_tied = true;
  append_buckets(pass, *stretch.layer, stretch.count - owning, own, half);
  append_buckets(pass, *stretch.layer, owning, sync, half);
}

}  // namespace

void append_backward(Pass& pass, const Stretch& stretch, Half half, const GradientSync* sync) {
  LoweredLayer& layer = *stretch.layer;
  if (half == Half::input_gradient)
    pass.runs.push_back({&layer.split().input_gradient, stretch.count});
  else if (sync != nullptr)
    append_reducing(pass, stretch, *sync, half);
  else
    pass.runs.push_back({half == Half::both ? &layer.backward : &layer.split().weight_gradient, stretch.count});
}

}  // namespace cairn::plan
