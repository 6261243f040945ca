// What the text and the picture of `cairn attention` share.
#pragma once

#include <string>

#include <fmt/format.h>

#include "cairn/attention/comparison.h"

namespace cairn::report {

// "attention2d on 8 x 8 (striped)"
inline std::string attention_way_name(const attention::Way& way) {
  return fmt::format("{} on {}", way.scheme->name, sequence::text(way.grid));
}

// The best grid of a scheme, null where it has none or the scheme was not compared.
inline const attention::Way* best_of_scheme(const attention::Comparison& comparison, std::string_view scheme) {
  for (const attention::Way& way : comparison.ways)
    if (way.stands() && way.scheme->name == scheme) return &way;
  return nullptr;
}

}  // namespace cairn::report
