// Words that the texts of a run share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "amounts.h"
#include "cairn/report/run.h"

namespace cairn::report {

std::string run_name(const Run& run);
// "406 B parameters on 16384 x H100 SXM5 80 GB, 2048 nodes; bf16, megatron"
std::string machine_words(const Run& run);
// "tp 8 with sp, pp 16, dp 128, zero 1; 1f1b; recompute full; 2048 sequences of 8192 tokens, 16 micro-batches of 1 on
// each rank"
std::string plan_words(const Run& run);

// "imbalance", "tp exposed"; and what that is.
std::string name(const predict::CauseTime& cause);
std::string_view meaning(const predict::CauseTime& cause);
// The causes summed over stages, longest first.
std::vector<predict::CauseTime> by_cause(const predict::Causes& causes);

inline constexpr std::string_view k_no_remedy = "no one or two settings are enough: use more or larger accelerators";
// Settings as words of a command line.
std::string joined(const std::vector<std::string>& settings);

// "If simulation.contention=true (transfers share links): 1.21 s (15 %) more"
std::string effect_words(const experiment::Effect& effect, double step_s);

// "Measured 11.2 s: 1.2 s (12 %) more than predicted"
std::string measured_words(const contrast::Explanation& measured);
// "9.924 s if the attention kernel is flash2 (5.5 % below)": of what was measured
std::string fact_words(const contrast::Fact& fact, core::Picoseconds measured);
// Facts with which the prediction is nearer to what was measured.
std::vector<contrast::Fact> helpful(const contrast::Explanation& measured);

// The short answer: at most 24 lines of 80 columns.
std::string screen(const Run& run, const TextStyle& style);

}  // namespace cairn::report
