#include <cmath>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "resolving.h"

namespace cairn::experiment {
namespace {

constexpr double k_most_sequences = 9007199254740992.0;  // 2^53: whole doubles up to it are exact

// The batches next to `sequences` that are multiples of `unit`: "488 or 489 sequences, which are 3997696 or 4005888
// tokens".
std::string next_batches(double sequences, std::int64_t unit, std::int64_t seq_len) {
  const auto step = static_cast<double>(unit), tokens = static_cast<double>(seq_len);
  const double below = std::floor(sequences / step) * step, above = below + step;
  if (below < 1.0) return fmt::format("{:.0f} sequences, which are {:.0f} tokens", above, above * tokens);
  return fmt::format("{:.0f} or {:.0f} sequences, which are {:.0f} or {:.0f} tokens", below, above, below * tokens,
                     above * tokens);
}

// Tokens counted by powers of 1000 where those of 1024 are meant: ", or '4 Mi tokens', which are 512 sequences".
std::string binary_batch(double tokens, std::int64_t seq_len) {
  constexpr double k_mega = 1e6, k_mebi = 1048576.0;
  const double meant = tokens / k_mega * k_mebi, sequences = meant / static_cast<double>(seq_len);
  if (tokens != std::floor(tokens / k_mega) * k_mega || sequences != std::floor(sequences)) return {};
  return fmt::format(", or '{}', which are {:.0f} sequences", config::exact_text(meant, config::Dimension::tokens),
                     sequences);
}

}  // namespace

std::int64_t sequences_per_step(const Training& training) {
  constexpr const char* k_key = "training.global_batch";
  const GlobalBatch& given = training.global_batch;
  if (given.sequences > 0) return given.sequences;
  const double sequences = given.tokens / static_cast<double>(training.seq_len);
  if (sequences > k_most_sequences)
    throw core::ConfigurationError(k_key,
                                   fmt::format("{:.3g} sequences are more than the {:.0f} that are counted one by one",
                                               sequences, k_most_sequences),
                                   "use fewer tokens");
  if (sequences < 1.0 || sequences != std::floor(sequences))
    throw core::ConfigurationError(
        k_key, fmt::format("{:.0f} tokens are not a whole number of sequences of {}", given.tokens, training.seq_len),
        "use " + next_batches(sequences, 1, training.seq_len) + binary_batch(given.tokens, training.seq_len));
  return static_cast<std::int64_t>(sequences);
}

std::int64_t micro_batches_per_step(const Training& training, std::int64_t micro_batch, std::int64_t data) {
  const std::int64_t sequences = sequences_per_step(training);
  const std::int64_t unit = data * micro_batch;
  if (sequences % unit != 0) {
    const bool alone = data == 1;
    throw core::ConfigurationError(
        "training.global_batch",
        fmt::format("{} sequences do not divide into micro-batches of {}{}", sequences, micro_batch,
                    alone ? "" : fmt::format(" on dp {} ranks", data)),
        fmt::format("use a multiple of {}, as {}, or another {}micro_batch", unit,
                    next_batches(static_cast<double>(sequences), unit, training.seq_len), alone ? "" : "dp or "));
  }
  return sequences / unit;
}

void resolve_batch(Resolving& r) {
  plan::Strategy& strategy = r.plan.strategy;
  r.plan.global_batch = sequences_per_step(r.settings.training);
  strategy.micro_batches = micro_batches_per_step(r.settings.training, strategy.micro_batch, strategy.data);
  const std::int64_t said = r.settings.strategy.micro_batches.value_or(strategy.micro_batches);
  if (said != strategy.micro_batches)
    r.error("strategy.micro_batches",
            fmt::format("{} sequences in micro-batches of {} on dp {} ranks are {}, not {}", r.plan.global_batch,
                        strategy.micro_batch, strategy.data, strategy.micro_batches, said),
            "leave it out, or change training.global_batch");
}

}  // namespace cairn::experiment
