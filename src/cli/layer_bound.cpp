#include "layer_bound.h"

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/core/out_of_range.h"
#include "cairn/cost/carried.h"
#include "cairn/cost/shard_pricer.h"
#include "cairn/models/huggingface.h"
#include "cairn/models/transformer.h"
#include "cairn/numerics/format.h"
#include "cairn/report/layer_bound.h"
#include "exit_code.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

constexpr std::int64_t k_most_tokens = std::int64_t{1} << 53;  // whole doubles up to it are exact
constexpr std::int64_t k_usual_sequence = 2048;

models::AttentionKernel attention(const std::string& name, bool latent) {
  if (name == "flash2" || (name.empty() && latent)) return models::AttentionKernel::flash2;
  return name.empty() || name == "unfused" ? models::AttentionKernel::unfused : models::AttentionKernel::fused_softmax;
}

models::TransformerConfig read_config(const BoundArguments& arguments, Context& context, std::int64_t& sequence) {
  core::Diagnostics diagnostics;
  models::TransformerConfig config =
      models::read_model(config::make_scalar(arguments.model, {}), context.loader, diagnostics);
  diagnostics.raise_if_errors();
  sequence = arguments.sequence > 0 ? arguments.sequence
                                    : std::min(k_usual_sequence, config.max_positions.value_or(k_usual_sequence));
  models::validate(config);
  return models::for_sequence(std::move(config), sequence);
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
    throw core::ConfigurationError("--layer", fmt::format("there is no layer {}", *layer),
                                   fmt::format("give 0 to {}", at - 1));
  return result;
}

// Predicted times of all operators, where the accelerator's kernels were calibrated.
std::vector<double> times(const ir::Graph& graph, const cost::LayerFloor& floor, const loopnest::Sizes& sizes,
                          cost::ShardPricer& pricer) {
  std::vector<double> result;
  for (std::size_t i = 0; i < floor.operators.size(); ++i) {
    const ir::Operator& op = graph.operators()[i];
    result.push_back(pricer.price({.op = &op, .graph = &graph, .box = op.domain.box(sizes)}).total_s);
  }
  return result;
}

std::optional<cost::Calibration> calibration_of(const std::string& accelerator, const Context& context) {
  const std::vector<std::string> known = context.loader.names("calibration");
  if (std::find(known.begin(), known.end(), accelerator) == known.end()) return {};
  return cost::load_calibration(context.loader, accelerator);
}

}  // namespace

int bound_layers(const BoundArguments& arguments, const std::optional<hardware::Accelerator>& accelerator,
                 double fast_bytes, Context& context) {
  std::int64_t sequence = 0;
  const models::TransformerConfig config = read_config(arguments, context, sequence);
  const numerics::Format format = numerics::parse_format(arguments.format);
  models::BuildOptions options;
  options.kernels.attention = attention(arguments.attention, config.mla.has_value());
  options.activation = options.parameter = format;
  const ir::Model model = models::build_transformer(config, options);
  if (arguments.batch > k_most_tokens / sequence)
    throw core::ConfigurationError(arguments.batch > sequence ? "--batch" : "--seq",
                                   fmt::format("{} x {} tokens are more than the {} that are counted one by one",
                                               arguments.batch, sequence, k_most_tokens),
                                   "give fewer tokens");
  const loopnest::Sizes sizes{.batch = arguments.batch, .sequence = sequence};

  report::LayersAnswer answer;
  answer.what = fmt::format("{}, {} x {} tokens", config.name, arguments.batch, sequence);
  answer.on_chip_bytes = fast_bytes;
  answer.format = std::string(numerics::name(format));
  answer.bytes_per_word = numerics::bytes_per_element(format);
  answer.backward = arguments.backward;
  std::optional<cost::Calibration> calibration;
  std::optional<cost::ShardPricer> pricer;
  if (accelerator) {
    const auto peak = accelerator->matrix_peak(format);
    answer.machine = report::BoundMachine{.name = accelerator->name,
                                          .bytes_per_s = accelerator->device_memory().bandwidth->base(),
                                          .flop_per_s = peak ? std::optional(peak->base()) : std::nullopt};
    calibration = calibration_of(arguments.accelerator, context);
    if (calibration) calibration = cost::carried(std::move(*calibration), *accelerator).calibration;
    if (calibration) pricer.emplace(*calibration, *accelerator);
  }
  for (const auto& [each, count] : chosen(model, arguments.layer)) {
    report::LayerAnswer layer{.name = each->name, .count = count, .floor = {}, .time_s = {}};
    try {
      layer.floor = cost::layer_floor(each->graph, sizes, fast_bytes, arguments.backward);
      if (pricer) layer.time_s = times(each->graph, layer.floor, sizes, *pricer);
    } catch (const core::OutOfRange& problem) {
      throw problem.of(each->name).at(arguments.batch > sequence ? "--batch" : "--seq", "give fewer tokens");
    }
    answer.layers.push_back(std::move(layer));
  }
  Output output(arguments.result.output, context.read);
  output.write(in_form(
      arguments.result, [&] { return report::json(answer, context.tool); },
      [&] { return report::text(answer, {.color = context.color(output)}); }));
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
