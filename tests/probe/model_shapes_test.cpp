#include "model_shapes.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.h"
#include "support/source_dir.h"

namespace cairn::probe {

namespace {

std::string folder() { return cairn::testing::source_dir() + "/configs/models/"; }

// A flat "key: value" line of a model file; 0 if there is none.
std::int64_t yaml_number(const std::string& file, const std::string& key) {
  std::ifstream lines(folder() + file);
  REQUIRE(lines);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key + ": ")) return std::stoll(line.substr(key.size() + 2));
  return 0;
}

void check_yaml(const ModelShape& model) {
  const std::string file(model.file);
  CHECK(model.hidden == yaml_number(file, "hidden"));
  CHECK(model.heads == yaml_number(file, "heads"));
  CHECK(model.kv_heads == model.heads);
  CHECK(model.head_dim == model.hidden / model.heads);
  CHECK(model.ffn == yaml_number(file, "ffn"));
  CHECK_FALSE(model.gated);
  const std::int64_t multiple = std::max<std::int64_t>(yaml_number(file, "vocab_multiple"), 1);
  CHECK(model.vocab == (yaml_number(file, "vocab") + multiple - 1) / multiple * multiple);
}

void check_huggingface(const ModelShape& model) {
  std::ifstream file(folder() + std::string(model.file) + "/config.json");
  REQUIRE(file);
  const nlohmann::json config = nlohmann::json::parse(file);
  const auto number = [&](std::initializer_list<const char*> names, std::int64_t otherwise) {
    for (const char* name : names)
      if (config.contains(name) && config[name].is_number()) return config[name].get<std::int64_t>();
    return otherwise;
  };
  CHECK(model.hidden == number({"hidden_size"}, 0));
  CHECK(model.heads == number({"num_attention_heads"}, 0));
  CHECK(model.kv_heads == number({"num_key_value_heads"}, model.heads));
  CHECK(model.vocab == number({"vocab_size"}, 0));
  CHECK(model.gated);
  CHECK(model.experts == number({"num_local_experts", "num_experts", "n_routed_experts"}, 0));
  CHECK(model.top_k == number({"num_experts_per_tok"}, 0));
  CHECK(model.latent.key_value == number({"kv_lora_rank"}, 0));
  if (model.latent.key_value > 0) {
    CHECK(model.latent.query == number({"q_lora_rank"}, 0));
    CHECK(model.latent.rope == number({"qk_rope_head_dim"}, 0));
    CHECK(model.latent.nope == number({"qk_nope_head_dim"}, 0));
    CHECK(model.latent.value == number({"v_head_dim"}, 0));
  } else {
    CHECK(model.head_dim == number({"head_dim"}, model.hidden / model.heads));
  }
  if (model.experts > 0) CHECK(model.expert_ffn == number({"moe_intermediate_size", "intermediate_size"}, 0));
  if (model.ffn > 0) CHECK(model.ffn == number({"intermediate_size"}, 0));
}

}  // namespace

TEST_CASE("the model table says what configs/models says", "[probe]") {
  for (const ModelShape& model : model_shapes()) {
    CAPTURE(model.file);
    if (model.file.ends_with(".yaml")) {
      check_yaml(model);
    } else {
      check_huggingface(model);
    }
  }
}

TEST_CASE("matrices of a grouped, gated model", "[probe]") {
  // Llama 3.1 8B by hand: (32 + 2 * 8) heads of 128 out of 4096; back; 2 * 14336 out of 4096; back; the head.
  const std::vector<Matrix> all = matrices(model_shapes()[7]);
  REQUIRE(model_shapes()[7].file == "llama-3.1-8b");
  REQUIRE(all.size() == 5);
  CHECK(all[0].n == 6144);
  CHECK(all[0].k == 4096);
  CHECK(all[1].n == 4096);
  CHECK(all[2].n == 28672);
  CHECK(all[3].k == 14336);
  CHECK(all[3].split == Split::inputs);
  CHECK(all[4].n == 128256);
}

}  // namespace cairn::probe
