// The prototype's rules for one operator (pase.h): which dimensions stay whole, and what a part costs.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/ir/graph.h"
#include "cairn/splits/configuration.h"

namespace cairn::splits {

// Which rule of pase.h an operator falls under.
enum class PaseRule : std::uint8_t {
  none,
  product,
  element_wise,
  pooling,
  norm,
  softmax,
  loss,
  mean,
  lstm,
  reshape,
  view
};
PaseRule pase_rule(const ir::Operator& op);

// Dimensions that no split cuts.
loopnest::DimSet whole_dims(const ir::Operator& op, PaseRule rule);

// Extents of the operator's dimensions.
std::vector<std::int64_t> extents_of(const ir::Operator& op);

class PaseCost {
 public:
  // `behind`: element-wise operators of one operand that follow it.
  PaseCost(const ir::Graph& graph, const ir::Operator& op, int behind, double flop_per_word);
  double operator()(const Split& split) const;  // FLOP of one part

 private:
  struct Products {  // dimensions of a matrix product by their part in it
    loopnest::DimSet batch = 0, m = 0, n = 0, k = 0;
  };
  Products products() const;
  double product(const Split& split, const Products& dims, double widen_n, double widen_k, int behind) const;
  double pooling(const Split& split) const;
  double norm(const Split& split) const;
  double softmax(const Split& split) const;
  double loss(const Split& split) const;
  double lstm(const Split& split) const;

  double cuts(const Split& split, loopnest::DimSet dims) const;   // product of the split over these dimensions
  double local(const Split& split, loopnest::DimSet dims) const;  // product of the local extents
  double words(double count) const { return flop_per_word_ * count; }
  double all_reduce(double words, double parts) const { return this->words(words / parts * 2.0 * (parts - 1.0)); }

  const ir::Graph& graph_;
  const ir::Operator& op_;
  PaseRule rule_;
  int behind_;
  double flop_per_word_;
  std::vector<std::int64_t> extents_;
  loopnest::DimSet all_ = 0;
  loopnest::DimSet summed_ = 0;  // dimensions that the statistic, or else the output, lacks
  Products products_ = {};
};

}  // namespace cairn::splits
