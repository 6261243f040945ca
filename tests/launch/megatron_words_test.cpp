// Single words of Megatron-LM's arguments, against megatron/training/arguments.py.
#include <set>

#include "imports.h"

using namespace cairn;
using cairn::testing::imported;
using cairn::testing::shipped;

namespace {

constexpr const char* k_kernels[] = {
#define CAIRN_ATTENTION_KERNEL(name, text, scores) text,
#include "cairn/models/attention_kernels.def"
#undef CAIRN_ATTENTION_KERNEL
};

launch::Exported exported_with(const std::string& kernel) {
  core::Diagnostics problems;
  const config::Node node = config::parse_text(R"(
model: {layers: 4, hidden: 512, heads: 8, ffn: 2048, gated_mlp: false, vocab: 512, tied_embeddings: true}
cluster: {file: dgx-h100, nodes: 1}
training: {seq_len: 128, global_batch: 8, precision: bf16, framework: megatron, kernels: {attention: )" +
                                                   kernel + "}}\n",
                                               config::Syntax::yaml, "small.yaml", problems);
  problems.raise_if_errors();
  return launch::export_arguments("megatron", experiment::Job(experiment::read(node), shipped()), shipped());
}

bool leaves_unsaid(const launch::Exported& exported) {
  for (const launch::Unsaid& each : exported.unsaid)
    if (each.subject.starts_with("training.kernels.attention:")) return true;
  return false;
}

}  // namespace

// AttnBackend: flash, fused (cuDNN's) and unfused; flash_attention_version is 2 or 3 of what Cairn has.
TEST_CASE("Attention kernels that Megatron-LM's backends are come back from its arguments; others are left unsaid") {
  const std::set<std::string> known{"unfused", "fused-softmax", "flash2", "flash3", "cudnn"};
  for (const std::string kernel : k_kernels) {
    CAPTURE(kernel);
    const launch::Exported exported = exported_with(kernel);
    INFO(exported.text);
    const launch::Imported again = imported("megatron", exported.text);
    const config::Node* chosen = config::find_path(again.experiment, "training.kernels.attention");
    CHECK(leaves_unsaid(exported) == !known.contains(kernel));
    REQUIRE((chosen != nullptr) == known.contains(kernel));
    if (chosen != nullptr) CHECK(chosen->text == kernel);
  }
}
