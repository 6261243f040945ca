#include "cairn/pipeline/generators.h"

#include <array>
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

// What can be listed and swept on one machine in some seconds, and of all kinds together. A sweep looks at every stage
// at every slot, of which there are two per stage at least.
constexpr std::int32_t k_most_stages = 8'192;
constexpr double k_most_operations = 1 << 24;
constexpr double k_most_compared = 1 << 26;

double operations(const Settings& settings) {
  constexpr double k_passes = 4;
  return k_passes * settings.stages * settings.micro_batches * settings.chunks * 2 * settings.waves;
}

void require_countable(const Settings& settings) {
  require(settings.stages <= k_most_stages, "stages",
          std::to_string(settings.stages) + " stages are more than the " + std::to_string(k_most_stages) +
              " that can be swept",
          "use fewer stages");
  require(operations(settings) <= k_most_operations, "micro_batches",
          "stages x micro-batches x chunks is too large to list", "larger micro-batches give fewer of them");
}

struct Option {
  std::uint32_t bit = 0;
  const char* name = "";  // on the command line
  const char* key = "";   // of the setting
  bool (*differs)(const Settings& a, const Settings& b) = nullptr;
  void (*copy)(const Settings& from, Settings& to) = nullptr;
};

template <auto member>
constexpr Option option(std::uint32_t bit, const char* name, const char* key) {
  return {.bit = bit,
          .name = name,
          .key = key,
          .differs = [](const Settings& a, const Settings& b) { return a.*member != b.*member; },
          .copy = [](const Settings& from, Settings& to) { to.*member = from.*member; }};
}

constexpr std::array k_options{
    option<&Settings::chunks>(takes::k_chunks, "chunks", "chunks"),
    option<&Settings::waves>(takes::k_waves, "waves", "waves"),
    option<&Settings::pipelines>(takes::k_pipelines, "pipelines", "pipelines"),
    option<&Settings::group>(takes::k_group, "group", "group"),
    option<&Settings::memory_limit>(takes::k_memory_limit, "memory-limit", "memory_limit"),
    option<&Settings::weight_gradients>(takes::k_weight_gradients, "weight-grads", "weight_grads"),
    option<&Settings::continuation>(takes::k_continuation, "continuation", "continuation"),
    option<&Settings::reorder>(takes::k_reorder, "no-reorder", "reorder"),
};

// A setting that the kind ignores would answer another question than was asked.
void require_taken(const Generator& generator, const Settings& settings) {
  for (const Option& option : k_options) {
    if ((generator.options & option.bit) != 0 || !option.differs(settings, {})) continue;
    if (option.bit == takes::k_chunks)
      require(false, option.key,
              std::string(generator.kind) + " places its own chunks, not " + std::to_string(settings.chunks) +
                  " on request",
              "leave chunks out, or choose interleaved-1f1b");
    std::string others;
    for (const Generator& other : k_generators)
      if ((other.options & option.bit) != 0) others += (others.empty() ? " " : ", ") + std::string(other.kind);
    require(false, option.key, std::string(generator.kind) + " takes no " + option.key,
            "leave it out; it is taken by" + others);
  }
}

}  // namespace

std::span<const Generator> generators() { return k_generators; }

std::vector<std::string> option_names(const Generator& generator) {
  std::vector<std::string> names;
  for (const Option& option : k_options)
    if ((generator.options & option.bit) != 0) names.emplace_back(option.name);
  return names;
}

Settings settings_taken(const Generator& generator, Settings settings) {
  for (const Option& option : k_options)
    if ((generator.options & option.bit) == 0) option.copy({}, settings);
  return settings;
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

void require_comparable(const Settings& settings) {
  require(operations(settings) * static_cast<double>(k_generators.size()) <= k_most_compared, "micro_batches",
          "stages x micro-batches x chunks is too large to list for every kind",
          "compare fewer micro-batches: beyond a few per stage, bubbles only shrink in proportion");
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
