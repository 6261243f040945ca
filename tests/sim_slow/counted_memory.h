// Bytes that this program has allocated with new: now, and at most since a moment.
#pragma once

#include <cstddef>

namespace counted_memory {

// Starts to look for the peak; returns what is allocated now.
std::size_t begin_peak();
std::size_t peak();

}  // namespace counted_memory
