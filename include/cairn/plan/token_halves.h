// Whether a layer can compute one half of its tokens while the other half communicates (TensorPieces::Kind::halves).
#pragma once

#include <string_view>

#include "cairn/ir/model.h"

namespace cairn::plan {

// Whether a dimension of that name runs over tokens (sequence, query, key, ...).
bool counts_tokens(std::string_view dimension);
bool has_tokens(const ir::Operator& op);

// The first forward operator without a token dimension: it needs all tokens at once, so the layer cannot be cut into
// halves. Null: there is none.
const ir::Operator* without_tokens(const ir::Graph& layer);

}  // namespace cairn::plan
