// Blocks of keys and values that pass through windows of consecutive ranks, and from window to window.
#pragma once

#include <cstdint>

#include "families.h"

namespace cairn::sequence {

// The p ranks stand in windows of `window` ranks, rank (a, i) = a window + i. In turn o of p / window turns, block
// (a - o, i) begins at rank (a, i) and goes around the window, one hop beside each tile; meanwhile the rank sends it on
// to rank (a + 1, i), which begins with it in the next turn. So every block visits every window once, and every rank of
// it once.
//
// Backward, the part of dK, dV of a block grows on its way around the window. It ends the turn at rank (a, i - 1), one
// hop short of where the block began, and goes from there to rank (a + 1, i - 1), where the block is last in the next
// turn: it needs to be there by the end of that turn only, when the part of that turn meets it. The last part is at
// (a - 1, i - 1) of its owner (a, i), and goes home in one hop. In all p hops, as in a ring: p/w (w-1) inside windows,
// p/w - 1 between them, 1 home. No layout may leave a rank without a tile of a block, which would have no part to pass.
RankList pass_through_windows(const Share& share, std::int64_t window);

}  // namespace cairn::sequence
