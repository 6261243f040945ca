// What trains: a framework with the recipe that it trains by.
#pragma once

#include <string>
#include <utility>

#include "cairn/software/framework.h"
#include "cairn/software/precision.h"

namespace cairn::software {

struct Software {
  FrameworkProfile framework = {};
  PrecisionRecipe recipe = {};  // with the framework's own choices laid over it
  std::string label = {};       // as messages call the framework: megatron@2024
};

// Lays the framework's choices over `recipe`.
inline Software together(FrameworkProfile framework, const PrecisionRecipe& recipe) {
  PrecisionRecipe adjusted = framework.adjust(recipe);
  std::string label = framework.name;
  return {.framework = std::move(framework), .recipe = std::move(adjusted), .label = std::move(label)};
}

}  // namespace cairn::software
