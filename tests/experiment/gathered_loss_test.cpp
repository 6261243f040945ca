// A loss that every tensor-parallel rank computes whole: its derivative is as large on every rank as on one alone.
#include <algorithm>
#include <string>
#include <variant>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/source_dir.h"
#include "support/temporary_folder.h"

using namespace cairn;

namespace {

constexpr double k_loss_tokens = 512, k_loss_vocab = 1024;

struct LossBackward {
  double bytes = 0.0;  // moved by its kernels
  long wide = 0;       // fp32 tensors of all logits that it makes
};

LossBackward loss_backward(int tensor_ranks) {
  test::TemporaryFolder folder;
  folder.write("tested.yaml", "version: 1\nextends: " + cairn::testing::source_dir() +
                                  "/configs/frameworks/ideal.yaml\nname: tested\n"
                                  "kernels: {value: {compiled: false, loss: log-softmax, gathers_logits: true}}\n");
  const std::string text = R"(
model: {kind: transformer, layers: 2, hidden: 256, heads: 4, ffn: 512, gated_mlp: true, vocab: 1024,
        tied_embeddings: false, norm: rmsnorm, position: rope, bias: false}
cluster: dgx-a100
training: {seq_len: 512, global_batch: 24, framework: )" +
                           (folder.path() / "tested.yaml").string() +
                           "}\nstrategy: {tp: " + std::to_string(tensor_ranks) + "}\n";
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "loss.yaml", diagnostics);
  diagnostics.raise_if_errors();
  const experiment::Job job(experiment::read(node, {}), config::Loader({cairn::testing::source_dir() + "/configs"}));
  LossBackward result;
  for (const program::Stage& stage : job.program().kinds)
    for (const program::Pass* pass : stage.passes)
      for (const program::BlockRun& run : pass->runs) {
        if (run.block->name != "head backward") continue;
        for (const program::Work& work : run.block->works)
          if (const auto* shard = std::get_if<ir::Shard>(&work))
            if (shard->op->name.compare(0, 4, "loss") == 0) result.bytes += ir::bytes(*shard);
        const auto& memory = run.block->memory;
        result.wide += std::count_if(memory.begin(), memory.end(), [](const program::MemoryEvent& event) {
          return event.bytes == 4 * k_loss_tokens * k_loss_vocab;
        });
        return result;
      }
  FAIL("no derivative of the head");
  return result;
}

}  // namespace

TEST_CASE("gathered logits: zeros around the label's gradient are as many on every rank") {
  for (const int ranks : {1, 2, 4}) {
    INFO(ranks);
    const LossBackward found = loss_backward(ranks);
    // A logit: zeros 4, log-softmax 4+4+4, cast 4+2; a token: its label 8, its entry 4. In fp32: the gradient of the
    // logarithms, and that of the widened logits.
    CHECK(found.bytes == k_loss_tokens * k_loss_vocab * (4 + 12 + 6) + k_loss_tokens * (8 + 4));
    CHECK(found.wide == 2);
  }
}
