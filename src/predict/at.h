// Positions in arrays as the standard containers count them, and those of three streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cairn/program/program.h"

namespace cairn::predict {

constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
constexpr std::size_t at(program::Stream stream) { return static_cast<std::size_t>(stream); }
constexpr std::size_t at(program::Category category) { return static_cast<std::size_t>(category); }

inline constexpr std::size_t k_compute = at(program::Stream::compute);
inline constexpr std::size_t k_host = at(program::Stream::host);
inline constexpr std::size_t k_arrival = at(program::Stream::arrival);

}  // namespace cairn::predict
