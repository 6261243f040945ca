#include "stage_messages.h"

#include <algorithm>

namespace cairn::plan {

void StageMessages::start(const Strategy& strategy, const Mesh& mesh) {
  strategy_ = &strategy;
  tensor_ = mesh.group(Axis::tensor);
  const Group pipeline = mesh.group(Axis::pipeline);
  const std::int64_t stride = pipeline.stride;
  const std::int64_t extent = stride * pipeline.size;
  const bool aligned =
      domain_ == 0 || (domain_ % stride == 0 && extent % domain_ == 0) || (extent <= domain_ && domain_ % extent == 0);
  stages_in_domain_ = domain_ == 0 ? pipeline.size : aligned && stride < domain_ ? domain_ / stride : 1;
  inside_domain_ = {
      .axis = Axis::pipeline, .size = 2, .stride = std::min(stride, std::max<std::int64_t>(1, domain_ / 2))};
  across_domains_ = {.axis = Axis::pipeline, .size = 2, .stride = domain_};
}

const Block* StageMessages::begin(bool receives, bool forward, const Border& arriving) {
  const BeginOptions options{.receives = receives,
                             .forward = forward,
                             .host_waits = strategy_->host_waits_for_arrival,
                             .host_synchronises = strategy_->host_waits_for_computation,
                             .border = receives ? arriving : Border{},
                             .tensor = tensor_};
  return stored({0,
                 receives + 2 * options.host_waits + 4 * options.border.sliced + 8 * options.forward +
                     16 * options.host_synchronises,
                 bits(options.border.sliced ? options.border.bytes : 0.0), tensor_.size, tensor_.stride, 0},
                [&] { return plan::begin(options); });
}

const Block* StageMessages::send(bool forward, const Group& pair, const Border& leaving) {
  const SendOptions options{.stream = forward ? Stream::next : Stream::previous,
                            .border = leaving,
                            .beside_computation = strategy_->overlap_sends,
                            .pipeline = pair,
                            .tensor = tensor_};
  return stored({1 + forward, bits(leaving.bytes), leaving.sliced + 2 * options.beside_computation, word(pair),
                 tensor_.size, tensor_.stride},
                [&] { return plan::send(options); });
}

template <class Make>
const Block* StageMessages::stored(const std::array<std::int64_t, 6>& key, Make make) {
  auto& slot = blocks_[key];
  if (!slot) slot = std::make_unique<Block>(make());
  return slot.get();
}

}  // namespace cairn::plan
