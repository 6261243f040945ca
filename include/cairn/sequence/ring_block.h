// How many tokens a rank needs so that a ring of keys and values hides behind its attention (Ring Attention).
//
// While a rank computes a block of c queries against c keys, it passes on the K and V of those keys:
//   compute    4 d c^2 / F            F [FLOP/s], d elements per token over all query heads, no mask
//   exchange   2 x 2 c (d / g) / B    B [byte/s] one way, elements of 2 bytes, g query heads to a key head
// so that the exchange is hidden from c = F / (g B) on; g = 1 is the paper's case. A causal mask that leaves half of
// every block takes twice as many tokens. The backward pass is not counted: 2.5 times the work, and twice the bytes, or
// three times with dK and dV in 4 bytes.
//
// Source: Liu, Zaharia, Abbeel, Ring Attention with Blockwise Transformers, arXiv 2310.01889.
#pragma once

#include <cstdint>

#include "cairn/core/quantity.h"

namespace cairn::sequence {

// Blocks of c tokens and d elements that a rank holds: its queries, its output, keys and values in use and arriving.
inline constexpr double k_ring_blocks = 6.0;

// F / (g B) [tokens], of devices without start-up times.
// Errors: ConfigurationError where a rate is not above 0, or for less than one query head to a key head.
double ring_block_tokens(core::FlopsPerSecond compute, core::BytesPerSecond link, std::int64_t group = 1);

// 6 c [tokens]: what the paper asks for of a sequence on each device.
double ring_sequence_tokens(core::FlopsPerSecond compute, core::BytesPerSecond link, std::int64_t group = 1);

}  // namespace cairn::sequence
