#include "cairn/pipeline/generators.h"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "kinds.h"

namespace cairn::pipeline {
namespace {

constexpr std::array k_generators{
#define CAIRN_SCHEDULE_KIND(function, name, summary) Generator{name, summary, function},
#include "kinds.def"
#undef CAIRN_SCHEDULE_KIND
};

void require_positive(const char* key, const char* what, std::int32_t value) {
  if (value < 1)
    throw core::ConfigurationError(std::string("schedule.") + key,
                                   std::string(what) + " must be at least 1, not " + std::to_string(value),
                                   std::string("set ") + key + " to 1 or more");
}

// Positions are 32-bit; a schedule beyond this would need tens of gigabytes anyway.
void require_countable(const Settings& settings) {
  const double operations = static_cast<double>(k_phases) * settings.stages * settings.micro_batches * settings.chunks;
  if (operations > std::numeric_limits<std::int32_t>::max())
    throw core::ConfigurationError("schedule.micro_batches", "stages x micro-batches x chunks is too large to list",
                                   "larger micro-batches give fewer of them");
}

}  // namespace

std::span<const Generator> generators() { return k_generators; }

Schedule generate(std::string_view kind, const Settings& settings) {
  require_positive("stages", "the number of stages", settings.stages);
  require_positive("micro_batches", "the number of micro-batches", settings.micro_batches);
  require_positive("chunks", "the number of chunks", settings.chunks);
  require_countable(settings);
  std::vector<std::string> kinds;
  for (const Generator& generator : k_generators) {
    if (generator.kind == kind) return generator.generate(settings);
    kinds.emplace_back(generator.kind);
  }
  const std::string near = core::nearest(std::string(kind), kinds);
  std::string known = "known:";
  for (const std::string& k : kinds) known += " " + k;
  throw core::ConfigurationError("schedule.kind", "unknown pipeline schedule '" + std::string(kind) + "'",
                                 near.empty() ? known : "did you mean '" + near + "'?");
}

ScheduleBuilder::ScheduleBuilder(std::string_view kind, const Settings& settings) {
  schedule_.kind = kind;
  schedule_.stages = settings.stages;
  schedule_.micro_batches = settings.micro_batches;
  schedule_.chunks = settings.chunks;
  schedule_.chain_length = settings.stages * settings.chunks;
  schedule_.placement.reserve(schedule_.chain_length);
  for (std::int32_t device = 0; device < settings.stages; ++device)
    for (std::int32_t chunk = 0; chunk < settings.chunks; ++chunk)
      schedule_.placement.push_back(chunk * settings.stages + device);
  schedule_.row_begin.reserve(settings.stages + 1);
  schedule_.row_begin.push_back(0);
  schedule_.operations.reserve(std::size_t{2} * schedule_.chain_length * settings.micro_batches);
}

Schedule ScheduleBuilder::take() {
  CAIRN_ASSERT(std::ssize(schedule_.row_begin) == schedule_.stages + 1);
  return std::move(schedule_);
}

void require_single_chunk(std::string_view kind, const Settings& settings) {
  if (settings.chunks != 1)
    throw core::ConfigurationError(
        "schedule.chunks", std::string(kind) + " runs one chunk per device, not " + std::to_string(settings.chunks),
        "leave chunks out, or choose interleaved-1f1b");
}

}  // namespace cairn::pipeline
