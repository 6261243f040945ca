// What passes begin and end with: host work, the arrival of a message, the send of one. One stored copy of each block.
#pragma once

#include <memory>
#include <unordered_map>

#include "interned.h"
#include "message_blocks.h"

namespace cairn::plan {

class StageMessages {
 public:
  const Block* begin(const MessageKey& key, bool receives, bool forward, const Border& arriving);
  const Block* send(const MessageKey& key, bool forward, Hop hop, const Border& leaving);

 private:
  std::unordered_map<BeginOptions, std::unique_ptr<Block>, KeyHash> begins_;
  std::unordered_map<SendOptions, std::unique_ptr<Block>, KeyHash> sends_;
};

}  // namespace cairn::plan
