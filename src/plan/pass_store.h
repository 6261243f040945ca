// One stored copy of every pass, by what it runs and where it sends.
#pragma once

#include "cairn/core/content_store.h"
#include "cairn/program/program.h"
#include "vocabulary.h"

namespace cairn::plan {

class PassStore {
 public:
  const Pass* stored(const Pass& draft);

 private:
  struct Content {
    static std::uint64_t hash(const Pass& pass);
    static bool same(const Pass& a, const Pass& b);
  };

  core::ContentStore<Pass, Content> passes_;
};

}  // namespace cairn::plan
