#include "nanotron.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/config/units.h"
#include "cairn/config/yaml.h"
#include "cairn/core/printable.h"
#include "cairn/numerics/format.h"
#include "cairn/software/files.h"
#include "numbers.h"
#include "yaml_arguments.h"

namespace cairn::launch {
namespace {

constexpr const char* k_accumulation = "tokens.batch_accumulation_per_replica";
constexpr const char* k_nano_steps = "tokens.train_steps";
constexpr const char* k_bucket = "model.ddp_bucket_cap_mb";
constexpr const char* k_experts = "parallelism.expert_parallel_size";
constexpr const char* k_act = "model.model_config.hidden_act";
constexpr const char* k_llama = "model.model_config.is_llama_config";
constexpr const char* k_qwen = "model.model_config.is_qwen2_config";
constexpr const char* k_with_bias = "model.model_config.attention_bias";

const std::vector<Pair>& yes_no() {
  static const std::vector<Pair> words{{"true", "true"}, {"false", "false"}, {"True", "true"}, {"False", "false"}};
  return words;
}

// models/qwen.py: every no_rope_layer-th layer is not rotated and sees all keys, the others a window.
void read_nano_blocks(Import& i) {
  const auto window = i.count("model.model_config.sliding_window_size"),
             period = i.count("model.model_config.no_rope_layer");
  if (!i.said(k_qwen) || (!window && !period)) return;
  if (period && *period == 0)
    return i.error(i.take("model.model_config.no_rope_layer")->place, "model.model_config.no_rope_layer",
                   "is no period", "write how many layers apart the layers without rotation are");
  config::Node blocks = config::make_node(config::NodeKind::list, {});
  const auto add = [&](std::int64_t repeat, config::Node attention) {
    if (repeat < 1) return;
    config::Node block = config::make_node(config::NodeKind::map, {});
    block.put("repeat", config::make_scalar(std::to_string(repeat), {}));
    block.put("attention", std::move(attention));
    blocks.items.push_back(std::move(block));
  };
  config::Node windowed = config::make_node(config::NodeKind::map, {});
  if (window) windowed.put("sliding", config::make_scalar(std::to_string(*window), {}));
  add(period.value_or(2) - 1, window ? windowed : config::make_scalar("full", {}));
  if (period) add(1, config::make_scalar("nope", {}));
  i.experiment.put("model.blocks", std::move(blocks));
}

// Llama and Qwen 2 without experts: rotated positions, RMS norms, a gated MLP, no biases but those of queries, keys and
// values that Qwen has.
void read_nano_model(Import& i) {
  for (const char* kind : {k_llama, k_qwen}) i.word(kind);
  const bool given = std::any_of(i.given.overrides.begin(), i.given.overrides.end(),
                                 [](const std::string& each) { return each.starts_with("model="); });
  if (!i.said(k_llama) && !i.said(k_qwen) && !given)
    i.error({}, "model.model_config", "is of no kind whose model is known here",
            "say is_llama_config: true or is_qwen2_config: true, or give --set model=NAME");
  if (i.said("model.model_config.moe_config.num_experts"))
    i.error(i.take("model.model_config.moe_config.num_experts")->place, "model.model_config.moe_config",
            "experts of nanotron have no counterpart yet", "write the experiment's model by hand");
  for (const auto& [key, value] : {std::pair{"gated_mlp", "true"}, std::pair{"norm", "rmsnorm"},
                                   std::pair{"position", "rope"}, std::pair{"bias", "false"}})
    i.experiment.put(std::string("model.") + key, value, {});
  read_nano_blocks(i);
  const Word* bias = i.word(k_with_bias);
  if (bias != nullptr && bias->text == "true") {
    if (i.said(k_qwen))
      i.experiment.put("model.qkv_bias", "true", bias->place);
    else
      i.remark(*i.take(k_with_bias), "Llama's products have no biases in nanotron");
  }
}
void write_nano_model(Export& e) {
  const models::TransformerConfig& m = e.job.parts().model;
  const bool known =
      m.gated_mlp && m.norm == models::Norm::rmsnorm && m.position == models::PositionEncoding::rope &&
      !m.has_projection_bias() && !m.has_mlp_bias() && m.dropout == 0.0 && m.probability_dropout() == 0.0 &&
      m.stream_entry_dropout() == 0.0 && m.blocks.empty() && !m.moe && !m.mla && !m.mtp && !m.delta && !m.mamba2 &&
      m.head_size() * m.heads == m.hidden && m.rotated_size() == m.head_size() &&
      (m.activation_function() == models::Activation::silu || m.activation_function() == models::Activation::gelu) &&
      m.norm_place == models::NormPlace::pre && m.causal && m.qk_norm == models::QkNorm::none &&
      m.residual == models::Residual::standard && m.ways == 1 && !m.nope_scale && !m.attention_gate &&
      !m.attention_sinks && !m.score_cap && !m.logit_cap && !m.embedding_scale && !m.embedding_norm;
  if (!known) return e.unsaid("model", "nanotron builds Llama and Qwen 2, and this is neither");
  e.keys.take("model");
  e.say(m.has_qkv_bias() ? k_qwen : k_llama, "true");
  if (m.has_qkv_bias()) e.say(k_with_bias, "true");
  if (!m.kv_heads) e.say("model.model_config.num_key_value_heads", m.heads);
  if (!m.vocab_multiple) e.say("model.make_vocab_size_divisible_by", std::int64_t{1});
}

// micro-batch x accumulation x dp, for train_steps steps.
void read_nano_batch(Import& i) {
  const auto micro = i.experiment.count("strategy.micro_batch"), dp = i.experiment.count("strategy.dp"),
             seq = i.experiment.count("training.seq_len");
  const auto times = i.count(k_accumulation), steps = i.count(k_nano_steps);
  if (!i.said(k_accumulation)) i.error({}, k_accumulation, "is missing", "the framework has no default for it: say it");
  constexpr std::int64_t k_most = std::int64_t{1} << 20;
  if (!micro || !dp || !seq || !times) return;
  if (*micro > k_most || *dp > k_most || *times > k_most)
    return i.error({}, k_accumulation, "makes a batch beyond what is modelled", "choose a smaller one");
  const std::int64_t batch = *micro * *dp * *times;
  i.experiment.put("training.global_batch", std::to_string(batch), i.take(k_accumulation)->place);
  if (steps && *steps > 0)
    i.experiment.put(
        "training.tokens",
        fmt::format("{}", static_cast<double>(*steps) * static_cast<double>(batch) * static_cast<double>(*seq)),
        i.take(k_nano_steps)->place);
}
void write_nano_batch(Export& e) {
  const plan::Strategy& s = e.job.strategy();
  for (const char* key : {"training.global_batch", "strategy.micro_batches"}) e.keys.take(key);
  e.say(k_accumulation, s.micro_batches);
  e.say_steps(k_nano_steps);
}

struct NanoFormats {
  const char* dtype;
  const char* accumulates;  // optimizer.accumulate_grad_in_fp32
  const char* recipe;
};
constexpr NanoFormats k_nano_formats[] = {{"bfloat16", "true", "bf16"},
                                          {"bfloat16", "false", "bf16-bf16-gradients"},
                                          {"float16", "true", "fp16-fp32-gradients"},
                                          {"float16", "false", "fp16"},
                                          {"float32", "false", "fp32"},
                                          {"float32", "true", "fp32"}};
void read_nano_precision(Import& i) {
  const Word* dtype = i.word("model.dtype");
  const Word* accumulates = i.word("optimizer.accumulate_grad_in_fp32");
  if (dtype == nullptr)
    return i.error({}, "model.dtype", "is missing, and follows from PyTorch's default",
                   "say bfloat16, float16 or float32");
  const bool wide = accumulates == nullptr || accumulates->text == "true" || accumulates->text == "True";
  for (const NanoFormats& each : k_nano_formats)
    if (dtype->text == each.dtype && std::string_view(each.accumulates) == (wide ? "true" : "false"))
      return i.experiment.put("training.precision", each.recipe, {});  // a name of Cairn's
  i.error(dtype->place, "model.dtype", fmt::format("{} has no counterpart in Cairn", core::quoted(dtype->text)),
          "use bfloat16, float16 or float32");
}
void write_nano_precision(Export& e) {
  for (const NanoFormats& each : k_nano_formats) {
    if (!e.has_formats_of(software::load_precision(e.loader, each.recipe))) continue;
    e.keys.take("training.precision");
    e.say("model.dtype", each.dtype);
    return e.say("optimizer.accumulate_grad_in_fp32", each.accumulates);
  }
  e.precision_unsaid = true;
  e.say("model.dtype", "bfloat16");
  e.unsaid("training.precision", "no format of nanotron's is this recipe");
}

void write_nano_optimizer(Export& e) {
  const experiment::Optimizer kind = e.job.experiment().training.optimizer.kind;
  if (kind == experiment::Optimizer::adamw || kind == experiment::Optimizer::sgd) return;
  e.say("optimizer.optimizer_factory.name", "adamW");
  e.unsaid("training.optimizer", "nanotron has adamW and sgd; adamW is written in its place");
}

void read_nano_degrees(Import& i) {
  if (const auto experts = i.count(k_experts); experts && *experts > 1)
    i.error(i.take(k_experts)->place, k_experts, "counts its ranks beside those of dp, which has no counterpart",
            "use 1");
}
void write_nano_degrees(Export& e) {
  const experiment::StrategyChoice& choice = e.job.experiment().strategy;
  const experiment::StrategyChoice usual;
  if (choice.order == usual.order && choice.expert_order == usual.expert_order)
    for (const char* key : {"strategy.order", "strategy.expert_order"}) e.keys.take(key);
  const plan::Strategy& s = e.job.strategy();
  if (s.vocab_parallel == (s.tensor > 1)) e.keys.take("strategy.vocab_parallel");
  if (choice.ep == 1 && choice.etp == 1)
    for (const char* key : {"strategy.ep", "strategy.etp"}) e.keys.take(key);
  if (s.shard == 0 || s.shard == s.data)
    for (const char* key : {"strategy.zero.shard", "strategy.zero.replicate"}) e.keys.take(key);
  if (choice.zero.stage > 1) e.unsaid("strategy.zero.stage", "nanotron shards the optimizer's state alone");
  if (choice.zero.stage < 2) {
    e.say("optimizer.zero_stage", choice.zero.stage);
    for (const char* key : {"strategy.zero.stage", "strategy.zero.prefetch", "strategy.zero.reshard_after_forward"})
      e.keys.take(key);
  }
}

// Buckets are measured as gradients of two bytes; Cairn's are those of the format on the wire.
constexpr std::int64_t k_usual_bucket = 25;
constexpr std::int64_t k_most_bucket_size = 1 << 30;  // MiB
constexpr double k_mebibyte = 1048576.0;
void read_nano_bucket(Import& i) {
  const auto size = i.count(k_bucket);
  if (!size || *size == k_usual_bucket) return;
  if (*size == 0 || *size > k_most_bucket_size)
    return i.error(i.take(k_bucket)->place, k_bucket, "is no size of a bucket", "write MiB above 0");
  const std::string recipe = i.experiment.text("training.precision");
  const double bytes = recipe == "fp16" || recipe == "bf16-bf16-gradients" ? 2.0 : 4.0;
  i.experiment.put("strategy.overlap.dp.bucket",
                   fmt::format("{:.0f} B", static_cast<double>(*size) * k_mebibyte / 2.0 * bytes),
                   i.take(k_bucket)->place);
}
void write_nano_bucket(Export& e) {
  const double bytes = numerics::bytes_per_element(e.job.recipe().reduce);
  const double size = static_cast<double>(e.job.strategy().bucket_bytes) / bytes * 2.0 / k_mebibyte;
  const std::optional<std::int64_t> whole = whole_number(size, k_most_bucket_size);
  if (e.precision_unsaid || !whole) return;
  e.keys.take("strategy.overlap.dp.bucket");
  e.say(k_bucket, *whole);
}

void read_nano_recompute(Import& i) {
  const Word* layers = i.word("parallelism.recompute_layer");
  i.experiment.put("strategy.recompute",
                   layers != nullptr && (layers->text == "true" || layers->text == "True") ? "full" : "none", {});
}
void write_nano_recompute(Export& e) {
  const plan::Strategy& s = e.job.strategy();
  const bool every = s.recompute == plan::Recompute::full && !s.share_saved_inputs &&
                     s.recompute_layers.ranges.empty() &&
                     (s.recompute_layers.method == plan::RecomputeMethod::every ||
                      (s.recompute_layers.method == plan::RecomputeMethod::uniform && s.recompute_layers.count == 1));
  if (!every && s.recompute != plan::Recompute::none)
    return e.unsaid("strategy.recompute", "nanotron recomputes all of every layer, or nothing");
  e.keys.take("strategy.recompute");
  e.say("parallelism.recompute_layer", every ? "true" : "false");
}

// core: 1f1b, or all forward passes before all backward passes.
void write_nano_schedule(Export& e) {
  const std::string kind = e.keys.text("strategy.schedule.kind");
  if ((kind != "1f1b" && kind != "gpipe") || e.job.strategy().chunks != 1) {
    if (e.job.strategy().pipeline == 1) e.unsaid("strategy.stages", "its schedule is not said");
    return e.unsaid("strategy.schedule", "nanotron runs 1f1b and gpipe");
  }
  e.keys.take("strategy.schedule.kind");
  e.keys.take("strategy.schedule.chunks");
  e.say("parallelism.pp_engine", kind == "1f1b" ? "1f1b" : "afab");
  if (e.job.strategy().pipeline == 1) e.keys.take("strategy.stages");
}

void write_nano_framework(Export& e) {
  if (e.keys.text("training.framework") == "nanotron")
    e.keys.take("training.framework");
  else
    e.unsaid("training.framework", "nanotron has kernels and habits of its own");
  e.take_usual();
}

}  // namespace

Import read_nanotron(std::string_view text, const std::string& file_name, const Given& given) {
  core::Diagnostics problems;
  const config::Node root = config::parse_text(text, config::Syntax::yaml, file_name, problems);
  problems.raise_if_errors();
  std::vector<Argument> arguments = yaml_arguments(root);
  if (arguments.empty())
    throw core::ConfigurationError(
        {core::Diagnostic::at_line(file_name, 1, "no settings", "name a configuration of nanotron")});
  std::int64_t ranks = 1;
  constexpr std::int64_t k_most = 1 << 24;
  for (const Argument& each : arguments)
    for (const char* degree :
         {"parallelism.dp", "parallelism.tp", "parallelism.pp", "parallelism.context_parallel_size"})
      if (each.name == degree && each.values.size() == 1)
        ranks = std::clamp<std::int64_t>(config::parse_whole(each.values.front().text).value_or(1), 1, k_most) *
                std::min(ranks, k_most);
  Import import(std::move(arguments), given);
  import.ranks = ranks;
  return import;
}

std::string nanotron_text(const Export& exported) { return yaml_text(exported.arguments); }

const Table& nanotron() {
  static const Table table{
      .framework = "nanotron",
      .rows = {{.argument = "model.model_config.num_hidden_layers", .key = "model.layers", .unsaid = "32"},
               {.argument = "model.model_config.hidden_size", .key = "model.hidden", .unsaid = "4096"},
               {.argument = "model.model_config.num_attention_heads", .key = "model.heads", .unsaid = "32"},
               {.argument = "model.model_config.num_key_value_heads", .key = "model.kv_heads"},
               {.argument = "model.model_config.intermediate_size", .key = "model.ffn", .unsaid = "11008"},
               {.argument = "model.model_config.vocab_size", .key = "model.vocab", .unsaid = "32000"},
               {.argument = "model.make_vocab_size_divisible_by", .key = "model.vocab_multiple", .unsaid = "1"},
               {.argument = "model.model_config.tie_word_embeddings",
                .key = "model.tied_embeddings",
                .kind = Kind::word,
                .words = yes_no(),
                .unsaid = "false"},
               {.argument = k_act,
                .key = "model.activation",
                .kind = Kind::word,
                .words = {{"silu", "silu"}, {"gelu", "gelu"}},
                .unsaid = "silu"},
               {.argument = "model.model_config._attn_implementation",
                .key = "training.kernels.attention",
                .kind = Kind::word,
                .words = {{"flash_attention_2", "flash2"}}},
               {.argument = "tokens.sequence_length", .key = "training.seq_len", .required = true},
               {.argument = "tokens.micro_batch_size", .key = "strategy.micro_batch", .required = true},
               {.argument = "optimizer.optimizer_factory.name",
                .key = "training.optimizer",
                .kind = Kind::word,
                .words = {{"adamW", "adamw"}, {"sgd", "sgd"}},
                .required = true},
               {.argument = "optimizer.zero_stage", .key = "strategy.zero.stage", .required = true},
               {.argument = "parallelism.dp", .key = "strategy.dp", .required = true},
               {.argument = "parallelism.tp", .key = "strategy.tp", .required = true},
               {.argument = "parallelism.pp", .key = "strategy.pp", .required = true},
               {.argument = "parallelism.context_parallel_size", .key = "strategy.cp", .unsaid = "1"},
               {.argument = "parallelism.pp_engine",
                .key = "strategy.schedule.kind",
                .kind = Kind::word,
                .words = {{"1f1b", "1f1b"}, {"afab", "gpipe"}},
                .unsaid = "gpipe"},
               {.argument = "parallelism.tp_mode",
                .key = "strategy.sequence_parallel",
                .kind = Kind::word,
                .words = {{"REDUCE_SCATTER", "true"},
                          {"ALL_REDUCE", "false"},
                          {"reduce_scatter", "true"},
                          {"all_reduce", "false"}},
                .unsaid = "false"},
               {.argument = "parallelism.tp_linear_async_communication",
                .key = "strategy.overlap.tp.beside",
                .kind = Kind::word,
                .words = yes_no(),
                .unsaid = "false"}},
      .rules = {{.read = read_nano_model, .write = write_nano_model},
                {.read = read_nano_batch, .write = write_nano_batch},
                {.write = write_nano_optimizer},
                {.read = read_nano_precision, .write = write_nano_precision},
                {.read = read_nano_degrees, .write = write_nano_degrees},
                {.read = read_nano_bucket, .write = write_nano_bucket},
                {.read = read_nano_recompute, .write = write_nano_recompute},
                {.write = write_nano_schedule},
                {.read = [](Import& i) { i.experiment.put("training.framework", "nanotron", {}); },
                 .write = write_nano_framework}},
      .fixed = {}};
  return table;
}

}  // namespace cairn::launch
