#include "random_experiments.h"

namespace cairn::laws {
namespace {

// Heads of a model whose tensor-parallel ranks each hold some.
// A model of several ways has them all together, and the width of one way.
void draw_heads(Draw& draw, Json& model, std::int64_t unit, std::int64_t ways) {
  const std::int64_t kv = unit * draw.power_of_two(0, 2);
  const std::int64_t heads = draw.coin() ? kv : kv * draw.power_of_two(0, 3);
  model["heads"] = heads;
  if (heads != kv || draw.coin()) model["kv_heads"] = kv;
  const std::int64_t size = draw.one<std::int64_t>({16, 32, 64, 64, 80, 128, 128, 256});
  if (draw.coin()) {
    model["head_dim"] = size;
    model["hidden"] = draw.power_of_two(6, 13);
  } else {
    model["hidden"] = heads / ways * size;
  }
}

Json draw_experts(Draw& draw, std::int64_t tp) {
  const std::int64_t experts = draw.power_of_two(1, 6);
  Json moe{{"experts", experts},
           {"top_k", draw.between(1, std::min<std::int64_t>(experts, 8))},
           {"ffn", tp * 64 * draw.power_of_two(0, 5)}};
  if (draw.coin()) moe["shared_experts"] = draw.between(0, 2);
  const bool shared = moe.value("shared_experts", 0) > 0;
  if (shared && draw.coin()) moe["shared_ffn"] = tp * 64 * draw.power_of_two(0, 5);
  if (draw.coin()) moe["capacity_factor"] = draw.coin() ? Json("dropless") : Json(draw.share(0.8, 2));
  if (draw.coin()) moe["imbalance"] = draw.share(1, 3);
  if (draw.coin()) moe["dispatcher"] = draw.word({"alltoall", "allgather", "smile", "exflow", "deepep"});
  if (draw.coin()) moe["node_limit"] = draw.coin() ? Json("none") : Json(draw.between(1, 4));
  if (draw.coin()) moe["shortcut"] = shared && draw.coin();
  if (draw.coin()) moe["shared_gate"] = shared && draw.coin();
  if (draw.coin()) moe["router_bias"] = draw.coin();
  if (draw.coin()) moe["balance_bias"] = draw.coin();
  return moe;
}

Json draw_latent(Draw& draw) {
  Json mla{{"kv_lora", draw.power_of_two(5, 9)},
           {"rope_dim", draw.power_of_two(4, 6)},
           {"nope_dim", draw.power_of_two(5, 7)},
           {"v_dim", draw.power_of_two(5, 7)}};
  if (draw.coin()) mla["q_lora"] = draw.coin() ? 0 : draw.power_of_two(5, 10);
  return mla;
}

Json draw_delta(Draw& draw, std::int64_t tp) {
  const std::int64_t heads = tp * draw.power_of_two(0, 2);
  return {{"key_heads", heads},
          {"value_heads", heads * draw.between(1, 3)},
          {"key_dim", draw.power_of_two(4, 7)},
          {"value_dim", draw.power_of_two(4, 7)},
          {"convolution", draw.between(1, 4)}};
}

// Its groups are spread over the tensor-parallel ranks.
Json draw_mixer(Draw& draw, std::int64_t tp) {
  const std::int64_t groups = tp * draw.power_of_two(0, 2);
  Json mixer{{"heads", groups * draw.power_of_two(0, 3)}, {"groups", groups}};
  if (draw.coin()) mixer["head_dim"] = draw.one<std::int64_t>({16, 64, 80, 128});
  if (draw.coin()) mixer["state"] = draw.one<std::int64_t>({16, 64, 100, 256});
  if (draw.coin()) mixer["conv"] = draw.between(1, 5);
  if (draw.coin()) mixer["chunk"] = draw.one<std::int64_t>({16, 100, 128, 256});
  if (draw.coin()) mixer["bias"] = draw.coin();
  if (draw.coin()) mixer["conv_bias"] = draw.coin();
  return mixer;
}

// A pattern whose length divides the layers.
Json draw_blocks(Draw& draw, const Json& model, std::int64_t layers, std::int64_t sequence) {
  Json blocks = Json::array();
  const bool extended =
      model.value("attention_gate", false) || model.value("attention_sinks", false) || model.value("score_cap", false);
  const bool linear = !extended && model.value("qk_norm", Json(false)) == Json(false) &&
                      !model.value("qkv_bias", model.value("bias", true));
  std::int64_t left = draw.divisor_of(layers);
  while (left > 0) {
    const std::int64_t repeat = draw.between(1, left);
    Json block = Json::object();
    if (repeat > 1 || draw.coin()) block["repeat"] = repeat;
    if (draw.coin()) block["mlp"] = model.contains("moe") && draw.coin() ? "moe" : "dense";
    const std::int64_t attention = draw.between(0, 10);
    if (attention == 0) block["attention"] = "full";
    if (attention == 1 || attention == 2) block["attention"] = {{"sliding", draw.between(1, 2 * sequence)}};
    if (attention == 3 && model.contains("mla")) block["attention"] = "mla";
    if (attention == 4 && linear) block["attention"] = "linear";
    if (attention == 5) block["attention"] = "nope";
    if (attention == 6 && model.contains("delta")) block["attention"] = "delta";
    if (attention == 7 && model.value("causal", true))
      block["attention"] = {{"chunked", draw.coin() ? draw.divisor_of(sequence) : sequence + draw.between(0, 64)}};
    if (attention >= 8 && model.contains("mamba2")) block["attention"] = "mamba2";
    if (draw.chance(0.1)) block["attention"] = "none";
    if (block.value("attention", Json()) != "none" && draw.chance(0.15)) block["mlp"] = "none";
    blocks.push_back(std::move(block));
    left -= repeat;
  }
  return blocks;
}

void draw_switches(Draw& draw, Json& model) {
  const auto flag = [&](const char* key, double chance) {
    if (draw.chance(chance)) model[key] = draw.coin();
  };
  flag("bias", 0.6);
  flag("qkv_bias", 0.2);
  flag("projection_bias", 0.2);
  flag("mlp_bias", 0.2);
  flag("causal", 0.2);
  flag("qk_norm", 0.2);
  if (draw.chance(0.1)) model["qk_norm"] = draw.word({"whole", "unscaled"});
  flag("nope_scale", 0.1);
  flag("attention_gate", 0.1);
  flag("attention_sinks", 0.1);
  flag("score_cap", 0.1);
  flag("logit_cap", 0.1);
  flag("embedding_scale", 0.1);
  flag("embedding_norm", 0.2);
  if (draw.coin()) model["norm"] = draw.word({"layernorm", "rmsnorm"});
  if (draw.chance(0.3)) model["activation"] = draw.word({"gelu", "silu", "relu", "squared_relu"});
  if (draw.chance(0.3)) model["dropout"] = draw.one({0.0, 0.1, 0.5});
  if (draw.chance(0.2)) model["embedding_dropout"] = draw.one({0.0, 0.1});
  if (draw.chance(0.2)) model["attention_dropout"] = draw.one({0.0, 0.1});
}

// What one of the special residual streams leaves out.
void draw_residual(Draw& draw, Json& model, std::int64_t ways) {
  if (ways > 1) {
    model["residual"] = "kraken";
    model["ways"] = ways;
    return;
  }
  if (draw.chance(0.1)) {
    model["residual"] = "ladder";
    model["mlp_bias"] = false;
    model["dropout"] = 0.0;
  } else if (draw.chance(0.1)) {
    model["residual"] = "parallel";
  } else if (draw.coin()) {
    model["residual"] = "standard";
  }
}

// Results are normalised without biases; one norm is for two only that stand side by side.
void draw_norm_place(Draw& draw, Json& model) {
  const bool parallel = model.value("residual", "standard") == "parallel";
  model["norm_place"] = parallel ? draw.word({"pre", "shared", "sandwich"}) : draw.word({"pre", "post", "sandwich"});
  if (model["norm_place"] == "post" || model["norm_place"] == "sandwich")
    model["projection_bias"] = model["mlp_bias"] = false;
}

// Of heads, which hold an even number of elements.
void draw_rotation(Draw& draw, Json& model) {
  if (model.value("position", "learned") == "rope" && draw.chance(0.2)) model["rope_dim"] = draw.one({4, 8, 16});
  if (model["gated_mlp"] == true && draw.chance(0.1)) model["activation"] = "clamped_silu";
}

// No such kernel keeps its scores in memory.
bool runs_in_one_kernel(const Json& model) {
  if (model.contains("mla") || model.value("attention_sinks", false)) return true;
  const Json blocks = model.value("blocks", Json::array());
  return std::any_of(blocks.begin(), blocks.end(), [](const Json& block) {
    const Json attention = block.value("attention", Json());
    return attention.is_object() && attention.contains("chunked");
  });
}

DrawnModel draw_inline(Draw& draw, const Surroundings& around) {
  const std::int64_t ways = draw.chance(0.07) ? around.tp * draw.power_of_two(around.tp == 1 ? 1 : 0, 2) : 1;
  Json model{{"layers", around.layers}};
  if (draw.coin()) model["version"] = 1;
  if (draw.coin()) model["name"] = draw.word({"a model", "another model"});
  if (draw.coin()) model["kind"] = "transformer";
  draw_heads(draw, model, std::max(around.tp, ways), ways);
  model["ffn"] = around.tp * draw.one<std::int64_t>({1, 3, 8, 11}) * draw.power_of_two(4, 10);
  model["gated_mlp"] = draw.coin();
  model["vocab"] =
      draw.chance(0.8) ? around.tp * draw.one<std::int64_t>({512, 1000, 16000, 32064}) : draw.between(100, 50000);
  if (draw.coin()) model["vocab_multiple"] = draw.power_of_two(0, 7);
  model["tied_embeddings"] = !around.separate_ends && draw.coin();
  if (draw.chance(0.8)) model["position"] = draw.word({"learned", "rope", "rope", "alibi", "none"});
  if (draw.chance(0.3)) model["max_positions"] = around.sequence * draw.between(1, 4);
  draw_switches(draw, model);
  draw_residual(draw, model, ways);
  draw_rotation(draw, model);
  const std::string residual = model.value("residual", "standard");
  const bool standard = residual == "standard" || residual == "parallel";
  if (standard && draw.chance(0.3)) draw_norm_place(draw, model);
  if (standard && draw.chance(0.35)) model["moe"] = draw_experts(draw, around.tp);
  if (standard && draw.chance(0.12)) {
    model.erase("kv_heads");
    for (const char* key : {"attention_gate", "attention_sinks", "score_cap"}) model.erase(key);
    model["mla"] = draw_latent(draw);
  }
  if (standard && draw.chance(0.15)) model["delta"] = draw_delta(draw, around.tp);
  if (standard && draw.chance(0.2)) model["mamba2"] = draw_mixer(draw, around.tp);
  if (standard && draw.chance(model.contains("mamba2") ? 0.8 : 0.3))
    model["blocks"] = draw_blocks(draw, model, around.layers, around.sequence);
  const bool exflow = model.contains("moe") && model["moe"].value("dispatcher", "") == "exflow";
  if (residual == "standard" && !exflow && draw.chance(0.12)) {
    model["mtp"] = {{"depth", draw.between(0, 2)}};
    model["tied_embeddings"] = false;
    model["position"] = draw.word({"rope", "alibi", "none"});
  }
  return {.model = model,
          .moe = model.contains("moe") ? model["moe"] : Json(),
          .layers = around.layers,
          .one_kernel = runs_in_one_kernel(model)};
}

// A shipped model, shallower and with some keys of its own.
DrawnModel draw_named(Draw& draw, const Shelf& shelf, const Surroundings& around) {
  std::vector<std::string> names = names_of(shelf.models);
  std::erase_if(names, [&](const std::string& name) {
    const Json& block = shelf.models.at(name).block;
    const std::int64_t heads = block["heads"];
    return block.value("kv_heads", heads) % around.tp != 0;
  });
  const std::string name = draw.of(names);
  const Shelf::Model& shipped = shelf.models.at(name);
  const bool mixers = shipped.block.contains("mamba2");
  if (mixers && shipped.block["mamba2"].value("groups", std::int64_t{1}) % around.tp != 0)
    return draw_inline(draw, around);
  DrawnModel result{.model = Json{{shipped.huggingface && draw.coin() ? "hf" : "file", name}},
                    .moe = shipped.block.contains("moe") ? shipped.block["moe"] : Json(),
                    .layers = around.layers,
                    .one_kernel = runs_in_one_kernel(shipped.block)};
  const bool learned = shipped.block.value("position", "learned") == "learned";
  const std::int64_t layers = shipped.block["layers"];
  if (!learned && layers <= 48 && draw.chance(0.1)) {
    result.model = name;
    result.layers = layers;
    return result;
  }
  result.model["layers"] = around.layers;
  if (shipped.block.contains("blocks") && !shipped.block["blocks"].empty())
    result.model["blocks"] = mixers ? Json::array({{{"repeat", 1}, {"attention", "mamba2"}, {"mlp", "none"}}})
                                    : Json::array({{{"repeat", 1}, {"mlp", result.moe.is_null() ? "dense" : "moe"}}});
  if (learned) result.model["max_positions"] = around.sequence;
  if (around.separate_ends || draw.chance(0.1)) result.model["tied_embeddings"] = false;
  if (draw.chance(0.3)) result.model["causal"] = draw.coin();
  if (draw.chance(0.3)) result.model["attention_dropout"] = draw.one({0.0, 0.1});
  return result;
}

}  // namespace

DrawnModel draw_model(Draw& draw, const Shelf& shelf, const Surroundings& around) {
  const bool power_of_two = (around.tp & (around.tp - 1)) == 0;  // as are the heads of shipped models
  return power_of_two && draw.chance(0.2) ? draw_named(draw, shelf, around) : draw_inline(draw, around);
}

}  // namespace cairn::laws
