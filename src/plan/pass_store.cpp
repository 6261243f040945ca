#include "pass_store.h"

namespace cairn::plan {

const Pass* PassStore::stored(const Pass& draft) {
  std::uint64_t hash = static_cast<std::uint64_t>(draft.send);
  for (const BlockRun& run : draft.runs) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(run.block)) * 0x9E3779B97F4A7C15ULL;
    hash = ((hash ^ static_cast<std::uint64_t>(run.count)) * 0xBF58476D1CE4E5B9ULL) ^ (hash >> 29);
  }
  for (Key key{.hash = hash, .ordinal = 1};; ++key.ordinal) {
    const Pass*& known = by_content_.of(key);
    if (known == nullptr) {
      Pass& pass = passes_.emplace_back(draft);
      pass.id = static_cast<std::int32_t>(passes_.size()) - 1;
      for (const BlockRun& run : pass.runs) pass.profile = then(pass.profile, repeated(run.block->profile, run.count));
      return known = &pass;
    }
    if (known->send == draft.send && known->runs == draft.runs) return known;
  }
}

}  // namespace cairn::plan
