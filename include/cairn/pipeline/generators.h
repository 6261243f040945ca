// The schedule kinds by name. A new kind is one file in src/pipeline and one line in src/pipeline/kinds.def.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cairn/pipeline/schedule.h"

namespace cairn::pipeline {

struct Settings {
  std::int32_t stages = 1;         // >= 1
  std::int32_t micro_batches = 1;  // >= 1
  std::int32_t chunks = 1;         // virtual stages per device, >= 1; kinds without chunks take 1 only
};

struct Generator {
  std::string_view kind;
  std::string_view summary;
  Schedule (*generate)(const Settings& settings);
};

std::span<const Generator> generators();

// Throws core::ConfigurationError for an unknown kind (with the nearest known one) and for settings the kind cannot
// take.
Schedule generate(std::string_view kind, const Settings& settings);

}  // namespace cairn::pipeline
