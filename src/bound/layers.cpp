#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/out_of_range.h"
#include "cairn/cost/carried.h"
#include "cairn/cost/shard_pricer.h"
#include "parts.h"

namespace cairn::bound {
namespace {

constexpr std::int64_t k_most_tokens = std::int64_t{1} << 53;  // whole doubles up to it are exact
constexpr std::int64_t k_usual_sequence = 2048;

// The field that makes the tokens too many.
const char* too_long(const LayersRequest& request, std::int64_t sequence) {
  return request.batch > sequence ? "request.batch" : "request.sequence";
}

ir::Model model_of(const LayersRequest& request, const models::TransformerConfig& config) {
  models::BuildOptions options;
  options.kernels.attention =
      request.attention.value_or(config.mla ? models::AttentionKernel::flash2 : models::AttentionKernel::unfused);
  options.activation = options.parameter = request.format;
  return models::build_transformer(config, options);
}

// Classes of layers to be shown, with how often each stands in the model.
std::vector<std::pair<const ir::LayerClass*, std::int64_t>> chosen(const ir::Model& model,
                                                                   const std::optional<std::int64_t>& layer) {
  std::vector<std::pair<const ir::LayerClass*, std::int64_t>> result;
  std::int64_t at = 0;
  for (const ir::LayerRun& run : model.layers) {
    const ir::LayerClass& each = model.classes[static_cast<std::size_t>(run.layer_class)];
    if (!layer) {
      const auto known =
          std::find_if(result.begin(), result.end(), [&](const auto& pair) { return pair.first == &each; });
      if (known == result.end())
        result.emplace_back(&each, run.count);
      else
        known->second += run.count;
    } else if (*layer >= at && *layer < at + run.count) {
      result.emplace_back(&each, 1);
    }
    at += run.count;
  }
  if (result.empty())
    throw core::ConfigurationError("request.layer", fmt::format("there is no layer {}", *layer),
                                   fmt::format("give 0 to {}", at - 1));
  return result;
}

// Predicted times of all operators.
std::vector<double> times(const ir::Graph& graph, const cost::LayerFloor& floor, const loopnest::Sizes& sizes,
                          cost::ShardPricer& pricer) {
  std::vector<double> result;
  for (std::size_t i = 0; i < floor.operators.size(); ++i) {
    const ir::Operator& op = graph.operators()[i];
    result.push_back(pricer.price({.op = &op, .graph = &graph, .box = op.domain.box(sizes)}).total_s);
  }
  return result;
}

}  // namespace

LayersAnswer answer(const LayersRequest& request) {
  LayersAnswer answer;
  answer.format = std::string(numerics::name(request.format));
  answer.bytes_per_word = numerics::bytes_per_element(request.format);
  answer.on_chip_bytes = static_cast<double>(whole_words(request.fast, answer.bytes_per_word)) * answer.bytes_per_word;
  answer.backward = request.backward;

  const std::int64_t sequence =
      request.sequence.value_or(std::min(k_usual_sequence, request.model.max_positions.value_or(k_usual_sequence)));
  require_one(sequence, "request.sequence", "tokens");
  require_one(request.batch, "request.batch", "sequences");
  models::validate(request.model);
  const models::TransformerConfig config = models::for_sequence(request.model, sequence);
  const ir::Model model = model_of(request, config);
  if (request.batch > k_most_tokens / sequence)
    throw core::ConfigurationError(too_long(request, sequence),
                                   fmt::format("{} x {} tokens are more than the {} that are counted one by one",
                                               request.batch, sequence, k_most_tokens),
                                   "give fewer tokens");
  const loopnest::Sizes sizes{.batch = request.batch, .sequence = sequence};
  answer.what = fmt::format("{}, {} x {} tokens", config.name, request.batch, sequence);
  std::optional<cost::Calibration> calibration;
  std::optional<cost::ShardPricer> pricer;
  if (request.accelerator) {
    answer.machine = machine_of(*request.accelerator, request.format);
    if (request.calibration) {
      calibration = cost::carried(*request.calibration, *request.accelerator).calibration;
      pricer.emplace(*calibration, *request.accelerator);
    }
  }
  for (const auto& [each, count] : chosen(model, request.layer)) {
    LayerAnswer layer{.name = each->name, .count = count, .floor = {}, .time_s = {}};
    try {
      layer.floor = cost::layer_floor(each->graph, sizes, answer.on_chip_bytes, request.backward);
      if (pricer) layer.time_s = times(each->graph, layer.floor, sizes, *pricer);
    } catch (const core::OutOfRange& problem) {
      throw problem.of(each->name).at(too_long(request, sequence), "give fewer tokens");
    }
    answer.layers.push_back(std::move(layer));
  }
  return answer;
}

}  // namespace cairn::bound
