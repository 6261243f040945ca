#include "layer_cache.h"

#include <algorithm>

#include "cairn/plan/lowering.h"
#include "layer_options.h"

namespace cairn::plan {

LayerCache::LayerCache(const ir::Model& model, std::int64_t sequence, std::int64_t domain)
    : model_(model), sequence_(sequence), domain_(domain), has_experts_(plan::has_experts(model)) {}

LayerCache::Words LayerCache::words(const Strategy& strategy, const Meshes& meshes, Recompute recompute) {
  Words words{strategy.micro_batch,
              word(meshes.dense.group(Axis::tensor)),
              static_cast<std::int64_t>(recompute),
              recompute == Recompute::operators ? list_index(strategy.recompute_operators) : 0,
              strategy.asynchronous_tensor + (strategy.launches_per_peer << 32) +
                  2 * (static_cast<std::int64_t>(strategy.tensor_pieces.kind) + 4 * strategy.tensor_pieces.count),
              strategy.share_saved_inputs + 2 * strategy.sequence_parallel + 4 * strategy.vocab_parallel +
                  8 * strategy.overlap_tensor + 16 * strategy.records_reductions + 64 * strategy.recompute_ends};
  if (has_experts_) {
    words[6] = word(meshes.experts.group(Axis::expert));
    words[7] = word(meshes.experts.group(Axis::expert_tensor));
    words[8] = strategy.expert_copies + (strategy.expert_domains << 24) +
               (static_cast<std::int64_t>(strategy.overlap_experts + 2 * strategy.bilevel_experts) << 48);
  }
  return words;
}

LoweredLayer& LayerCache::of(const Strategy& strategy, const Meshes& meshes, std::size_t layer_class,
                             std::uint32_t inputs_held, bool recomputes) {
  const Recompute recompute = recomputes ? strategy.recompute : Recompute::none;
  const Words depends_on = words(strategy, meshes, recompute);
  std::array<std::int64_t, k_words + 1> key{};
  std::copy(depends_on.begin(), depends_on.end(), key.begin());
  key.back() = static_cast<std::int64_t>(layer_class) + (static_cast<std::int64_t>(inputs_held) << 32);
  auto& slot = layers_[key];
  if (slot) return *slot;
  LayerOptions options = layer_options(strategy, recompute, meshes.dense.group(Axis::tensor), sequence_);
  options.inputs_held = inputs_held;
  if (has_experts_) spread_experts(options, strategy, domain_);
  slot = std::make_unique<LoweredLayer>(model_.classes[layer_class], std::move(options));
  return *slot;
}

std::int64_t LayerCache::list_index(const std::vector<std::string>& list) {
  const auto known = std::find(lists_.begin(), lists_.end(), list);
  if (known != lists_.end()) return known - lists_.begin();
  lists_.push_back(list);
  return static_cast<std::int64_t>(lists_.size()) - 1;
}

}  // namespace cairn::plan
