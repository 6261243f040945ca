// What the memory of a device consists of in pictures, from bottom to top.
#pragma once

#include <array>
#include <string_view>

#include "cairn/report/run.h"

namespace cairn::report {

struct MemoryPart {
  std::string_view name;
  const char* fill;
};

// Places of memory_parts() behind the categories of tensors.
inline constexpr std::size_t k_allocator_part = program::k_categories;
inline constexpr std::size_t k_system_part = k_allocator_part + 1;
inline constexpr std::size_t k_memory_parts = k_system_part + 1;

// Tensors by category, then what the allocator keeps beside them, then what the system takes.
inline const std::array<MemoryPart, k_memory_parts>& memory_parts() {
  constexpr std::array<const char*, program::k_categories> k_fills{"#5b84b1", "#8fc786", "#b48ead", "#e6c36a",
                                                                   "#e08a80"};
  static const std::array<MemoryPart, k_memory_parts> parts = [&] {
    std::array<MemoryPart, k_memory_parts> all;
    for (std::size_t i = 0; i < program::k_categories; ++i)
      all[i] = {category_name(static_cast<program::Category>(i)), k_fills[i]};
    all[k_allocator_part] = {"allocator: reserved, unused", "#d5d8dd"};
    all[k_system_part] = {"system: context, communicators", "#9aa3ad"};
    return all;
  }();
  return parts;
}

}  // namespace cairn::report
