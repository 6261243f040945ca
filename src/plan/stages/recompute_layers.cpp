#include "recompute_layers.h"

#include <limits>

namespace cairn::plan {

namespace {

constexpr std::int64_t k_unbounded = std::numeric_limits<std::int64_t>::max();

void append(std::vector<Stretch>& stretches, LoweredLayer& layer) {
  if (!stretches.empty() && stretches.back().layer == &layer)
    ++stretches.back().count;
  else
    stretches.push_back({&layer, 1});
}

}  // namespace

bool recomputes_in_groups(const Structure& structure) {
  return structure.recompute == Recompute::full && structure.recompute_layers.method == RecomputeMethod::uniform &&
         structure.recompute_layers.count > 1;
}

RecomputeStretch recompute_stretch(const RecomputeLayers& layers, std::int64_t layer, std::int64_t local) {
  RecomputeStretch result{.layers = k_unbounded, .recomputes = true};
  const auto until = [&](std::int64_t count) { result.layers = std::min(result.layers, count); };
  if (!layers.ranges.empty()) {
    result.recomputes = false;
    for (const LayerRange& range : layers.ranges) {
      if (layer < range.first) until(range.first - layer);
      if (layer < range.first || layer > range.last) continue;
      result.recomputes = true;
      until(range.last + 1 - layer);
    }
  }
  if (layers.method == RecomputeMethod::block) {
    if (local < layers.count)
      until(layers.count - local);
    else
      result.recomputes = false;
  }
  return result;
}

RecomputeGroup append_group(const std::vector<std::int32_t>& classes, std::uint32_t held_below, const LayerOf& layer,
                            std::vector<Stretch>& stretches) {
  const auto all = [&](std::int32_t layer_class) {
    return (1U << layer(layer_class, 0, false).lowering.layer().graph.inputs().size()) - 1U;
  };
  RecomputeGroup group{.first_stretch = stretches.size(), .stretches = 0, .again = {}, .backward = {}};
  std::vector<Stretch> forward;
  std::uint32_t held = held_below;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::uint32_t everything = all(classes[i]);
    append(forward, layer(classes[i], i == 0 ? held_below : everything, true));
    // The first layer of the group reads the input that forward saved, and frees it.
    append(group.again, layer(classes[i], i == 0 ? everything : held, false));
    LoweredLayer& kept = layer(classes[i], held, false);
    append(group.backward, kept);
    held = kept.lowering.state().kept_outputs;
  }
  group.stretches = forward.size();
  stretches.insert(stretches.end(), forward.begin(), forward.end());
  return group;
}

void append_group_backward(Pass& pass, const RecomputeGroup& group, Half half, const GradientSync* sync) {
  if (half != Half::weight_gradient)
    for (const Stretch& stretch : group.again) pass.runs.push_back({stretch.layer->recomputation(), stretch.count});
  for (auto stretch = group.backward.rbegin(); stretch != group.backward.rend(); ++stretch)
    append_backward(pass, *stretch, half, sync);
}

}  // namespace cairn::plan
