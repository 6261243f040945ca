// A structure as a file to fill in: YAML in which every key stands with what it means.
//
//   accelerator: h100-sxm5-80gb            # a name, {file: name, overriding keys} or a whole block
//   nodes: 64                              # how many
//   # groups: ...                          # mixed clusters
//
// Keys that must be given, and those whose values are not the defaults, are written out; all others are comments, with
// their defaults or an example. What is written reads back to the same values.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cairn/config/fields.h"

namespace cairn::config {

// `values` describes what is written, `defaults` a structure of the same kind as it is when nothing is given.
std::string template_fields(const std::function<void(Fields&)>& values, const std::function<void(Fields&)>& defaults);

template <class T>
std::string template_of(const T& x) {
  T values = x;
  const auto defaults = std::make_unique<T>();
  return template_fields([&](Fields& fields) { describe(fields, values); },
                         [&](Fields& fields) { describe(fields, *defaults); });
}

}  // namespace cairn::config
