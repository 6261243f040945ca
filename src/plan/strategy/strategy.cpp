#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/plan/lowering.h"
#include "layer/shared_attention.h"
#include "strategy_check.h"
#include "vocabulary.h"

namespace cairn::plan {

core::ConfigurationError wrong(const char* key, std::string message, std::string hint) {
  return core::ConfigurationError(std::string("strategy.") + key, std::move(message), std::move(hint));
}

Mesh mesh(const Structure& structure) {
  std::array<std::int64_t, k_axes> sizes{1, 1, 1, 1, 1, 1, 1};
  sizes[static_cast<std::size_t>(Axis::tensor)] = structure.tensor;
  sizes[static_cast<std::size_t>(Axis::context)] = structure.context;
  sizes[static_cast<std::size_t>(Axis::data)] = structure.data;
  sizes[static_cast<std::size_t>(Axis::pipeline)] = structure.pipeline;
  return Mesh({structure.order.data(), structure.order.size()}, sizes);
}

Mesh expert_mesh(const Structure& structure) {
  const std::int64_t experts = structure.expert * structure.expert_tensor;
  std::array<std::int64_t, k_axes> sizes{1, 1, 1, 1, 1, 1, 1};
  sizes[static_cast<std::size_t>(Axis::expert_tensor)] = structure.expert_tensor;
  sizes[static_cast<std::size_t>(Axis::expert)] = structure.expert;
  sizes[static_cast<std::size_t>(Axis::expert_data)] = structure.tensor * structure.context * structure.data / experts;
  sizes[static_cast<std::size_t>(Axis::pipeline)] = structure.pipeline;
  return Mesh({structure.expert_order.data(), structure.expert_order.size()}, sizes);
}

std::vector<std::int64_t> even_stages(std::int64_t body_layers, std::int64_t virtual_stages) {
  if (virtual_stages > body_layers)
    throw wrong("pp", fmt::format("{} virtual stages for {} layers", virtual_stages, body_layers),
                fmt::format("use at most {} stages times chunks, or list the layers of each stage, of which some may "
                            "have none, as in [0, 1, ..., 1, 0]",
                            body_layers));
  if (body_layers % virtual_stages != 0)
    throw wrong("stages",
                fmt::format("'even' cannot split {} layers over {} virtual stages", body_layers, virtual_stages),
                fmt::format("write 'balanced', or list the layers of each stage, as in [{}, {}, ...]",
                            body_layers / virtual_stages + 1, body_layers / virtual_stages));
  return std::vector<std::int64_t>(static_cast<std::size_t>(virtual_stages), body_layers / virtual_stages);
}

void check_expert_mesh(const Structure& structure) {
  const std::int64_t ranks = structure.tensor * structure.context * structure.data;
  const std::int64_t experts = structure.expert * structure.expert_tensor;
  if (structure.expert < 1 || structure.expert_tensor < 1 || ranks % experts != 0)
    throw wrong("ep",
                fmt::format("ep x etp = {} x {} does not divide tp x cp x dp = {}", structure.expert,
                            structure.expert_tensor, ranks),
                fmt::format("choose ep x etp among the divisors of {}", ranks));
  if (structure.tensor > 1 && !structure.sequence_parallel)
    throw wrong("sequence_parallel",
                fmt::format("the {} ranks of tp would route the same tokens to experts", structure.tensor),
                "set strategy.sequence_parallel: true, so that each routes its own");
  if (mesh(structure).group(Axis::pipeline).stride != expert_mesh(structure).group(Axis::pipeline).stride)
    throw wrong("expert_order", "puts ranks of different pipeline stages into one group of experts",
                "let pp stand at the same end of order and expert_order");
}

namespace {

// Names of forward operators of body layers, of what stands before a dot in them, and of regions, in the order met.
// Conversions go with the operator whose result they convert.
std::vector<std::string> operator_names(const ir::Model& model) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  };
  for (const ir::LayerClass& layer : model.classes) {
    if (layer.position != ir::Position::body) continue;
    for (std::size_t id = 0; id < layer.graph.forward_count(); ++id) {
      const ir::Operator& op = layer.graph.operators()[id];
      if (op.converts >= 0) continue;
      for (std::size_t dot = op.name.find('.'); dot != std::string::npos; dot = op.name.find('.', dot + 1))
        add(op.name.substr(0, dot));
      add(op.name);
      add(op.region);
    }
  }
  return names;
}

// Whether some token's results depend on others: what scans or convolves the sequence, and attention.
bool mixes_tokens(const ir::Operator& op) {
  if (op.kind == ir::Kind::scan || op.domain.find("key") >= 0) return true;
  const int sequence = op.domain.find("sequence");
  const auto beside_others = [&](const loopnest::Affine& index) {
    return index.terms.size() > 1 && index.uses(static_cast<loopnest::DimId>(sequence));
  };
  return sequence >= 0 && std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
           return std::any_of(access.projection.begin(), access.projection.end(), beside_others);
         });
}

}  // namespace

