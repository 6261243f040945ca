#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/config/read.h"
#include "cairn/core/format_units.h"
#include "cairn/core/json_text.h"
#include "cairn/core/printable.h"
#include "cairn/experiment/job.h"
#include "cairn/hardware/files.h"
#include "cairn/models/huggingface.h"
#include "cairn/models/transformer.h"
#include "cairn/software/files.h"
#include "context.h"
#include "exit_code.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int k_indent = 2;

void write_document(const Json& document, Output& output) { output.write(core::json_text(document, k_indent) + "\n"); }

// One block of an experiment with everything it names laid in.
struct Block {
  std::string name;
  std::vector<config::ResolvedKey> keys;
};

// Origins of a block that was read below `path` of another, by its own keys.
config::Origins below(const config::Origins& origins, const std::string& path) {
  config::Origins result;
  for (config::Origin origin : origins.all()) {
    if (origin.key_path.starts_with(path + ".")) origin.key_path.erase(0, path.size() + 1);
    result.add(std::move(origin));
  }
  return result;
}

template <class T>
Block block(std::string name, const T& value, const config::Origins& origins, const std::string& path = {}) {
  return {std::move(name), config::resolved_keys(value, below(origins, path))};
}

std::vector<Block> read_blocks(const ConfigShowArguments& arguments, const Context& context) {
  const experiment::LoadedExperiment loaded =
      experiment::load(context.loader, arguments.experiment, arguments.overrides);
  core::Diagnostics diagnostics;
  const experiment::Experiment& e = loaded.experiment;
  const models::TransformerConfig model = models::read_model(e.model, context.loader, diagnostics);
  const hardware::Machine machine = hardware::read_machine(context.loader, e.cluster, "cluster", diagnostics);
  const auto precision = software::read_precision(context.loader, e.precision, "training.precision", diagnostics);
  const auto framework = software::read_framework(context.loader, e.framework, "training.framework", diagnostics);
  diagnostics.raise_if_errors();
  std::vector<Block> blocks;
  blocks.push_back(block("experiment", e, loaded.origins));
  blocks.push_back(block("model", model, config::Origins{}));
  blocks.push_back(block("cluster", machine.cluster.value, machine.cluster.origins, "cluster"));
  blocks.push_back(block("accelerator", machine.accelerator.value, machine.accelerator.origins, "cluster.accelerator"));
  blocks.push_back(block("precision", precision.value, precision.origins, "training.precision"));
  blocks.push_back(block("framework", framework.value, framework.origins, "training.framework"));
  return blocks;
}

// Where a value comes from. A model may have been translated from a file of others, so its keys have no lines.
std::string origin_of(const Block& block, const config::ResolvedKey& key) {
  return block.name == "model" ? std::string("the model's file") : key.origin.to_string();
}

Json origin_document(const std::vector<Block>& blocks) {
  Json document{{"schema", "cairn.config/1"}, {"keys", Json::array()}};
  for (const Block& block : blocks)
    for (const config::ResolvedKey& key : block.keys)
      document["keys"].push_back({{"block", block.name},
                                  {"key", key.key_path},
                                  {"value", Json::parse(key.value)},
                                  {"from", origin_of(block, key)},
                                  {"source", std::string(config::name(key.origin.source))},
                                  {"ref", key.origin.reference}});
  return document;
}

std::string origin_text(const std::vector<Block>& blocks) {
  constexpr std::size_t k_key_width = 40;
  constexpr std::size_t k_value_width = 28;
  std::string text;
  for (const Block& block : blocks) {
    text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", block.name);
    for (const config::ResolvedKey& key : block.keys) {
      const std::string source =
          key.origin.source == config::Source::unstated ? "" : fmt::format("  ({})", config::name(key.origin.source));
      text += fmt::format("  {:<{}} {:<{}} {}{}\n", key.key_path, k_key_width, key.value, k_value_width,
                          origin_of(block, key), source);
    }
  }
  return text;
}

// As `run` shows it, and to the last one.
std::string count_text(std::int64_t count) {
  return fmt::format("{} ({})", core::format_count(static_cast<double>(count)), count);
}

std::string attention_text(const models::AttentionPattern& pattern) {
  switch (pattern.kind) {
    case models::AttentionKind::full:
      return "full";
    case models::AttentionKind::nope:
      return "full without rotation";
    case models::AttentionKind::sliding:
      return fmt::format("a window of {}", pattern.window);
    case models::AttentionKind::chunked:
      return fmt::format("chunks of {}", pattern.window);
    case models::AttentionKind::mla:
      return "latent";
    case models::AttentionKind::linear:
      return "linear";
    case models::AttentionKind::delta:
      return "a delta rule";
    case models::AttentionKind::mamba2:
      return "a state-space mixer";
    case models::AttentionKind::none:
      return "an MLP alone";
  }
  return {};
}

// How many layers attend in which way; empty where all do in one.
std::string layers_text(const models::TransformerConfig& config) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  std::int64_t pattern = 0;
  for (const models::BlockPattern& block : config.blocks) {
    const std::string text = attention_text(config.attention_of(block));
    const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == text; });
    (found == counts.end() ? counts.emplace_back(text, 0) : *found).second += block.repeat;
    pattern += block.repeat;
  }
  std::string text;
  if (counts.size() > 1)
    for (const auto& [name, count] : counts)
      text += fmt::format("{}{} with {}", text.empty() ? "" : ", ", count * (config.layers / pattern), name);
  return text;
}

