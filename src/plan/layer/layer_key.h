// Cache key of a lowered layer: the settings of a strategy that its blocks depend on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/plan/framework_behaviour.h"
#include "cairn/plan/layer.h"
#include "cairn/plan/lowering.h"
#include "cairn/plan/strategy.h"
#include "interned.h"
#include "vocabulary.h"

namespace cairn::plan {

// The meshes of a strategy; `experts` is of size 1 where the model has none.
struct Meshes {
  Mesh dense;
  Mesh experts;
};

// How experts are spread over ranks and tokens sent to them; members as in Strategy.
struct ExpertKey {
  Group expert;
  Group expert_tensor;
  bool bilevel = false;
  std::int64_t domain_limit = 0;
  std::int64_t experts = 0;
  std::int64_t copies = 1;
  bool merged = false;
  bool overlap = false;
  friend bool operator==(const ExpertKey&, const ExpertKey&) = default;
};

struct LayerKey {
  std::int64_t micro_batch = 1;
  LayerSettings settings = {};
  ContextSharing context = {};
  Group tensor;
  bool sequence_parallel = false;
  bool vocab_parallel = false;
  Recompute recompute = Recompute::none;
  std::vector<std::string> recompute_operators = {};  // of Recompute::operators
  // The one of FrameworkBehaviour that concerns `tensor`, and pipeline messages cross domains.
  bool issues_per_peer = false;
  std::optional<ExpertKey> experts = {};

  // The same layer, all of whose activations are kept.
  LayerKey without_recomputation() const;
  friend bool operator==(const LayerKey&, const LayerKey&) = default;
  std::size_t hash() const;
};
ExpertKey expert_key(const Structure& structure, const Mesh& experts);
LayerKey layer_key(const Structure& structure, const Meshes& meshes, bool has_experts);

// The split rule of the tensor axis.
SplitRule tensor_rule(std::int64_t tensor, bool vocab_parallel, bool sequence_parallel);
// See the functions of these names in lowering.h. `domain`: ranks joined by the fastest links, 0: all.
ExpertSplit expert_split(const ExpertKey& key, std::int64_t domain);
std::int64_t experts_in_domain(const ExpertKey& key, std::int64_t domain);
double share_across(const ExpertKey& key, std::int64_t domain);
double share_sent(const ExpertKey& key, std::int64_t domain);

LayerOptions layer_options(const LayerKey& key, std::int64_t sequence, std::int64_t domain,
                           const FrameworkBehaviour& behaviour);

}  // namespace cairn::plan
