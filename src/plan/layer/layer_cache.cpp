#include "layer_cache.h"

#include "cairn/plan/lowering.h"

namespace cairn::plan {

LayerCache::LayerCache(const ir::Model& model, std::int64_t sequence, std::int64_t domain,
                       const FrameworkBehaviour& behaviour)
    : model_(model),
      sequence_(sequence),
      domain_(domain),
      behaviour_(behaviour),
      has_experts_(plan::has_experts(model)) {}

LoweredLayer& LayerCache::of(const LayerKey& key, std::size_t layer_class, std::uint32_t inputs_held) {
  auto& slot = layers_[{.key = keys_.of(key), .layer_class = layer_class, .inputs_held = inputs_held}];
  if (slot) return *slot;
  LayerOptions options = layer_options(key, sequence_, domain_, behaviour_);
  options.inputs_held = inputs_held;
  slot = std::make_unique<LoweredLayer>(model_.classes[layer_class], std::move(options));
  return *slot;
}

}  // namespace cairn::plan
