// Which matrix products are cut along their tokens, so that their operands are gathered, or their results reduced,
// piece by piece while other pieces compute (TensorPieces::Kind::chunked).
#pragma once

#include "layer_pass.h"
#include "tensor_uses.h"

namespace cairn::plan {

struct ProductCut {
  std::int32_t count = 1;
  int dim = -1;  // of the operator's domain
};

class ProductCuts {
 public:
  // All must outlive it.
  ProductCuts(const LayerPass& pass, const TensorUses& uses, const Progress& progress)
      : pass_(pass), uses_(uses), progress_(progress) {}

  // Throws core::ConfigurationError for tokens that do not fall in that many pieces.
  ProductCut of(std::size_t position, const OperatorOrder& order) const;

 private:
  bool arrives(const ir::Operator& op, int dim) const;
  bool leaves(const ir::Operator& op, std::size_t position, const OperatorOrder& order) const;
  std::int64_t count(const ir::Operator& op, int dim) const;
  bool chunked() const { return pass_.options().settings.tensor_pieces.kind == TensorPieces::Kind::chunked; }

  const LayerPass& pass_;
  const TensorUses& uses_;
  const Progress& progress_;
};

}  // namespace cairn::plan
