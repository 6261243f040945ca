// A small experiment whose figures can be worked out by hand.
#pragma once

#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/experiment/job.h"
#include "support/source_dir.h"

namespace cairn::report_tests {

// 4 layers of width 256, 4 heads of 64, plain MLP of width 1024, 1024 words, on 8 accelerators of one node.
inline const std::string k_small = R"(
version: 1
name: small
model: {kind: transformer, layers: 4, hidden: 256, heads: 4, ffn: 1024, gated_mlp: false, vocab: 1024,
        tied_embeddings: false, position: rope, bias: false}
cluster: dgx-h100
training: {seq_len: 512, global_batch: 16}
strategy: {tp: 2, pp: 2, dp: 2}
)";

inline const std::string k_cluster_without_price =
    "cluster={name: bare, accelerator: h100-sxm5-80gb, gpus_per_node: 8, intra: {kind: nvswitch, bandwidth: 450 GB/s, "
    "latency: 0.6 us}}";

inline config::Loader loader() { return config::Loader({cairn::testing::source_dir() + "/configs"}); }

inline experiment::LoadedExperiment small(const std::vector<std::string>& overrides = {}) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_small, config::Syntax::yaml, "small.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

}  // namespace cairn::report_tests
