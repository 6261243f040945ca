// One stored copy of every pass, by content.
#pragma once

#include <memory>
#include <unordered_map>

#include "cairn/plan/program.h"

namespace cairn::plan {

class PassStore {
 public:
  const Pass* stored(const Pass& draft);

 private:
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Pass>> passes_;
};

}  // namespace cairn::plan
