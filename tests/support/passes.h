// Passes of a chunk by what they do.
#pragma once

#include "cairn/program/program.h"

namespace cairn::testing {

inline const program::Pass& forward_pass(const program::Program& program, std::int32_t stage, bool special = false) {
  return program.pass(stage, {.kind = program::PassKind::forward, .special = special});
}
inline const program::Pass& backward_pass(const program::Program& program, std::int32_t stage, bool special = false) {
  return program.pass(stage, {.kind = program::PassKind::backward, .special = special});
}

inline const program::Pass& finalize_pass(const program::Program& program, std::int32_t stage) {
  return program.pass(stage, {.kind = program::PassKind::finalize});
}
inline const program::Pass& update_pass(const program::Program& program, std::int32_t stage) {
  return program.pass(stage, {.kind = program::PassKind::update});
}

}  // namespace cairn::testing
