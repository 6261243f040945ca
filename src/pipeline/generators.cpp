#include "cairn/pipeline/generators.h"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "kinds.h"
#include "vocabulary.h"

namespace cairn::pipeline {
namespace {

constexpr std::array k_generators{
#define CAIRN_SCHEDULE_KIND(function, name, options, splits, goldens, summary, source) \
  Generator{name, options, splits, goldens, summary, source, function},
#include "kinds.def"
#undef CAIRN_SCHEDULE_KIND
};

void require_positive(const char* key, const char* what, std::int32_t value) {
  require(value >= 1, key, std::string(what) + " must be at least 1, not " + std::to_string(value),
          std::string("set ") + key + " to 1 or more");
}

// Positions are 32-bit; a schedule beyond this would need tens of gigabytes anyway.
void require_countable(const Settings& settings) {
  constexpr double k_passes = 4;
  const double operations = k_passes * settings.stages * settings.micro_batches * settings.chunks * 2 * settings.waves;
  require(operations <= std::numeric_limits<std::int32_t>::max(), "micro_batches",
          "stages x micro-batches x chunks is too large to list", "larger micro-batches give fewer of them");
}

// A setting that the kind ignores would answer another question than was asked.
void require_taken(const Generator& generator, const Settings& settings) {
  const Settings defaults;
  const auto check = [&](std::uint32_t option, bool is_default, const char* key) {
    if ((generator.options & option) != 0 || is_default) return;
    std::string others;
    for (const Generator& other : k_generators)
      if ((other.options & option) != 0) others += (others.empty() ? " " : ", ") + std::string(other.kind);
    require(false, key, std::string(generator.kind) + " takes no " + key,
            std::string("leave it out; it is taken by") + others);
  };
  require(
      (generator.options & takes::k_chunks) != 0 || settings.chunks == defaults.chunks, "chunks",
      std::string(generator.kind) + " places its own chunks, not " + std::to_string(settings.chunks) + " on request",
      "leave chunks out, or choose interleaved-1f1b");
  check(takes::k_waves, settings.waves == defaults.waves, "waves");
  check(takes::k_pipelines, settings.pipelines == defaults.pipelines, "pipelines");
  check(takes::k_group, settings.group == defaults.group, "group");
  check(takes::k_memory_limit, settings.memory_limit == defaults.memory_limit, "memory_limit");
  check(takes::k_weight_gradients, settings.weight_gradients == defaults.weight_gradients, "weight_grads");
  check(takes::k_continuation, settings.continuation == defaults.continuation, "continuation");
  check(takes::k_reorder, settings.reorder == defaults.reorder, "reorder");
}

}  // namespace

std::span<const Generator> generators() { return k_generators; }

std::vector<std::string> option_names(const Generator& generator) {
  constexpr std::array<std::pair<std::uint32_t, const char*>, 8> k_names{{{takes::k_chunks, "chunks"},
                                                                          {takes::k_waves, "waves"},
                                                                          {takes::k_pipelines, "pipelines"},
                                                                          {takes::k_group, "group"},
                                                                          {takes::k_memory_limit, "memory-limit"},
                                                                          {takes::k_weight_gradients, "weight-grads"},
                                                                          {takes::k_continuation, "continuation"},
                                                                          {takes::k_reorder, "no-reorder"}}};
  std::vector<std::string> names;
  for (const auto& [option, name] : k_names)
    if ((generator.options & option) != 0) names.emplace_back(name);
  return names;
}

const Generator& generator(std::string_view kind) {
  std::vector<std::string> kinds;
  for (const Generator& known : k_generators) {
    if (known.kind == kind) return known;
    kinds.emplace_back(known.kind);
  }
  const std::string near = core::nearest(std::string(kind), kinds);
  std::string list = "known:";
  for (const std::string& k : kinds) list += " " + k;
  throw core::ConfigurationError("schedule.kind", "unknown pipeline schedule '" + std::string(kind) + "'",
                                 near.empty() ? list : "did you mean '" + near + "'?");
}

Schedule generate(std::string_view kind, const Settings& settings) {
  require_positive("stages", "the number of stages", settings.stages);
  require_positive("micro_batches", "the number of micro-batches", settings.micro_batches);
  require_positive("chunks", "the number of chunks", settings.chunks);
  require_positive("waves", "the number of waves", settings.waves);
  require_countable(settings);
  const Generator& known = generator(kind);
  require_taken(known, settings);
  Schedule schedule = known.generate(settings);
  return settings.vocabulary == Vocabulary::whole ? schedule : with_vocabulary(schedule, settings);
}

}  // namespace cairn::pipeline
