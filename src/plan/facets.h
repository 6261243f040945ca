// What of a strategy the parts of a Program depend on, as numbers: equal numbers, equal parts. What a part does not
// depend on stays out of its facet, so that plans that differ elsewhere share it.
#pragma once

#include "layer_cache.h"
#include "stage_messages.h"
#include "unit_settings.h"
#include "word_table.h"

namespace cairn::plan {

struct Facets {
  std::int32_t layers = 0;  // what a virtual stage holds, lowered
  std::int32_t plain = 0;   // passes, first forward and last backward passes apart
  std::int32_t gather = 0;  // first forward passes; `plain` where they are like the others
  std::int32_t reduce = 0;  // last backward passes; likewise
  std::int32_t ends = 0;    // what a step ends with
  std::int32_t side = 0;    // what side rows move, where there are any
};

class FacetTable {
 public:
  // `side_rows`: the schedule has some.
  Facets of(const UnitSettings& settings, const Meshes& meshes, LayerCache& layers, const StageMessages& messages,
            bool shares_parameters, bool side_rows);

 private:
  static constexpr std::size_t k_traffic_words = 9;
  using Traffic = WordTable<k_traffic_words>::Words;
  static Traffic units(std::int32_t plain, const UnitSettings& settings);

  WordTable<LayerCache::k_words> layers_;
  WordTable<4> plain_;
  WordTable<k_traffic_words> traffic_;  // of all passes, plain ones too: their numbers are of one kind
  WordTable<7> ends_;
};

}  // namespace cairn::plan
