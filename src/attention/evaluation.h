// Lowers, prices and runs one attention operator in one way of sharing it after another.
#pragma once

#include <string>
#include <vector>

#include "cairn/attention/comparison.h"
#include "cairn/ir/model.h"
#include "cairn/pebble/parallel_bounds.h"
#include "cairn/predict/price/cost_pricer.h"
#include "rank_figures.h"

namespace cairn::attention {

class Evaluation {
 public:
  // `request` must outlive it.
  explicit Evaluation(const Request& request);

  // A way before anything of it is priced: without times.
  struct Lowered {
    Way way = {};
    std::vector<program::Block> blocks = {};  // of the passes that are asked for; none of a way that cannot be
  };
  // Among the first ranks of the cluster, as many as the grid has. Several threads may lower at once.
  Lowered lowered(const sequence::Scheme& scheme, const sequence::Grid& grid) const;
  Way priced(Lowered lowered);
  // Of one rank that shares with nobody, both passes where both are asked for.
  core::Picoseconds alone();

  // That a rank receives at the least, on average over the context ranks.
  double bound_bytes(pebble::AttentionPass pass) const;
  std::vector<std::string> assumptions();
  std::vector<std::string> warnings();

 private:
  struct Run {
    Passes<core::Picoseconds> time = {};
    core::Picoseconds compute = 0;
    core::Picoseconds transfers = 0;
  };
  std::vector<program::Block> blocks(const program::Group& group, const sequence::Scheme* scheme,
                                     const sequence::Grid& grid) const;
  Run run(const std::vector<program::Block>& blocks);
  pebble::ParallelWords bound(pebble::AttentionPass pass) const;
  BoundRatio ratio(std::int64_t received, const RankFigures& figures, pebble::AttentionPass pass) const;

  const Request& request_;
  const sequence::Problem problem_;
  const ir::LayerClass layer_;
  const hardware::HostTimes host_ = {};
  predict::CostPricer pricer_;
};

}  // namespace cairn::attention
