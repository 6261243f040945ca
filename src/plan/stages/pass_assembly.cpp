#include "pass_assembly.h"

namespace cairn::plan {

namespace {

// The message at the lower (input) or upper (output) end of a stage's layers.
Border border(const StageBody& body, const MessageKey& messages, bool lower) {
  const LayerBorder& border = lower ? body.below : body.above;
  return {.bytes = border.bytes,
          .sliced = messages.behaviour->scatter_sends && messages.tensor.size > 1 && border.replicated};
}

void append_layers_backward(Pass& pass, const StageBody& body, Half half, const GradientSync* sync) {
  auto group = body.groups.rbegin();
  for (std::size_t end = body.stretches.size(); end > 0;) {
    if (group != body.groups.rend() && group->first_stretch + group->stretches == end) {
      append_group_backward(pass, *group, half, sync);
      end = group->first_stretch;
      ++group;
      continue;
    }
    append_backward(pass, body.stretches[--end], half, sync);
  }
}

}  // namespace

GradientSync parameter_gather(const UnitSettings& settings) {
  return GradientSync{.collective = Collective::all_gather,
                      .copies = settings.copies,
                      .bytes_per_element = numerics::bytes_per_element(settings.treatment->gather),
                      .carried_elements = {},
                      .hold = {}};
}

GradientSync gradient_sync(const UnitSettings& settings) {
  const bool by_shard = settings.sharding == Sharding::optimizer && !settings.behaviour->reduce_whole_gradients;
  return GradientSync{.collective = by_shard ? Collective::reduce_scatter : Collective::all_reduce,
                      .copies = settings.copies,
                      .bytes_per_element = numerics::bytes_per_element(settings.treatment->reduce),
                      .bucket_bytes = settings.bucket_bytes,
                      .carried_elements = {},
                      .hold = {}};
}

std::size_t PassMoves::hash() const {
  core::Hash hash;
  hash.add(what.index());
  if (const auto* sync = std::get_if<GradientSync>(&what)) {
    hash.add(static_cast<std::uint8_t>(sync->collective));
    add(hash, sync->copies);
  }
  if (const auto* units = std::get_if<UnitMoves>(&what)) hash.add(units->settings.hash()).add(units->special);
  return hash.value();
}

Pass& PassAssembly::start(const Block* block) {
  draft_.runs.assign(1, BlockRun{block, 1});
  draft_.send = Send::none;
  return draft_;
}

const Pass* PassAssembly::forward(const VirtualStage& stage, const StageBody& body, const MessageKey& messages,
                                  const PassMoves& moves) {
  Pass& pass = start(messages_.begin(messages, stage.below != Hop::none, true, border(body, messages, true)));
  if (const auto* units = std::get_if<UnitMoves>(&moves.what))
    units_.append_forward(pass, body.stretches, units->settings, units->special);
  else
    for (const Stretch& stretch : body.stretches) {
      if (const auto* gather = std::get_if<GradientSync>(&moves.what))
        append_gathering(pass, stretch, *gather);
      else
        pass.runs.push_back({&stretch.layer->forward, stretch.count});
    }
  if (stage.above != Hop::none) {
    pass.runs.push_back({messages_.send(messages, true, stage.above, border(body, messages, false)), 1});
    pass.send = Send::next;
  }
  return passes_.stored(pass);
}

double PassAssembly::kept(const VirtualStage& stage, const StageBody& body, const MessageKey& messages) {
  double bytes = 0.0;
  const auto add = [&bytes](const Block& block, std::int64_t count) {
    bytes += static_cast<double>(count) * (block.profile.delta - block.recorded);
  };
  add(*messages_.begin(messages, stage.below != Hop::none, true, border(body, messages, true)), 1);
  for (const Stretch& stretch : body.stretches) add(stretch.layer->forward, stretch.count);
  if (stage.above != Hop::none) add(*messages_.send(messages, true, stage.above, border(body, messages, false)), 1);
  return bytes;
}

const Pass* PassAssembly::backward(const VirtualStage& stage, const StageBody& body, const MessageKey& messages,
                                   const PassMoves& moves, Half half) {
  // A pass that computes only weight gradients neither receives nor sends a message.
  const bool above = stage.above != Hop::none && half != Half::weight_gradient;
  const bool below = stage.below != Hop::none && half != Half::weight_gradient;
  Pass& pass = start(messages_.begin(messages, above, false, border(body, messages, false)));
  if (const auto* units = std::get_if<UnitMoves>(&moves.what))
    units_.append_backward(pass, body.stretches, units->settings, half, units->special);
  else
    append_layers_backward(pass, body, half, std::get_if<GradientSync>(&moves.what));
  if (below) {
    pass.runs.push_back({messages_.send(messages, false, stage.below, border(body, messages, true)), 1});
    pass.send = Send::previous;
  }
  return passes_.stored(pass);
}

}  // namespace cairn::plan
