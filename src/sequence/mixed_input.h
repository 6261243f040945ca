// What both ways of sharing a mixed batch ask of their input, and the order in which they look at it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cairn/sequence/mixed.h"

namespace cairn::sequence {

__extension__ using Wide = __int128;  // rank-seconds of a batch

// Throws core::ConfigurationError for no sequences, lengths < 1 or beyond 64 bits together, ranks < 1.
void check_batch(std::span<const std::int64_t> lengths, std::int64_t ranks);
void check_work(const SequenceWork& work);
// Throws unless `value` is finite and not negative.
void check_amount(const std::string& key_path, double value);

// Indices, the longest sequence first, equal ones by index.
std::vector<std::int64_t> longest_first(std::span<const std::int64_t> lengths);

// Throws core::OutOfRange where the sum leaves simulated time.
core::Picoseconds add_times(core::Picoseconds first, core::Picoseconds second);

// Ascending sequences within groups; most ranks first, equal ones by their first sequence.
void set_in_order(std::vector<RankGroup>& groups);

std::int64_t ceil_divide(Wide dividend, Wide divisor);

}  // namespace cairn::sequence