// Ranks that share a sequence exchange what attention needs of each other, and nothing else.
void StrategyCheck::check_context(const Structure& structure) {
  if (!sequences_) {
    sequences_.emplace();
    for (const ir::LayerClass& layer : model_.classes)
      for (const ir::Operator& op : layer.graph.operators()) {
        sequences_->any = sequences_->any || op.domain.find("sequence") >= 0;
        if (!mixes_tokens(op)) continue;
        sequences_->attends = true;
        if (sequences_->unshared.empty()) sequences_->unshared = cannot_be_shared(layer.graph, op).value_or("");
      }
  }
  if (!sequences_->unshared.empty())
    throw wrong("cp", fmt::format("{}, and no scheme shares that", sequences_->unshared), "set it to 1");
  if (!sequences_->any) throw wrong("cp", "the model has no sequences that ranks could share", "set it to 1");
  if (sequences_->attends && structure.attention.scheme == nullptr)
    throw wrong("attention", "does not say how the ranks of cp share attention", "name a scheme, such as zigzag");
  if (sequences_->attends && structure.attention.grid.ranks() != structure.context)
    throw wrong(
        "attention",
        fmt::format("has a grid of {} ranks, and cp is {}", structure.attention.grid.ranks(), structure.context),
        "make both the same");
  if (structure.tensor_pieces.kind == TensorPieces::Kind::halves)
    throw wrong("overlap.tp", "halves of the tokens do not take turns where ranks of cp share them",
                "use kind: chunked, or cp 1");
}

void StrategyCheck::check_recompute(const Structure& structure) const {
  const RecomputeLayers& layers = structure.recompute_layers;
  if (layers.count < 1) throw wrong("recompute.count", "a group or block of no layer", "use 1 or more");
  for (const LayerRange& range : layers.ranges)
    if (range.first < 0 || range.last < range.first || range.last >= body_layers_)
      throw wrong("recompute.layers",
                  fmt::format("{}..{} is no range of layers of this model", range.first, range.last),
                  fmt::format("layers are counted from 0 to {}", body_layers_ - 1));
  if (layers.method == RecomputeMethod::uniform && layers.count > 1 &&
      (structure.recompute != Recompute::full || !layers.ranges.empty()))
    throw wrong("recompute.method", "groups of layers recompute as a whole and all of them",
                "use kind: full without layers, or groups of 1");
  if (structure.recompute != Recompute::operators) return;
  const std::vector<std::string> known = operator_names(model_);
  for (const std::string& name : structure.recompute_operators) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = core::nearest(name, known);
    throw wrong(
        "recompute.operators", fmt::format("the layers have no operator '{}'", name),
        near.empty() ? fmt::format("they have {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near));
  }
}

void StrategyCheck::check(const Structure& structure) {
  if (structure.tensor < 1 || structure.context < 1 || structure.pipeline < 1 || structure.data < 1 ||
      structure.micro_batch < 1 || structure.micro_batches < 1 || structure.chunks < 1)
    throw wrong("tp", "degrees, micro-batch size and chunks must be at least 1", "use 1 where an axis is not wanted");
  std::int64_t total = 0;
  for (const std::int64_t layers : structure.stage_layers) {
    if (layers < 0)
      throw wrong("stages", "a stage cannot have a negative number of layers", "list counts of 0 or more");
    if (layers > std::numeric_limits<std::int64_t>::max() - total)
      throw wrong("stages", fmt::format("lists more layers than can be counted, the model has {}", body_layers_),
                  "make the list add up");
    total += layers;
  }
  if (structure.context > 1) check_context(structure);
  check_recompute(structure);
  if (total != body_layers_)
    throw wrong("stages", fmt::format("lists {} layers, the model has {}", total, body_layers_),
                "make the list add up");
}

void check_stages(const Structure& structure, std::int64_t virtual_stages) {
  const auto listed = static_cast<std::int64_t>(structure.stage_layers.size());
  if (listed == virtual_stages) return;
  const bool asked = virtual_stages == structure.pipeline * structure.chunks;
  const bool of_chunks = asked && listed % structure.pipeline == 0 && listed > structure.pipeline;
  throw wrong("stages",
              asked ? fmt::format("lists {} virtual stages, but pp x chunks = {}", listed, virtual_stages)
                    : fmt::format("lists {} virtual stages, but a micro-batch of {} passes {}", listed,
                                  structure.schedule, virtual_stages),
              of_chunks ? fmt::format("list one number of layers per virtual stage, or set schedule: {{kind: "
                                      "interleaved-1f1b, chunks: {}}}",
                                      listed / structure.pipeline)
                        : "list one number of layers per virtual stage");
}

}  // namespace cairn::plan
