// torchtitan names its models: Llama 3 by its sizes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/read.h"
#include "cairn/models/transformer_config.h"
#include "torchtitan.h"

namespace cairn::launch {
namespace {

// models/llama3/__init__.py, llama3_args.
struct Flavor {
  const char* name;
  std::int64_t layers, hidden, heads, kv_heads, vocab;
  std::int64_t tenths;    // of ffn_dim_multiplier
  std::int64_t multiple;  // multiple_of
};
constexpr Flavor k_flavors[] = {{"debugmodel", 6, 256, 16, 16, 2048, 10, 256},
                                {"8B", 32, 4096, 32, 8, 128256, 13, 1024},
                                {"70B", 80, 8192, 64, 8, 128256, 13, 4096},
                                {"405B", 126, 16384, 128, 8, 128256, 12, 4096}};

// model/model.py, FeedForward: 2/3 of 4 h, times the multiplier, up to a multiple.
std::int64_t width(const Flavor& flavor) {
  const std::int64_t least = 4 * flavor.hidden * 2 / 3 * flavor.tenths / 10;
  return (least + flavor.multiple - 1) / flavor.multiple * flavor.multiple;
}

models::TransformerConfig model_of(const Flavor& flavor) {
  models::TransformerConfig model;
  model.layers = flavor.layers;
  model.hidden = flavor.hidden;
  model.heads = flavor.heads;
  model.kv_heads = flavor.kv_heads;
  model.ffn = width(flavor);
  model.gated_mlp = true;
  model.vocab = flavor.vocab;
  model.norm = models::Norm::rmsnorm;
  model.position = models::PositionEncoding::rope;
  model.bias = false;
  return model;
}

const Flavor* flavor_of(std::string_view name) {
  for (const Flavor& each : k_flavors)
    for (const char* attention : {"", "_flex", "_varlen", "_flex_attn", "_varlen_attn"})
      if (name == std::string(each.name) + attention) return &each;
  return nullptr;
}

void read_titan_model(Import& i) {
  if (!i.said("model.name") && !i.said("model.flavor") && i.experiment.find("model") != nullptr) return;
  const Word* name = i.word("model.name");
  if (name != nullptr && name->text != "llama3")
    return i.error(name->place, "model.name",
                   fmt::format("{} is no model whose sizes are known here", config::quote(name->text)),
                   "use llama3, or write the experiment's model by hand");
  const Word* flavor = i.word("model.flavor");
  const std::string asked = flavor != nullptr ? flavor->text : "debugmodel";
  const Flavor* found = flavor_of(asked);
  if (found == nullptr) {
    std::vector<std::string_view> all;
    for (const Flavor& each : k_flavors) all.emplace_back(each.name);
    return i.error(flavor->place, "model.flavor", fmt::format("{} is none of llama3's", config::quote(asked)),
                   fmt::format("use one of {}", fmt::join(all, ", ")));
  }
  if (asked != found->name)
    i.remark(*i.take("model.flavor"), "attention over whole sequences, by the framework's kernel");
  const config::Place place = flavor != nullptr ? flavor->place : config::Place{};
  const auto put = [&](const char* key, const std::string& value) {
    i.experiment.put(std::string("model.") + key, value, place);
  };
  put("layers", std::to_string(found->layers));
  put("hidden", std::to_string(found->hidden));
  put("heads", std::to_string(found->heads));
  put("kv_heads", std::to_string(found->kv_heads));
  put("ffn", std::to_string(width(*found)));
  put("gated_mlp", "true");
  put("vocab", std::to_string(found->vocab));
  put("tied_embeddings", "false");
  put("norm", "rmsnorm");
  put("position", "rope");
  put("bias", "false");
}

// Whether a model is that one, but for its name and for what has the default's value written out.
bool is_model(models::TransformerConfig asked, const models::TransformerConfig& known) {
  asked.name = {};
  asked.kv_heads = asked.kv_head_count();
  if (asked.head_size() == asked.hidden / std::max<std::int64_t>(1, asked.heads)) asked.head_dim.reset();
  if (asked.rotated_size() == asked.head_size()) asked.rope_dim.reset();
  if (asked.activation_function() == models::Activation::silu) asked.activation.reset();
  for (std::optional<bool>* bias : {&asked.qkv_bias, &asked.projection_bias, &asked.mlp_bias})
    if (!bias->value_or(true)) bias->reset();
  for (std::optional<double>* dropout : {&asked.embedding_dropout, &asked.attention_dropout})
    if (dropout->value_or(1.0) == 0.0) dropout->reset();
  if (asked.vocab_multiple && asked.padded_vocab(1) == asked.vocab && *asked.vocab_multiple == 1)
    asked.vocab_multiple.reset();
  asked.max_positions.reset();
  return asked == known;
}

void write_titan_model(Export& e) {
  for (const Flavor& each : k_flavors) {
    if (!is_model(e.job.parts().model, model_of(each))) continue;
    e.keys.take("model");
    e.say("model.name", "llama3");
    return e.say("model.flavor", each.name);
  }
  e.unsaid("model", "torchtitan names its models, and none of llama3's is this one");
}

}  // namespace

std::vector<Rule> torchtitan_model_rules() { return {{.read = read_titan_model, .write = write_titan_model}}; }

}  // namespace cairn::launch
