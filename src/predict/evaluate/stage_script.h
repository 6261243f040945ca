// What every actor of a stage executes: its passes in the order of its schedule row, as a run-length list of laid-out
// blocks, and who awaits what they send.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "block_layout.h"
#include "cairn/predict/evaluate/timeline.h"
#include "cairn/predict/price/price.h"
#include "cairn/program/program.h"

namespace cairn::predict {

struct StageScript {
  struct Stretch {
    const BlockLayout* block = nullptr;
    std::int32_t pass = 0;  // position in the stage's list of passes
    std::int64_t times = 1;
  };
  std::vector<Stretch> stretches;
  std::vector<std::size_t> busy;             // streams that ever run a task, the host's last
  std::vector<std::size_t> idle;             // the others
  std::vector<PassId> consumers;             // of what passes send, pass by pass
  std::vector<std::int32_t> consumer_begin;  // passes + 1 offsets into consumers
  std::size_t passes() const { return consumer_begin.size() - 1; }
  std::span<const PassId> consumers_of(std::int32_t pass) const {
    const auto begin = static_cast<std::size_t>(consumer_begin[static_cast<std::size_t>(pass)]);
    const auto end = static_cast<std::size_t>(consumer_begin[static_cast<std::size_t>(pass) + 1]);
    return std::span(consumers).subspan(begin, end - begin);
  }
  std::int64_t instances() const {  // of blocks
    std::int64_t sum = 0;
    for (const Stretch& stretch : stretches) sum += stretch.times;
    return sum;
  }
  std::int64_t tasks() const {
    std::int64_t sum = 0;
    for (const Stretch& stretch : stretches)
      for (std::size_t stream = 0; stream < program::k_streams; ++stream)
        sum += stretch.times * stretch.block->count(stream);
    return sum;
  }
};

// The scripts of all stages. Blocks are laid out once, however often they occur.
class StageScripts {
 public:
  StageScripts(const program::Program& program, PriceTable& prices, bool together);
  const StageScript& operator[](std::int32_t stage) const { return scripts_[static_cast<std::size_t>(stage)]; }

 private:
  std::vector<std::unique_ptr<BlockLayout>> layouts_;
  std::vector<StageScript> scripts_;
};

}  // namespace cairn::predict
