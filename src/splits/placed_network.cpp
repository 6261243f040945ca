#include "cairn/splits/placed_network.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "asked_network.h"
#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "cairn/models/onnx.h"
#include "cairn/numerics/format_names.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/splits/propagation.h"
#include "complaint.h"

namespace cairn::splits {
namespace {

constexpr std::array<std::string_view, 2> k_documents{"cairn.placements/1", "cairn.stages/1"};
constexpr std::int64_t k_most_counted = 1 << 20;  // samples, devices

std::vector<std::string> graph_names() {
  std::vector<std::string> names;
  for (const std::string_view each : models::network_names()) names.emplace_back(each);
  return names;
}

constexpr config::Notation k_onnx_path{.pattern = "\\.onnx$", .example = "model.onnx"};

}  // namespace

void describe(config::Fields& fields, StageStrategy& stage) {
  fields.counts(
      "axes", stage.axes,
      {.doc = "devices along each axis, outermost first", .required = true, .minimum = 1, .maximum = k_most_counted},
      {.minimum_size = 1, .maximum_size = k_max_mesh_axes});
  fields.map("placements", stage.placements, {.doc = "operator -> what each axis does, in order", .required = true},
             [](config::Value& value, std::string& text) { value.text(text); });
}

void describe(config::Fields& fields, PlacementStrategy& strategy) {
  fields.value("network", strategy.network, {.doc = "the network, or an ONNX file of one", .required = true},
               [](config::Value& value, std::string& network) {
                 value.one_of(models::names_onnx_file(network) ? 1 : 0,
                              {{config::Form::word, [&](config::Value& v) { v.name(network, graph_names()); }},
                               {config::Form::notation, [&](config::Value& v) { v.notation(network, k_onnx_path); }}});
               });
  fields.count("batch", strategy.batch, {.doc = "samples of a step; 0: the network's own", .maximum = k_most_counted});
  fields.name("format", strategy.format, numerics::floating_format_names(),
              {.doc = "of values, parameters and gradients"});
  fields.node("cluster", strategy.cluster,
              {.doc = "a name, {file: ..., overriding keys}, or the whole block", .required = true});
  fields.counts("axes", strategy.axes,
                {.doc = "devices along each axis, outermost first; default: every accelerator, an axis for each level "
                        "of the network",
                 .minimum = 1,
                 .maximum = k_most_counted},
                {.maximum_size = k_max_mesh_axes});
  fields.map("placements", strategy.placements,
             {.doc = "operator -> what each axis does: S(dimension), B, or P(tensor) where summands pass through"},
             [](config::Value& value, std::string& text) { value.text(text); });
  fields.map("annotations", strategy.annotations,
             {.doc = "tensor -> how it lies along each axis, S(dimension), B, or * for open; what is open follows from "
                     "its neighbours (GSPMD)"},
             [](config::Value& value, std::string& text) { value.text(text); });
  fields.count("micro_batches", strategy.micro_batches,
               {.doc = "of the batch, one after another through the stages", .minimum = 1, .maximum = k_most_counted});
  fields.objects("stages", strategy.stages, {.doc = "of a pipeline, in place of axes and placements"});
  fields.check(
      "stages",
      [&strategy] {
        return strategy.stages.empty() ||
               (strategy.axes.empty() && strategy.placements.empty() && strategy.annotations.empty());
      },
      "given beside axes, placements or annotations of the whole network", "leave these out");
  fields.check(
      "micro_batches", [&strategy] { return strategy.micro_batches == 1 || !strategy.stages.empty(); },
      "only stages take one micro-batch after another", "give stages, or leave it out");
  fields.check(
      "annotations", [&strategy] { return strategy.annotations.empty() || strategy.placements.empty(); },
      "given beside placements, which leave nothing open", "leave one of them out");
}

config::Loaded<PlacementStrategy> read_strategy(const config::Node& node) {
  core::Diagnostics diagnostics;
  const config::Node* schema = node.find("schema");
  const config::Node* inner = node.find("strategy");
  const bool is_answer = schema != nullptr && inner != nullptr &&
                         std::find(k_documents.begin(), k_documents.end(), schema->text) != k_documents.end();
  config::Loaded<PlacementStrategy> result =
      config::read_loaded<PlacementStrategy>(is_answer ? *inner : node, {}, diagnostics);
  diagnostics.raise_if_errors();
  std::string& network = result.value.network;
  if (models::names_onnx_file(network)) {
    std::error_code unreadable;
    const std::filesystem::path beside = std::filesystem::path(node.place.file_name()).parent_path() / network;
    if (std::filesystem::exists(beside, unreadable)) network = beside.string();
  }
  return result;
}

PlacedNetwork::PlacedNetwork(const PlacementStrategy& asked, std::int64_t devices, const config::Loader& loader)
    : strategy_(asked) {
  AskedNetwork read = read_asked(asked, loader);
  const hardware::Network& network = read.machine.network;
  cluster_ = read.machine.cluster.value.name;
  strategy_.cluster = std::move(read.reference);
  assumptions_ = std::move(read.assumptions);
  memory_ = read.machine.accelerator.value.usable_memory();
  mesh_ = read.on(asked.axes.empty() ? mesh_of(network, devices > 0 ? devices : network.gpus())
                                     : mesh_of(network, asked.axes));
  strategy_.batch = read.network.batch;
  strategy_.axes.clear();
  for (const MeshAxis& axis : mesh()) strategy_.axes.push_back(axis.devices);
  problem_ = placement_problem(read.network.graph, mesh_->setup());
}

PlacementAnswer PlacedNetwork::explain(std::span<const choice::Option> options) {
  PlacementAnswer answer = splits::explain(problem_, mesh_->setup(), options);
  price_again(*mesh_, answer.works);
  return answer;
}

core::Picoseconds PlacedNetwork::run(const PlacementAnswer& answer) {
  const program::Block block = block_of(answer);
  predict::PriceTable prices(mesh_->setup().pricer);
  return predict::Analytic(prices).alone(block);
}

std::vector<choice::Option> PlacedNetwork::propagated() const {
  std::vector<Annotation> annotations;
  for (const auto& [name, text] : strategy_.annotations) {
    // propagate() refuses a tensor that is not there.
    const std::vector<ir::Tensor>& tensors = problem_.graph->tensors();
    const auto tensor = std::ranges::find(tensors, name, &ir::Tensor::name);
    Annotation& added = annotations.emplace_back();
    added.tensor = name;
    if (tensor != tensors.end()) added.placement = read_placement(*tensor, text, mesh().size(), "annotations." + name);
  }
  return propagate(problem_, mesh(), annotations).options;
}

std::vector<choice::Option> PlacedNetwork::asked() const {
  if (!strategy_.annotations.empty()) return propagated();
  if (strategy_.placements.empty())
    throw core::ConfigurationError("placements", "missing", "give placements, annotations or stages");
  core::Diagnostics diagnostics;
  const auto complain_of = [&](const std::string& name, std::string message, std::string hint) {
    complain(diagnostics, "placements." + name, std::move(message), std::move(hint));
  };
  std::vector<std::string> names;
  for (const PlacedOperator& op : problem_.operators) names.push_back(op.name);
  std::vector<choice::Option> options(problem_.operators.size(), -1);
  for (const auto& [name, text] : strategy_.placements) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      const std::string near = core::nearest(name, names);
      complain_of(name, fmt::format("{} has no such operator", strategy_.network),
                  near.empty() ? "leave it out" : fmt::format("did you mean '{}'?", near));
      continue;
    }
    const auto id = static_cast<std::size_t>(found - names.begin());
    options[id] = problem_.operators[id].option(text);
    if (options[id] < 0) {
      const std::string near = core::nearest(text, problem_.operators[id].texts);
      complain_of(name, fmt::format("it cannot be placed as '{}' on {} axes", text, mesh().size()),
                  fmt::format("use '{}', say", near.empty() ? problem_.operators[id].texts.front() : near));
    }
  }
  if (!diagnostics.has_errors())
    for (std::size_t id = 0; id < options.size(); ++id)
      if (options[id] < 0)
        complain_of(names[id], "missing", "say how each operator is placed, B where it is not split");
  diagnostics.raise_if_errors();
  return options;
}

PlacementStrategy PlacedNetwork::strategy(std::span<const choice::Option> options) const {
  PlacementStrategy result = strategy_;
  result.annotations.clear();
  result.placements.clear();
  for (std::size_t id = 0; id < options.size(); ++id)
    result.placements.emplace_back(problem_.operators[id].name,
                                   problem_.operators[id].texts[static_cast<std::size_t>(options[id])]);
  return result;
}

std::vector<std::string> PlacedNetwork::warnings() { return mesh_->warnings(); }

std::vector<std::string> PlacedNetwork::assumptions() {
  std::vector<std::string> all = assumptions_;
  for (std::string& each : mesh_->assumptions()) all.push_back(std::move(each));
  return all;
}

}  // namespace cairn::splits
