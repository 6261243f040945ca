// Runs a schedule with equal stages under times that are exact fractions: start and end of every operation, exactly.
//
// Times are counted in ticks of 1/ticks_per_unit, chosen so that every operation of every chunk takes a whole number of
// them: nothing is rounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cairn/pipeline/fraction.h"
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"

namespace cairn::pipeline {

// Of a device's 1/stages of the model and one micro-batch.
struct ExactTimes {
  Fraction forward{.numerator = 1, .denominator = 1};
  Fraction input_gradient{.numerator = 1, .denominator = 1};
  Fraction weight_gradient{.numerator = 1, .denominator = 1};
  std::optional<Fraction> forward_backward = std::nullopt;        // of the two joined; absent: their sum
  Fraction delay{.numerator = 0, .denominator = 1};               // between devices
  Fraction vocabulary_forward{.numerator = 0, .denominator = 1};  // of a device's share of the output layer
  Fraction vocabulary_backward{.numerator = 0, .denominator = 1};
  Fraction optimizer{.numerator = 0, .denominator = 1};
  Fraction communication{.numerator = 0, .denominator = 1};
  Fraction offload{.numerator = 0, .denominator = 1};  // of a micro-batch's activations of a full stage, one way
};

struct ExactRun {
  Schedule schedule;
  SweepOrder order;
  SweepResult result;  // [ticks]
  std::int64_t ticks_per_unit = 1;

  Fraction in_units(std::int64_t ticks) const { return fraction(ticks, ticks_per_unit); }
  std::int64_t span() const;  // the longest of a device, first start to last end [ticks]
};

// Throws core::ConfigurationError for settings the kind does not take and for times that cannot be counted together.
ExactRun run_exactly(std::string_view kind, const Settings& settings, const ExactTimes& times);
// A given schedule in place of a kind's.
ExactRun run_exactly(Schedule schedule, const ExactTimes& times);

}  // namespace cairn::pipeline
