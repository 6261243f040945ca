// How the layers of a strategy are split; see the functions of these names in lowering.h.
#include <algorithm>

#include "cairn/plan/lowering.h"
#include "layer_key.h"

namespace cairn::plan {

std::vector<SplitRule> split_rules(const Structure& structure) {
  return {tensor_rule(structure.tensor, structure.vocab_parallel, structure.sequence_parallel)};
}

std::int64_t experts_in_domain(const Structure& structure, std::int64_t domain) {
  return experts_in_domain(expert_key(structure, expert_mesh(structure)), domain);
}

ExpertSplit expert_split(const Structure& structure, std::int64_t domain) {
  return expert_split(expert_key(structure, expert_mesh(structure)), domain);
}

double share_across(const Structure& structure, std::int64_t domain) {
  return share_across(expert_key(structure, expert_mesh(structure)), domain);
}

double share_sent(const Structure& structure, std::int64_t domain) {
  return share_sent(expert_key(structure, expert_mesh(structure)), domain);
}

namespace {

bool has_experts(const ir::Graph& graph) {
  const std::vector<SplitRule> rules = expert_split(ExpertKey{}, 0).rules;
  return std::any_of(graph.tensors().begin(), graph.tensors().end(), [&](const ir::Tensor& tensor) {
    return std::any_of(rules.begin(), rules.end(), [&](const SplitRule& rule) { return concerns(rule, tensor); });
  });
}

}  // namespace

bool has_experts(const ir::Model& model) {
  return std::any_of(model.classes.begin(), model.classes.end(),
                     [](const ir::LayerClass& layer) { return has_experts(layer.graph); });
}

}  // namespace cairn::plan
