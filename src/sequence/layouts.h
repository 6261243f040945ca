// The tokens that ranks own, by layout.
#pragma once

#include <cstdint>

#include "cairn/sequence/scheme.h"

namespace cairn::sequence {

// Equal pieces into which a layout cuts what one rank owns.
std::int64_t chunks_of_rank(Layout layout);
// Tokens of rank `rank` of `ranks`; their number is a multiple of ranks x chunks_of_rank().
Tokens tokens_of(Layout layout, std::int64_t tokens, std::int64_t ranks, std::int64_t rank);

}  // namespace cairn::sequence
