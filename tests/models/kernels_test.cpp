// Every kernel of attention that the list names: what files call it, and what calibrations call its measurements.
#include <set>
#include <string>

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/models/transformer.h"
#include "catch.h"
#include "models/small_configs.h"

namespace cairn::models {
namespace {

struct Listed {
  AttentionKernel kernel;
  std::string name;
  std::string text;
};
const std::vector<Listed>& listed() {
  static const std::vector<Listed> all{
#define CAIRN_ATTENTION_KERNEL(name, text, scores) {AttentionKernel::name, #name, text},
#include "cairn/models/attention_kernels.def"
#undef CAIRN_ATTENTION_KERNEL
  };
  return all;
}

// Kernels that a file names, or what is wrong with them.
std::string said(const std::string& text, KernelChoice& choice) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "kernels.yaml", diagnostics);
  config::read(node, choice, diagnostics);
  return diagnostics.has_errors() ? diagnostics.all().front().to_string() : std::string();
}

// The kernels of all operators whose name begins so, and of their derivatives but for sums over rows.
std::set<std::string> kernels_of(const TransformerConfig& config, const Kernels& kernels, const std::string& name) {
  BuildOptions options;
  options.kernels = kernels;
  const ir::Model model = build_transformer(config, options);
  std::set<std::string> found;
  for (const ir::LayerClass& layer : model.classes)
    for (const ir::Operator& op : layer.graph.operators())
      if (op.name.starts_with(name) && (op.phase == ir::Phase::forward || op.forward >= 0) &&
          op.variant != "sum_of_rows")
        found.insert(op.variant);
  return found;
}

}  // namespace

TEST_CASE("an attention kernel is read by its text, and its operators carry its name", "[models]") {
  for (const Listed& each : listed()) {
    CAPTURE(each.name);
    KernelChoice choice;
    CHECK(said("attention: " + each.text, choice).empty());
    REQUIRE(choice.attention == each.kernel);
    CHECK(name(each.kernel) == each.text);
    BuildOptions options;
    options.kernels = choice.over({});
    const ir::Model model = build_transformer(testing::gpt(2, 96, 6, 1000, 64), options);
    bool asked = false;
    for (const ir::LayerClass& layer : model.classes)
      for (const ir::Operator& op : layer.graph.operators()) asked |= op.variant == each.name;
    CHECK(asked);
  }
}

TEST_CASE("kernels carry the names of whoever makes them: a library, a compiler, or each operation by itself") {
  using Found = std::set<std::string>;
  const TransformerConfig gpt = testing::gpt(2, 96, 6, 1000, 64), llama = testing::llama(2, 96, 6, 6, 192, 1000);
  const Kernels fused;
  Kernels eager = fused, compiled = fused;
  eager.norm = NormKernel::unfused;
  eager.pointwise = PointwiseKernel::eager;
  eager.loss = LossKernel::log_softmax;
  eager.attention = AttentionKernel::unfused;
  compiled.loss = LossKernel::log_softmax;
  compiled.compiled = compiled.compiled_loss = true;

  for (const char* cast : {"norm1.wide", "norm1.narrow", "loss.cast", "softmax.cast"}) {
    CAPTURE(cast);
    CHECK(kernels_of(llama, eager, cast) == Found{"eager_cast"});
  }
  CHECK(kernels_of(llama, eager, "softmax") == Found{"softmax", "eager_cast"});
  CHECK(kernels_of(llama, eager, "loss.log_softmax") == Found{"log_softmax"});
  CHECK(kernels_of(llama, eager, "rope.") == Found{"eager_pointwise"});
  CHECK(kernels_of(llama, eager, "residual") == Found{"residual"});
  CHECK(kernels_of(gpt, eager, "dropout") == Found{"dropout"});
  CHECK(kernels_of(gpt, fused, "residual") == Found{"dropout_residual"});
  CHECK(kernels_of(llama, fused, "norm1") == Found{"rmsnorm"});
  CHECK(kernels_of(gpt, fused, "norm1") == Found{"layernorm"});
  CHECK(kernels_of(llama, compiled, "norm1") == Found{"compiled_rmsnorm"});
  CHECK(kernels_of(gpt, compiled, "norm1") == Found{"compiled_layernorm"});
  CHECK(kernels_of(llama, compiled, "loss") == Found{"compiled_cross_entropy"});
  compiled.loss = LossKernel::fused;
  CHECK(kernels_of(llama, compiled, "loss") == Found{"cross_entropy"});
}

TEST_CASE("a router chooses in kernels of its own or operation by operation, by softmax or sigmoid", "[models]") {
  using Found = std::set<std::string>;
  TransformerConfig config = testing::llama(2, 96, 6, 6, 192, 1000);
  config.moe = MixtureConfig{.experts = 8, .top_k = 2, .ffn = 64};
  Kernels eager, fused;
  fused.fused_router = true;
  CHECK(kernels_of(config, eager, "router.top_k") == Found{"router_softmax"});
  CHECK(kernels_of(config, fused, "router.top_k") == Found{"fused_router_softmax"});
  config.moe->balance_bias = true;
  CHECK(kernels_of(config, eager, "router.top_k") == Found{"router_sigmoid"});
  CHECK(kernels_of(config, fused, "router.top_k") == Found{"fused_router_sigmoid"});
}

TEST_CASE("a kernel that nobody listed is refused with the nearest name", "[models]") {
  KernelChoice choice;
  CHECK(said("attention: flsh2", choice).find("kernels.yaml:1:12: error: attention") == 0);
  CHECK(said("attention: flsh2", choice).find("did you mean 'flash2'?") != std::string::npos);
}

TEST_CASE("kernels that an experiment names lie over the framework's", "[models]") {
  const Kernels framework{.attention = AttentionKernel::flash3, .loss = LossKernel::log_softmax, .separate_qkv = true};
  const Kernels both = KernelChoice{.norm = NormKernel::unfused, .compiled = true}.over(framework);
  CHECK(both == Kernels{.attention = AttentionKernel::flash3,
                        .norm = NormKernel::unfused,
                        .loss = LossKernel::log_softmax,
                        .separate_qkv = true,
                        .compiled = true});
  CHECK(choice_of(both).over({}).norm == NormKernel::unfused);
}

}  // namespace cairn::models
