#include "pass_store.h"

namespace cairn::plan {

std::uint64_t PassStore::Content::hash(const Pass& pass) {
  core::Hash hash;
  hash.add(pass.send);
  for (const BlockRun& run : pass.runs) hash.add(run.block).add(run.count);
  return hash.value();
}

bool PassStore::Content::same(const Pass& a, const Pass& b) { return a.send == b.send && a.runs == b.runs; }

const Pass* PassStore::stored(const Pass& draft) {
  const auto [pass, fresh] = passes_.stored(draft);
  if (!fresh) return pass;
  pass->id = static_cast<std::int32_t>(passes_.size()) - 1;
  for (const BlockRun& run : pass->runs) {
    pass->profile = then(pass->profile, repeated(run.block->profile, run.count));
    pass->off_device += static_cast<double>(run.count) * run.block->off_device;
    pass->recorded += static_cast<double>(run.count) * run.block->recorded;
  }
  pass->profile.delta -= pass->recorded;
  return pass;
}

const Pass* PassStore::single(const Block* block, Send send) {
  Pass pass;
  pass.runs.push_back({block, 1});
  pass.send = send;
  return stored(pass);
}

const Pass* PassStore::nothing() {
  if (nothing_ == nullptr) nothing_ = stored(Pass{});
  return nothing_;
}

}  // namespace cairn::plan
