// Every kernel of attention that the list names: what files call it, and what calibrations call its measurements.
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
