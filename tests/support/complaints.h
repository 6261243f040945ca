// What a function refuses, as the text a user would see.
#pragma once

#include <string>
#include <string_view>

#include "cairn/core/diagnostics.h"

namespace cairn::test {

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Everything an action finds wrong, one line each; empty when nothing is.
template <class Action>
std::string complaints(Action action) {
  try {
    action();
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

}  // namespace cairn::test
