// The layers lowered so far: one stored copy for every class and everything a layer depends on.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cairn/plan/strategy.h"
#include "lowered_layer.h"
#include "vocabulary.h"
#include "words_hash.h"

namespace cairn::plan {

// The meshes of a strategy; `experts` is of size 1 where the model has none.
struct Meshes {
  Mesh dense;
  Mesh experts;
};

class LayerCache {
 public:
  static constexpr std::size_t k_words = 9;
  using Words = std::array<std::int64_t, k_words>;

  // `domain`: ranks joined by the fastest links; 0: all.
  LayerCache(const ir::Model& model, std::int64_t sequence, std::int64_t domain);

  // What of a strategy its layers depend on.
  Words words(const Strategy& strategy, const Meshes& meshes, Recompute recompute);
  // `recomputes`: the strategy's recomputation applies to this layer. Throws core::ConfigurationError when a dimension
  // cannot be split evenly.
  LoweredLayer& of(const Strategy& strategy, const Meshes& meshes, std::size_t layer_class, std::uint32_t inputs_held,
                   bool recomputes);
  bool has_experts() const { return has_experts_; }

 private:
  std::int64_t list_index(const std::vector<std::string>& list);

  const ir::Model& model_;
  std::int64_t sequence_;
  std::int64_t domain_;
  bool has_experts_;
  std::vector<std::vector<std::string>> lists_;  // of operators to recompute met so far
  std::unordered_map<std::array<std::int64_t, k_words + 1>, std::unique_ptr<LoweredLayer>, WordsHash> layers_;
};

}  // namespace cairn::plan
