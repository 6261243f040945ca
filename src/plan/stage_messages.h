// What passes begin and end with: host work, the arrival of a message, the send of one. One stored copy of each block.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "cairn/plan/strategy.h"
#include "stage_partition.h"
#include "step_blocks.h"
#include "vocabulary.h"
#include "words_hash.h"

namespace cairn::plan {

class StageMessages {
 public:
  // `domain`: ranks joined by the fastest links; 0: all.
  explicit StageMessages(std::int64_t domain) : domain_(domain) {}

  void start(const Strategy& strategy, const Mesh& mesh);
  // Neighbouring stages in one domain. Where only some of the mesh's pairs of neighbours cross, the crossing ones
  // decide.
  std::int64_t stages_in_domain() const { return stages_in_domain_; }
  std::int64_t domain() const { return domain_; }
  // Two ranks placed like the sender and the receiver of a message between stages.
  const Group& between(Hop hop) const { return hop == Hop::inside ? inside_domain_ : across_domains_; }
  const Block* begin(bool receives, bool forward, const Border& arriving);
  const Block* send(bool forward, const Group& pair, const Border& leaving);

 private:
  template <class Make>
  const Block* stored(const std::array<std::int64_t, 6>& key, Make make);

  std::int64_t domain_;
  const Strategy* strategy_ = nullptr;
  Group tensor_;
  std::int64_t stages_in_domain_ = 1;
  Group inside_domain_;
  Group across_domains_;
  std::unordered_map<std::array<std::int64_t, 6>, std::unique_ptr<Block>, WordsHash> blocks_;
};

}  // namespace cairn::plan
