// The layers lowered so far: one stored copy for every class and key.
#pragma once

#include <memory>
#include <unordered_map>

#include "interned.h"
#include "layer_key.h"
#include "lowered_layer.h"

namespace cairn::plan {

class LayerCache {
 public:
  // `domain`: ranks joined by the fastest links; 0: all.
  LayerCache(const ir::Model& model, std::int64_t sequence, std::int64_t domain, const FrameworkBehaviour& behaviour);

  // `inputs_held`: as in LayerOptions. Throws core::ConfigurationError when a dimension cannot be split evenly.
  LoweredLayer& of(const LayerKey& key, std::size_t layer_class, std::uint32_t inputs_held);
  bool has_experts() const { return has_experts_; }

 private:
  struct Place {
    std::int32_t key = 0;  // number
    std::size_t layer_class = 0;
    std::uint32_t inputs_held = 0;
    friend bool operator==(const Place&, const Place&) = default;
    std::size_t hash() const { return core::Hash::of(key, layer_class, inputs_held); }
  };

  const ir::Model& model_;
  std::int64_t sequence_;
  std::int64_t domain_;
  FrameworkBehaviour behaviour_;
  bool has_experts_;
  Interned<LayerKey> keys_;
  std::unordered_map<Place, std::unique_ptr<LoweredLayer>, KeyHash> layers_;
};

}  // namespace cairn::plan
