#include "pass_store.h"

namespace cairn::plan {

const Pass* PassStore::stored(const Pass& draft) {
  std::uint64_t hash = static_cast<std::uint64_t>(draft.send);
  for (const BlockRun& run : draft.runs) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(run.block)) * 0x9E3779B97F4A7C15ULL;
    hash = ((hash ^ static_cast<std::uint64_t>(run.count)) * 0xBF58476D1CE4E5B9ULL) ^ (hash >> 29);
  }
  const auto [begin, end] = passes_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second->send == draft.send && it->second->runs == draft.runs) return it->second.get();
  auto pass = std::make_unique<Pass>(draft);
  pass->id = static_cast<std::int32_t>(passes_.size());
  for (const BlockRun& run : pass->runs) pass->profile = then(pass->profile, repeated(run.block->profile, run.count));
  return passes_.emplace(hash, std::move(pass))->second.get();
}

}  // namespace cairn::plan
