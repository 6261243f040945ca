#include "stage_script.h"

#include <algorithm>
#include <unordered_map>

namespace cairn::predict {
namespace {

void sort_streams(StageScript& script) {
  for (std::size_t stream = 0; stream < program::k_streams; ++stream) {
    const bool runs = std::any_of(script.stretches.begin(), script.stretches.end(),
                                  [stream](const StageScript::Stretch& s) { return s.block->count(stream) > 0; });
    if (stream != k_host && stream != static_cast<std::size_t>(program::Stream::arrival))
      (runs ? script.busy : script.idle).push_back(stream);
  }
  script.busy.push_back(k_host);
}

}  // namespace

StageScripts::StageScripts(const program::Program& program, PriceTable& prices, bool together)
    : scripts_(program.stages()) {
  std::unordered_map<const program::Block*, const BlockLayout*> known;
  const auto layout = [&](const program::Block& block) {
    const BlockLayout*& found = known[&block];
    if (!found) {
      layouts_.push_back(std::make_unique<BlockLayout>(block, prices.of(block), prices.host_per_kernel(), together));
      found = layouts_.back().get();
    }
    return found;
  };
  const auto sources = producers(program);
  for (std::size_t stage = 0; stage < scripts_.size(); ++stage) {
    const auto passes = passes_of(program, static_cast<std::int32_t>(stage));
    for (std::size_t pass = 0; pass < passes.size(); ++pass)
      for (const program::BlockRun& run : passes[pass]->runs)
        if (run.count > 0 && !run.block->steps.empty())
          scripts_[stage].stretches.push_back(
              {.block = layout(*run.block), .pass = static_cast<std::int32_t>(pass), .times = run.count});
    sort_streams(scripts_[stage]);
    scripts_[stage].consumers.resize(passes.size());
  }
  for (std::size_t stage = 0; stage < scripts_.size(); ++stage)
    for (std::size_t pass = 0; pass < sources[stage].size(); ++pass) {
      const PassId source = sources[stage][pass];
      if (source.stage >= 0)
        scripts_[static_cast<std::size_t>(source.stage)].consumers[static_cast<std::size_t>(source.position)] = {
            static_cast<std::int32_t>(stage), static_cast<std::int32_t>(pass)};
    }
  for (std::size_t stage = 0; stage < scripts_.size(); ++stage) {
    const auto circle = program.circle(static_cast<std::int32_t>(stage));
    if (circle.size() <= 2) continue;
    for (const std::int32_t other : circle)
      if (other != static_cast<std::int32_t>(stage))
        scripts_[stage].others.push_back(
            {other, static_cast<std::int32_t>(scripts_[static_cast<std::size_t>(other)].consumers.size()) - 1});
  }
}

}  // namespace cairn::predict
