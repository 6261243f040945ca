// What an experiment comes to: everything that a launcher's arguments carry, in one text to compare.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cairn/config/read.h"
#include "cairn/experiment/job.h"

namespace cairn::testing {

// Defaults written out, and equal layers written alike.
inline models::TransformerConfig plain(models::TransformerConfig m) {
  m.name = {};
  m.kv_heads = m.kv_head_count();
  m.head_dim = m.head_size();
  m.rope_dim = m.rotated_size();
  if (m.position != models::PositionEncoding::rope) m.rope_dim.reset();
  if (m.position != models::PositionEncoding::learned) m.max_positions.reset();
  m.activation = m.activation_function();
  m.attention_dropout = m.probability_dropout();
  m.embedding_dropout = m.stream_entry_dropout();
  const bool qkv = m.has_qkv_bias(), projection = m.has_projection_bias(), mlp = m.has_mlp_bias();
  m.bias = false;
  m.qkv_bias = qkv;
  m.projection_bias = projection;
  m.mlp_bias = mlp;
  if (m.moe) {
    m.moe->shared_ffn = m.moe->shared_width();
    m.moe->shared_experts = m.moe->shared_ffn > 0 ? 1 : 0;
    if (m.moe->shared_ffn == 0) m.moe->shared_ffn.reset();
  }
  if (m.mla && m.qk_norm == models::QkNorm::head) m.qk_norm = models::QkNorm::none;
  if (m.mtp && m.mtp->depth == 0) m.mtp.reset();
  if (m.vocab_multiple == 1) m.vocab_multiple.reset();  // tp divides what is not padded
  std::vector<models::BlockPattern> period;
  for (models::BlockPattern block : m.blocks) {
    block.mlp = m.mlp_of(block);
    block.attention = m.attention_of(block);
    const std::int64_t repeat = std::exchange(block.repeat, 1);
    period.insert(period.end(), static_cast<std::size_t>(repeat), block);
  }
  if (period.empty()) period.push_back({.repeat = 1, .mlp = m.mlp_of({}), .attention = m.attention_of({})});
  m.blocks.clear();
  for (std::int64_t layer = 0; layer < m.layers; ++layer)
    m.blocks.push_back(period[static_cast<std::size_t>(layer) % period.size()]);
  bool dense = m.mtp && !m.moe;
  for (const models::BlockPattern& block : m.blocks) dense = dense || block.mlp == models::MlpKind::dense;
  if (!dense) m.ffn = 0;  // nothing has it
  return m;
}

inline std::string resolved(const experiment::Job& job) {
  experiment::Experiment written = job.written_out(experiment::Naming::in_full);
  written.name = {};
  // The plan says which layers recompute, however that was asked for; the schedule of one stage orders nothing.
  const plan::Strategy& plan = job.strategy();
  written.strategy.recompute = {};
  written.strategy.stages = experiment::Stages{.layers = plan.stage_layers};
  if (written.strategy.zero.stage == 0 && written.strategy.overlap.dp) written.strategy.overlap.dp->gather = {};
  if (written.strategy.zero.stage < 3) {
    written.strategy.zero.prefetch = {};
    written.strategy.zero.reshard_after_forward = {};
  }
  if (written.strategy.tp == 1) written.strategy.overlap.tp = {};  // nothing to overlap
  if (!job.parts().model.moe) written.strategy.overlap.ep = {};
  if (written.precision.is_map()) written.precision.remove("recipe");
  written.model = config::make_scalar("below", {});
  std::string text = config::to_json(written);
  models::TransformerConfig model = plain(job.transformer());
  text += config::to_json(model);
  text += "recompute " + std::to_string(static_cast<int>(plan.recompute)) +
          (plan.recompute == plan::Recompute::none || plan.recompute_layers.count == 1
               ? ""
               : " of " + std::to_string(plan.recompute_layers.count));
  if (plan.recompute == plan::Recompute::full && plan.recompute_layers.method == plan::RecomputeMethod::block)
    text += " block";
  if (plan.share_saved_inputs) text += " shared";
  return text;
}

}  // namespace cairn::testing
