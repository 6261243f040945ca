// A GPT of 24 layers on nodes of eight A100, small enough to reason about.
#pragma once

#include <string>
#include <vector>

#include "cairn/config/read.h"
#include "cairn/experiment/experiment.h"

namespace cairn::testing {

inline experiment::LoadedExperiment small_experiment(const std::vector<std::string>& overrides = {}) {
  static const std::string k_small = R"(
model: {kind: transformer, layers: 24, hidden: 2048, heads: 16, ffn: 8192, gated_mlp: false, vocab: 51200, tied_embeddings: true}
cluster: dgx-a100
training: {seq_len: 2048, global_batch: 64, framework: megatron@2022}
strategy: {tp: 2, pp: 2}
)";
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_small, config::Syntax::yaml, "small.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

}  // namespace cairn::testing
