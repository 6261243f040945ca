#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/plan/lowering.h"
#include "strategy_check.h"

namespace cairn::plan {

core::ConfigurationError wrong(const char* key, std::string message, std::string hint) {
  return core::ConfigurationError(std::string("strategy.") + key, std::move(message), std::move(hint));
}

std::vector<SplitRule> split_rules(const Strategy& strategy) {
  SplitRule rule{.axis = Axis::tensor, .size = strategy.tensor, .dims = {"kv_heads", "ffn"}};
  if (strategy.vocab_parallel) rule.dims.push_back("vocab");
  if (strategy.sequence_parallel) rule.dims.push_back("sequence");
  return {rule};
}

std::vector<SplitRule> expert_rules(const Strategy& strategy) {
  return {{.axis = Axis::expert, .size = strategy.expert, .dims = {"source", "experts"}},
          {.axis = Axis::expert_tensor, .size = strategy.expert_tensor, .dims = {"peer", "expert_ffn"}}};
}

namespace {

bool has_experts(const ir::Graph& graph) {
  const std::vector<SplitRule> rules = expert_rules(Strategy{});
  const auto operators = std::span(graph.operators()).first(graph.forward_count());
  return std::any_of(operators.begin(), operators.end(), [&](const ir::Operator& op) {
    return std::any_of(rules.begin(), rules.end(), [&](const SplitRule& rule) { return concerns(rule, op); });
  });
}

}  // namespace

bool has_experts(const ir::Model& model) {
  return std::any_of(model.classes.begin(), model.classes.end(),
                     [](const ir::LayerClass& layer) { return has_experts(layer.graph); });
}

Mesh mesh(const Strategy& strategy) {
  std::array<std::int64_t, k_axes> sizes{1, 1, 1, 1, 1, 1, 1};
  sizes[static_cast<std::size_t>(Axis::tensor)] = strategy.tensor;
  sizes[static_cast<std::size_t>(Axis::data)] = strategy.data;
  sizes[static_cast<std::size_t>(Axis::pipeline)] = strategy.pipeline;
  return Mesh(strategy.order, sizes);
}

Mesh expert_mesh(const Strategy& strategy) {
  const std::int64_t experts = strategy.expert * strategy.expert_tensor;
  std::array<std::int64_t, k_axes> sizes{1, 1, 1, 1, 1, 1, 1};
  sizes[static_cast<std::size_t>(Axis::expert_tensor)] = strategy.expert_tensor;
  sizes[static_cast<std::size_t>(Axis::expert)] = strategy.expert;
  sizes[static_cast<std::size_t>(Axis::expert_data)] = strategy.tensor * strategy.data / experts;
  sizes[static_cast<std::size_t>(Axis::pipeline)] = strategy.pipeline;
  return Mesh(strategy.expert_order, sizes);
}

std::vector<std::int64_t> even_stages(std::int64_t body_layers, std::int64_t virtual_stages) {
  if (virtual_stages > body_layers)
    throw wrong("pp", fmt::format("{} virtual stages for {} layers", virtual_stages, body_layers),
                fmt::format("use at most {} stages times chunks", body_layers));
  if (body_layers % virtual_stages != 0)
    throw wrong("stages",
                fmt::format("'even' cannot split {} layers over {} virtual stages", body_layers, virtual_stages),
                fmt::format("write 'balanced', or list the layers of each stage, as in [{}, {}, ...]",
                            body_layers / virtual_stages + 1, body_layers / virtual_stages));
  return std::vector<std::int64_t>(static_cast<std::size_t>(virtual_stages), body_layers / virtual_stages);
}

void check_expert_mesh(const Strategy& strategy) {
  const std::int64_t ranks = strategy.tensor * strategy.data;
  const std::int64_t experts = strategy.expert * strategy.expert_tensor;
  if (strategy.expert < 1 || strategy.expert_tensor < 1 || ranks % experts != 0)
    throw wrong("ep",
                fmt::format("ep x etp = {} x {} does not divide tp x cp x dp = {}", strategy.expert,
                            strategy.expert_tensor, ranks),
                fmt::format("choose ep x etp among the divisors of {}", ranks));
  if (mesh(strategy).group(Axis::pipeline).stride != expert_mesh(strategy).group(Axis::pipeline).stride)
    throw wrong("expert_order", "puts ranks of different pipeline stages into one group of experts",
                "let pp stand at the same end of order and expert_order");
}

void check(const Strategy& strategy, const ir::Model& model) {
  if (strategy.tensor < 1 || strategy.pipeline < 1 || strategy.data < 1 || strategy.micro_batch < 1 ||
      strategy.micro_batches < 1 || strategy.chunks < 1)
    throw wrong("tp", "degrees, micro-batch size and chunks must be at least 1", "use 1 where an axis is not wanted");
  const std::int64_t virtual_stages = strategy.pipeline * strategy.chunks;
  if (static_cast<std::int64_t>(strategy.stage_layers.size()) != virtual_stages)
    throw wrong(
        "stages",
        fmt::format("lists {} virtual stages, but pp x chunks = {}", strategy.stage_layers.size(), virtual_stages),
        "list one number of layers per virtual stage");
  std::int64_t total = 0;
  for (const std::int64_t layers : strategy.stage_layers) {
    if (layers < 0)
      throw wrong("stages", "a stage cannot have a negative number of layers", "list counts of 0 or more");
    total += layers;
  }
  if (total != model.body_layers())
    throw wrong("stages", fmt::format("lists {} layers, the model has {}", total, model.body_layers()),
                "make the list add up");
}

}  // namespace cairn::plan
