// Something wrong at a key, among others.
#pragma once

#include <string>
#include <utility>

#include "cairn/core/diagnostics.h"

namespace cairn::splits {

inline void complain(core::Diagnostics& diagnostics, std::string key, std::string message, std::string hint = {}) {
  core::Diagnostic diagnostic;
  diagnostic.key_path = std::move(key);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostics.add(std::move(diagnostic));
}

}  // namespace cairn::splits
