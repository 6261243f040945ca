// The schedule kinds by name. A new kind is one file in src/pipeline and one line in src/pipeline/kinds.def.
//
// Example: interleaved-1f1b of p stages, v chunks per device and m micro-batches, m a multiple of p. The k-th forward
// of every device, k = 0 .. m v - 1, has
//   chunk (k mod p v) div p        micro-batch (k div p v) p + k mod p
// and the k-th backward has the same micro-batch and chunk v - 1 - that. Device d runs min(m v, 2 (p - d - 1) + (v - 1)
// p) forwards to warm up, then forward and backward in turn, then the backwards that are left. With v = 1 it is 1f1b.
// Source: Narayanan et al., SC 2021, section 2.2; the number of forwards to warm up is Megatron-LM's (schedules.py).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/pipeline/schedule.h"

namespace cairn::pipeline {

// What a device spends on one micro-batch with its 1/stages of the model, any integer unit; and the latency to a
// neighbour. Only kinds that take `durations` look at them: their order lists depend on times.
struct Durations {
  core::Picoseconds forward = 1;
  core::Picoseconds input_gradient = 1;
  core::Picoseconds weight_gradient = 1;
  core::Picoseconds delay = 0;
  friend bool operator==(const Durations&, const Durations&) = default;
};

enum class WeightGradients : std::uint8_t { last, fill };  // after everything else, or wherever a device would wait
// How a bidirectional pipeline takes more micro-batches than it has stages.
enum class Continuation : std::uint8_t { concatenate, double_forward, halve_backward };
enum class Vocabulary : std::uint8_t { whole, one, two, interlaced };

// Each kind takes the first two and those of the rest that it lists; another value than the default elsewhere is an
// error.
struct Settings {
  std::int32_t stages = 1;         // devices, >= 1
  std::int32_t micro_batches = 1;  // over all pipelines, >= 1
  std::int32_t chunks = 1;         // virtual stages per device, >= 1
  std::int32_t waves = 1;          // times a micro-batch sweeps down and up over the devices, >= 1
  std::int32_t pipelines = 2;      // pipelines in both directions together, even
  // Micro-batches that are taken together; 0: the kind's own number, given here.
  //   zeropp          forwards of a group through all chunks, then its backwards; its exchanges happen once (2 p - 1)
  //   pipeoffload     a group passes one chunk of a device before the next (p)
  //   pipedream-2bw   an update follows so many backwards, at least p (p)
  std::int32_t group = 0;
  std::optional<std::int32_t> memory_limit = std::nullopt;  // [micro-batches' activations of a full stage]
  WeightGradients weight_gradients = WeightGradients::last;
  Continuation continuation = Continuation::concatenate;
  bool reorder = true;
  Vocabulary vocabulary = Vocabulary::whole;
  Durations durations{};
  friend bool operator==(const Settings&, const Settings&) = default;
};

// What a kind takes beside stages and micro-batches.
namespace takes {
inline constexpr std::uint32_t k_nothing = 0;
inline constexpr std::uint32_t k_chunks = 1U << 0;
inline constexpr std::uint32_t k_waves = 1U << 1;
inline constexpr std::uint32_t k_pipelines = 1U << 2;
inline constexpr std::uint32_t k_group = 1U << 3;
inline constexpr std::uint32_t k_memory_limit = 1U << 4;
inline constexpr std::uint32_t k_weight_gradients = 1U << 5;
inline constexpr std::uint32_t k_continuation = 1U << 6;
inline constexpr std::uint32_t k_reorder = 1U << 7;
inline constexpr std::uint32_t k_durations = 1U << 8;
}  // namespace takes

struct Generator {
  std::string_view kind;
  std::uint32_t options = takes::k_nothing;
  bool splits = false;   // runs input and weight gradients as operations of their own
  bool goldens = false;  // figures of a reference simulation or of a publication are tested
  std::string_view summary;
  std::string_view source;
  Schedule (*generate)(const Settings& settings);
};

std::span<const Generator> generators();
// "chunks", "memory-limit", ...: what the kind takes beside stages and micro-batches.
std::vector<std::string> option_names(const Generator& generator);
// The settings with the default in place of what the kind does not take.
Settings settings_taken(const Generator& generator, Settings settings);
// Throws core::ConfigurationError where the schedules of all kinds together would take too long.
void require_comparable(const Settings& settings);
// Throws core::ConfigurationError for an unknown kind (with the nearest known one).
const Generator& generator(std::string_view kind);

// Throws core::ConfigurationError for an unknown kind and for settings the kind cannot take.
Schedule generate(std::string_view kind, const Settings& settings);

}  // namespace cairn::pipeline
