#include "stage_body.h"

#include <algorithm>

#include "strategy/strategy_check.h"

namespace cairn::plan {

namespace {

class BodyBuilder {
 public:
  BodyBuilder(const BodyKey& key, LayerCache& layers)
      : key_(key), plain_(key.layer.without_recomputation()), layers_(layers) {}

  StageBody build(const VirtualStage& stage) {
    for (std::size_t i = 0; i < stage.layers.size();) {
      if (stage.layers[i].group >= 0)
        i = append_group_at(stage.layers, i);
      else
        append_layers(stage.layers[i++]);
    }
    std::vector<std::string> met = stage.met;
    for (Stretch& stretch : body_.stretches)
      stretch.owns_ties = body_.parameters.add(stretch.layer->lowering.state(), stretch.count, met);
    const bool relays = body_.stretches.empty();
    body_.above = relays ? layer(stage.relays, 0, false).above : body_.stretches.back().layer->above;
    body_.below = relays ? body_.above : body_.stretches.front().layer->below;
    return std::move(body_);
  }

 private:
  LoweredLayer& layer(std::int32_t layer_class, std::uint32_t held, bool recomputes) {
    return layers_.of(recomputes ? key_.layer : plain_, static_cast<std::size_t>(layer_class), held);
  }

  void append_layers(const LayerStretch& layers) {
    std::int64_t left = layers.count;
    while (left > 0) {
      LoweredLayer& first = layer(layers.layer_class, held_below_, layers.recomputes);
      const std::uint32_t kept = first.lowering.state().kept_outputs;
      const std::int64_t alike = key_.shares_inputs && kept != held_below_ ? 1 : left;
      body_.stretches.push_back({&first, alike});
      if (key_.shares_inputs) held_below_ = kept;
      left -= alike;
    }
  }

  // Returns the position after the group that begins at `position`.
  std::size_t append_group_at(const std::vector<LayerStretch>& layers, std::size_t position) {
    std::vector<std::int32_t> classes;
    const std::int32_t group = layers[position].group;
    for (; position < layers.size() && layers[position].group == group; ++position)
      classes.insert(classes.end(), static_cast<std::size_t>(layers[position].count), layers[position].layer_class);
    const LayerOf of = [&](std::int32_t layer_class, std::uint32_t held, bool recomputes) -> LoweredLayer& {
      return layer(layer_class, held, recomputes);
    };
    body_.groups.push_back(append_group(classes, held_below_, of, body_.stretches));
    held_below_ = 0;
    for (const Stretch& stretch : body_.groups.back().backward)
      if (!stretch.layer->lowering.state().tied.empty())
        throw wrong("recompute", "layers that share parameters cannot recompute in groups",
                    "use method: block, or groups of 1");
    return position;
  }

  const BodyKey& key_;
  LayerKey plain_;  // of layers that do not recompute
  LayerCache& layers_;
  StageBody body_;
  std::uint32_t held_below_ = 0;  // outputs that the layer below keeps; what arrives is this stage's own copy
};

}  // namespace

StageBody stage_body(const VirtualStage& stage, const BodyKey& key, LayerCache& layers) {
  return BodyBuilder(key, layers).build(stage);
}

}  // namespace cairn::plan
