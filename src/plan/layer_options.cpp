#include "layer_options.h"

#include "cairn/plan/lowering.h"

namespace cairn::plan {

LayerOptions layer_options(const Strategy& strategy, Recompute recompute, const Group& tensor, std::int64_t sequence) {
  LayerOptions options{.sizes = {.batch = strategy.micro_batch, .sequence = sequence},
                       .rules = split_rules(strategy),
                       .groups = {tensor},
                       .recompute = {},
                       .recompute_all = recompute == Recompute::full,
                       .recompute_ends = strategy.recompute_ends,
                       .recompute_second = recompute == Recompute::per_op,
                       .share_saved_inputs = strategy.share_saved_inputs,
                       .tensor_overlap = strategy.overlap_tensor,
                       .asynchronous = strategy.asynchronous_tensor,
                       .pieces = strategy.tensor_pieces,
                       .launches_per_peer = strategy.launches_per_peer,
                       .records_reductions = strategy.records_reductions};
  if (recompute == Recompute::attention) options.recompute.emplace_back("attention");
  if (recompute == Recompute::operators) options.recompute = strategy.recompute_operators;
  return options;
}

void spread_experts(LayerOptions& options, const Strategy& strategy, std::int64_t domain) {
  options.sizes.tokens = options.sizes.batch * options.sizes.sequence / strategy.tensor;
  options.sizes.source = strategy.expert;
  options.sizes.peer = strategy.expert_tensor;
  const ExpertSplit split = expert_split(strategy, domain);
  options.rules.insert(options.rules.end(), split.rules.begin(), split.rules.end());
  options.groups.insert(options.groups.end(), split.groups.begin(), split.groups.end());
  options.expert_overlap = strategy.overlap_experts;
  options.across = share_across(strategy, domain);
}

}  // namespace cairn::plan
