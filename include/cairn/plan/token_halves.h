// Which layers can work on one half of their tokens while the other half communicates.
#pragma once

#include <string_view>

#include "cairn/ir/model.h"

namespace cairn::plan {

// Whether a dimension of that name counts tokens, by the part a token plays.
bool counts_tokens(std::string_view dimension);
bool has_tokens(const ir::Operator& op);

// The first forward operator without tokens, which can only run on all of them at once; null: the layer falls in
// halves.
const ir::Operator* without_tokens(const ir::Graph& layer);

}  // namespace cairn::plan
