// Stores every distinct pass once. Two passes are equal if they run the same blocks and send in the same direction.
#pragma once

#include "cairn/core/content_store.h"
#include "cairn/program/program.h"
#include "vocabulary.h"

namespace cairn::plan {

class PassStore {
 public:
  const Pass* stored(const Pass& draft);
  // A pass of one block.
  const Pass* single(const Block* block, Send send);
  // A pass that no operation runs.
  const Pass* nothing();

 private:
  struct Content {
    static std::uint64_t hash(const Pass& pass);
    static bool same(const Pass& a, const Pass& b);
  };

  core::ContentStore<Pass, Content> passes_;
  const Pass* nothing_ = nullptr;
};

}  // namespace cairn::plan
