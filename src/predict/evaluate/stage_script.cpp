#include "stage_script.h"

#include <algorithm>
#include <numeric>
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

template <class Use>
void for_each_message(const Producers& sources, Use&& use) {
  for (std::size_t stage = 0; stage < sources.size(); ++stage)
    for (std::size_t pass = 0; pass < sources[stage].size(); ++pass)
      if (sources[stage][pass].stage >= 0)
        use(sources[stage][pass],
            PassId{.stage = static_cast<std::int32_t>(stage), .position = static_cast<std::int32_t>(pass)});
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
    scripts_[stage].consumer_begin.assign(passes.size() + 1, 0);
  }
  // Counted, then filled in by the order of those that await.
  for_each_message(sources, [&](const PassId& from, const PassId&) {
    ++scripts_[static_cast<std::size_t>(from.stage)].consumer_begin[static_cast<std::size_t>(from.position) + 1];
  });
  std::vector<std::vector<std::int32_t>> filled;
  for (StageScript& script : scripts_) {
    std::partial_sum(script.consumer_begin.begin(), script.consumer_begin.end(), script.consumer_begin.begin());
    script.consumers.resize(static_cast<std::size_t>(script.consumer_begin.back()));
    filled.push_back(script.consumer_begin);
  }
  for_each_message(sources, [&](const PassId& from, const PassId& to) {
    const auto stage = static_cast<std::size_t>(from.stage);
    scripts_[stage].consumers[static_cast<std::size_t>(filled[stage][static_cast<std::size_t>(from.position)]++)] = to;
  });
}

}  // namespace cairn::predict
