#include "layer_key.h"

#include <algorithm>

#include "cairn/plan/lowering.h"

namespace cairn::plan {

LayerKey LayerKey::without_recomputation() const {
  LayerKey key = *this;
  key.recompute = Recompute::none;
  key.recompute_operators.clear();
  return key;
}

std::size_t LayerKey::hash() const {
  core::Hash hash;
  hash.add(micro_batch).add(static_cast<std::uint8_t>(recompute)).add(sequence_parallel);
  hash.add(vocab_parallel).add(settings.overlap_tensor).add(settings.asynchronous_tensor);
  hash.add(settings.share_saved_inputs);
  add(hash, tensor);
  add(hash, context.group);
  const sequence::Grid& grid = context.sharing.grid;
  hash.add(grid.head_ranks).add(grid.rows).add(grid.window);
  if (experts) {
    add(hash, experts->expert);
    add(hash, experts->expert_tensor);
  }
  return hash.value();
}

ExpertKey expert_key(const Structure& structure, const Mesh& experts) {
  return {.expert = experts.group(Axis::expert),
          .expert_tensor = experts.group(Axis::expert_tensor),
          .bilevel = structure.bilevel_experts,
          .domain_limit = structure.expert_domain_limit,
          .experts = structure.experts,
          .copies = structure.expert_copies,
          .merged = structure.merged_copies,
          .overlap = structure.overlap_experts};
}

LayerKey layer_key(const Structure& structure, const Meshes& meshes, bool has_experts) {
  LayerKey key{.micro_batch = structure.micro_batch,
               .settings = structure,
               .context = {.group = meshes.dense.group(Axis::context), .sharing = structure.attention},
               .tensor = meshes.dense.group(Axis::tensor),
               .sequence_parallel = structure.sequence_parallel,
               .vocab_parallel = structure.vocab_parallel,
               .recompute = structure.recompute};
  if (structure.recompute == Recompute::operators) key.recompute_operators = structure.recompute_operators;
  if (has_experts) key.experts = expert_key(structure, meshes.experts);
  return key;
}

SplitRule tensor_rule(std::int64_t tensor, bool vocab_parallel, bool sequence_parallel) {
  SplitRule rule{.axis = Axis::tensor, .size = tensor, .dims = {"ways", "kv_heads", "state_groups", "ffn"}};
  if (vocab_parallel) rule.dims.push_back("vocab");
  if (sequence_parallel) rule.dims.push_back("sequence");
  return rule;
}

std::int64_t experts_in_domain(const ExpertKey& key, std::int64_t domain) {
  const Group& group = key.expert;
  if (domain == 0) return group.size;
  const std::int64_t inside = std::clamp<std::int64_t>(domain / group.stride, 1, group.size);
  return group.size % inside == 0 ? inside : group.size;
}

ExpertSplit expert_split(const ExpertKey& key, std::int64_t domain) {
  const Group& all = key.expert;
  const std::vector<std::string> dims{"source", "experts"};
  const std::int64_t inside = experts_in_domain(key, domain);
  ExpertSplit result;
  const auto add = [&](const Group& group) {
    result.rules.push_back({.axis = Axis::expert, .size = group.size, .dims = dims});
    result.groups.push_back(group);
  };
  if (key.bilevel && inside > 1 && inside < all.size) {
    add({.axis = Axis::expert, .size = all.size / inside, .stride = all.stride * inside});
    add({.axis = Axis::expert, .size = inside, .stride = all.stride});
  } else {
    add(all);
  }
  result.rules.push_back({.axis = Axis::expert_tensor, .size = key.expert_tensor.size, .dims = {"peer", "expert_ffn"}});
  result.groups.push_back(key.expert_tensor);
  return result;
}

namespace {

// The chance that none of the `held` experts of a place is among the `copies` that a token chooses of `experts`.
double missed(std::int64_t held, std::int64_t experts, std::int64_t copies) {
  double chance = 1.0;
  for (std::int64_t i = 0; i < copies; ++i) {
    if (experts - held <= i) return 0.0;
    chance *= static_cast<double>(experts - held - i) / static_cast<double>(experts - i);
  }
  return chance;
}

// Expected distinct places of a token's copies; the experts lie as evenly as whole ones can, `places` or more of them.
double distinct(std::int64_t places, std::int64_t experts, std::int64_t copies) {
  if (experts == places) return static_cast<double>(std::min(copies, experts));
  const std::int64_t held = experts / places;
  const std::int64_t fuller = experts % places;
  double result = static_cast<double>(places - fuller) * (1.0 - missed(held, experts, copies));
  if (fuller > 0) result += static_cast<double>(fuller) * (1.0 - missed(held + 1, experts, copies));
  return std::min(result, static_cast<double>(copies));
}

std::int64_t experts_of(const ExpertKey& key) { return std::max(key.experts, key.expert.size); }

}  // namespace

double share_across(const ExpertKey& key, std::int64_t domain) {
  if (key.domain_limit == 0 && !key.merged) return 1.0;
  const std::int64_t domains = key.expert.size / experts_in_domain(key, domain);
  const double most = static_cast<double>(key.domain_limit == 0 ? domains : key.domain_limit);
  const double crossings = std::min(distinct(domains, experts_of(key), key.copies), most);
  return std::min(1.0, crossings / (static_cast<double>(key.copies) * share_sent(key, domain)));
}

double share_sent(const ExpertKey& key, std::int64_t domain) {
  if (!key.merged) return 1.0;
  const std::int64_t inside = experts_in_domain(key, domain);
  const std::int64_t domains = key.expert.size / inside;
  const std::int64_t reached = key.domain_limit == 0 ? domains : std::min(domains, key.domain_limit);
  const std::int64_t experts = experts_of(key) * reached / domains;
  return distinct(reached * inside, experts, key.copies) / static_cast<double>(key.copies);
}

namespace {

void spread_experts(LayerOptions& options, const ExpertKey& key, std::int64_t tensor, std::int64_t domain) {
  options.sizes.tokens = options.sizes.batch * options.sizes.sequence / tensor;
  options.sizes.source = key.expert.size;
  options.sizes.peer = key.expert_tensor.size;
  const ExpertSplit split = expert_split(key, domain);
  options.rules.insert(options.rules.end(), split.rules.begin(), split.rules.end());
  options.groups.insert(options.groups.end(), split.groups.begin(), split.groups.end());
  options.expert_overlap = key.overlap;
  options.across = share_across(key, domain);
  options.sent = share_sent(key, domain);
}

}  // namespace

LayerOptions layer_options(const LayerKey& key, std::int64_t sequence, std::int64_t domain,
                           const FrameworkBehaviour& behaviour) {
  LayerOptions options{.sizes = {.batch = key.micro_batch, .sequence = sequence / key.context.group.size},
                       .rules = {tensor_rule(key.tensor.size, key.vocab_parallel, key.sequence_parallel)},
                       .groups = {key.tensor},
                       .settings = key.settings,
                       .context = key.context,
                       .recompute = key.recompute_operators,
                       .recompute_all = key.recompute == Recompute::full,
                       .recompute_second = key.recompute == Recompute::per_op,
                       .issues_per_peer = key.issues_per_peer,
                       .behaviour = behaviour};
  if (key.recompute == Recompute::attention) options.recompute.emplace_back("attention");
  if (key.experts) spread_experts(options, *key.experts, key.tensor.size, domain);
  return options;
}

}  // namespace cairn::plan
