// What of a strategy the parts of a Program depend on, as numbers: equal numbers, equal parts. What a part does not
// depend on stays out of its facet, so that plans that differ elsewhere share it.
#pragma once

#include "layer_cache.h"
#include "stage_messages.h"
#include "unit_settings.h"
#include "word_table.h"

namespace cairn::plan {

struct Facets {
  std::int32_t layers = 0;    // what a virtual stage holds, lowered
  std::int32_t messages = 0;  // what passes receive and send
  // Transfers of parameters and gradients, first forward and last backward passes apart.
  std::int32_t plain = 0;
  std::int32_t gather = 0;  // of first forward passes; `plain` where they are like the others
  std::int32_t reduce = 0;  // of last backward passes; likewise
  std::int32_t ends = 0;    // what a step ends with
  std::int32_t side = 0;    // what side rows move, where there are any

  // What the passes of a virtual stage are remembered by, its layers, and the end of a stage of some kind.
  Numbers passes(std::int32_t traffic, std::int32_t stage) const { return {layers, messages, traffic, stage}; }
  Numbers body(std::int32_t stage) const { return {layers, stage}; }
  Numbers end(std::int32_t kind) const { return {layers, ends, kind}; }
};

class FacetTable {
 public:
  // `side_rows`: the schedule has some.
  Facets of(const UnitSettings& settings, const Meshes& meshes, LayerCache& layers, const StageMessages& messages,
            bool shares_parameters, bool side_rows);

 private:
  static constexpr std::size_t k_traffic_words = 9;
  using Traffic = WordTable<k_traffic_words>::Words;
  static Traffic units(const UnitSettings& settings);

  WordTable<LayerCache::k_words> layers_;
  WordTable<3> messages_;
  WordTable<k_traffic_words> traffic_;
  WordTable<8> ends_;
};

}  // namespace cairn::plan
