// The stages that hold the same parameters as a stage, as its row tells: itself and those whose messages it awaits at
// the end of the step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cairn/predict/timeline.h"

namespace cairn::testing {

inline std::vector<std::int32_t> replica_group(const program::Program& program, std::int32_t stage) {
  std::vector<std::int32_t> result{stage};
  const auto sources = predict::producers(program)[static_cast<std::size_t>(stage)];
  const auto row = program.row(stage);
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i].operation < 0 && sources[i].stage >= 0) result.push_back(sources[i].stage);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace cairn::testing
