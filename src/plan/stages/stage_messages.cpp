#include "stage_messages.h"

namespace cairn::plan {

const Block* StageMessages::begin(const MessageKey& key, bool receives, bool forward, const Border& arriving) {
  // A message that arrives whole needs no gather, so its size does not matter.
  const BeginOptions options{.receives = receives,
                             .forward = forward,
                             .border = receives && arriving.sliced ? arriving : Border{},
                             .messages = key};
  auto& slot = begins_[options];
  if (!slot) slot = std::make_unique<Block>(plan::begin(options));
  return slot.get();
}

const Block* StageMessages::send(const MessageKey& key, bool forward, Hop hop, const Border& leaving) {
  const SendOptions options{.forward = forward, .hop = hop, .border = leaving, .messages = key};
  auto& slot = sends_[options];
  if (!slot) slot = std::make_unique<Block>(plan::send(options));
  return slot.get();
}

}  // namespace cairn::plan