std::vector<std::pair<std::string_view, std::string>> model_rows(const models::TransformerConfig& config,
                                                                 const models::ParameterCount& parameters) {
  std::vector<std::pair<std::string_view, std::string>> rows{
      {"parameters", fmt::format("{} total, {} active", count_text(parameters.total), count_text(parameters.active))}};
  const auto row = [&](std::string_view name, std::string text) { rows.emplace_back(name, std::move(text)); };
  if (parameters.prediction > 0)
    row("further tokens", fmt::format("{}, {} parameters more in training", config.prediction_depth(),
                                      count_text(parameters.prediction)));
  row("layers", fmt::format("{} of width {}", config.layers, config.hidden));
  if (config.ways > 1) row("ways", fmt::format("{} side by side, heads of all together", config.ways));
  if (config.heads > 0)
    row("attention",
        fmt::format("{} heads of {}, {} key-value heads", config.heads, config.head_size(), config.kv_head_count()));
  if (std::string text = layers_text(config); !text.empty()) row("", std::move(text));
  if (const auto& mla = config.mla)
    row("latent", fmt::format("keys and values through {}, queries {}; a head's key {} + {} rotated, its value {}",
                              mla->kv_lora, mla->q_lora > 0 ? fmt::format("through {}", mla->q_lora) : "directly",
                              mla->nope_dim, mla->rope_dim, mla->v_dim));
  if (const auto& delta = config.delta)
    row("delta rule",
        fmt::format("{} key heads of {}, {} value heads of {}, convolution over {} tokens", delta->key_heads,
                    delta->key_dim, delta->value_heads, delta->value_dim, delta->convolution));
  if (const auto& mixer = config.mamba2)
    row("state space", fmt::format("{} heads of {} x {}, {} {}, chunks of {}", config.state_heads(), mixer->head_dim,
                                   mixer->state, mixer->groups, mixer->groups == 1 ? "group" : "groups", mixer->chunk));
  if (const auto& moe = config.moe)
    row("experts",
        fmt::format("{} of width {}, {} for each token{}", moe->experts, moe->ffn, moe->top_k,
                    moe->shared_experts > 0 ? fmt::format(", {} shared", moe->shared_experts) : std::string()));
  if (config.ffn > 0) row("MLP", fmt::format("{} inner width{}", config.ffn, config.gated_mlp ? ", gated" : ""));
  row("vocabulary", fmt::format("{}{}", config.vocab, config.tied_embeddings ? ", embedding and head tied" : ""));
  return rows;
}

}  // namespace

int command(const ConfigShowArguments& arguments, Context& context) {
  std::string text;
  if (arguments.origin) {
    const std::vector<Block> blocks = read_blocks(arguments, context);
    text = in_form(
        arguments.result, [&] { return core::json_text(origin_document(blocks), k_indent); },
        [&] { return origin_text(blocks); });
  } else {
    const experiment::Job job(experiment::load(context.loader, arguments.experiment, arguments.overrides),
                              context.loader);
    text = config::to_json(job.written_out(experiment::Naming::in_full), k_indent) + "\n";
  }
  Output output(arguments.result.output, context.read);
  output.write(text);
  output.finish();
  return k_ok;
}

int command(const ConfigModelArguments& arguments, Context& context) {
  core::Diagnostics diagnostics;
  const models::TransformerConfig config =
      models::read_model(config::make_scalar(arguments.name, {}), context.loader, diagnostics);
  diagnostics.raise_if_errors();
  for (const core::Diagnostic& each : diagnostics.all())
    warn(fmt::format("{}: {} ({})", each.key_path, each.message, each.hint));
  models::validate(config);
  const models::ParameterCount parameters =
      models::count_parameters(config, models::build_transformer(config, models::BuildOptions{}));
  Output output(arguments.result.output, context.read);
  if (arguments.result.json) {
    write_document(
        Json{{"schema", "cairn.model/1"},
             {"name", config.name},
             {"parameters",
              {{"total", parameters.total}, {"active", parameters.active}, {"prediction", parameters.prediction}}},
             {"model", Json::parse(config::to_json(config, -1))}},
        output);
  } else {
    output.write(fmt::format("{}\n", core::printable(config.name.empty() ? arguments.name : config.name)));
    for (const auto& [name, value] : model_rows(config, parameters))
      output.write(fmt::format("  {:<14}{}\n", name, value));
  }
  output.finish();
  return k_ok;
}

int command(const ConfigListArguments& arguments, Context& context) {
  std::vector<std::string> kinds = configuration_kinds();
  if (!arguments.kind.empty()) {
    if (std::find(kinds.begin(), kinds.end(), arguments.kind) == kinds.end()) {
      const std::string near = core::nearest(arguments.kind, kinds);
      throw core::ConfigurationError(
          "cairn config list", fmt::format("no kind is called '{}'", arguments.kind),
          near.empty() ? fmt::format("one of {}", fmt::join(kinds, ", ")) : fmt::format("did you mean '{}'?", near));
    }
    kinds = {arguments.kind};
  }
  Output output(arguments.result.output, context.read);
  Json document{{"schema", "cairn.config-list/1"}};
  for (const std::string& kind : kinds) {
    const std::vector<std::string> names = context.loader.names(kind);
    if (arguments.result.json) {
      document[kind] = names;
      continue;
    }
    if (kinds.size() > 1) output.write(fmt::format("{}\n", kind));
    for (const std::string& name : names) output.write(fmt::format("{}{}\n", kinds.size() > 1 ? "  " : "", name));
  }
  if (arguments.result.json) write_document(document, output);
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
