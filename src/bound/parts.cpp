#include "parts.h"

#include <cmath>

#include <fmt/format.h>

#include "cairn/collective/message_list.h"
#include "cairn/core/diagnostics.h"

namespace cairn::bound {
namespace {

constexpr double k_most_words = 1e18;

}  // namespace

pebble::Words whole_words(const Amount& amount, double bytes_per_word) {
  if (const auto* words = std::get_if<pebble::Words>(&amount)) {
    if (*words >= 1 && static_cast<double>(*words) < k_most_words) return *words;
    throw core::ConfigurationError("request.fast", fmt::format("{} words", *words), "give at least 1");
  }
  const double bytes = std::get<core::Bytes>(amount).base(), words = std::floor(bytes / bytes_per_word);
  if (words >= 1.0 && words < k_most_words) return static_cast<pebble::Words>(words);
  throw core::ConfigurationError("request.fast", fmt::format("{:.3g} bytes are no number of words", bytes),
                                 "give at least one word");
}

void require_one(std::int64_t count, const char* field, std::string_view what) {
  if (count < 1) throw core::ConfigurationError(field, fmt::format("{} {}", count, what), "give at least 1");
}

void require_devices(std::int64_t count) {
  if (count < 1 || count > collective::k_most_paired)
    throw core::ConfigurationError("request.devices", fmt::format("{} is no number of devices", count),
                                   fmt::format("give 1 to {}", collective::k_most_paired));
}

Machine machine_of(const hardware::Accelerator& accelerator, numerics::Format format) {
  const auto peak = accelerator.matrix_peak(format);
  return {.name = accelerator.name,
          .bytes_per_s = accelerator.device_memory().bandwidth->base(),
          .flop_per_s = peak ? std::optional(peak->base()) : std::nullopt};
}

void add_network(Answer& answer, const Links& links) {
  double rate = 0.0;
  for (const hardware::NetworkLevel& level : links.network.levels)
    rate += level.gpu_bandwidth().base() / level.oversubscription;
  double words = 0.0;
  if (answer.devices) words = answer.devices->words_one_way();
  if (answer.nodes)
    words =
        std::ceil(static_cast<double>(answer.nodes->received.lower.words) / static_cast<double>(answer.nodes->nodes));
  answer.network = {.name = links.name, .bytes_per_s = rate, .lower_s = words * answer.bytes_per_word / rate};
}

}  // namespace cairn::bound
