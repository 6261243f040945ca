#include "calibration_words.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "cairn/core/format_units.h"

namespace cairn::report {
namespace {

// The forms that the parameters belong to: include/cairn/cost/{gemm,attention,memory_bound,transfer}.h.
constexpr std::array k_words{
    ParameterWords{"tensor_efficiency", "matrix-unit efficiency", ParameterUnit::share,
                   "of the peak rate of the matrix units, in short runs"},
    ParameterWords{"memory_efficiency", "memory efficiency", ParameterUnit::share, "of the stated memory bandwidth"},
    ParameterWords{"efficiency", "memory efficiency", ParameterUnit::share, "of the stated memory bandwidth"},
    ParameterWords{"exp_efficiency", "exponential efficiency", ParameterUnit::share,
                   "of the rate at which the device can compute exponentials"},
    ParameterWords{"launch_floor", "shortest call", ParameterUnit::seconds,
                   "the least that a framework's call of the operator takes"},
    ParameterWords{"gap", "gap between kernels", ParameterUnit::seconds,
                   "from the end of one to the start of the next"},
    ParameterWords{"start", "start of a chain", ParameterUnit::seconds,
                   "what its first launch waits for; not kept in the calibration"},
    ParameterWords{"quantise_passes", "quantisation passes", ParameterUnit::times,
                   "that the input is read and written to quantise it"},
    ParameterWords{"step_floor", "shortest step along K", ParameterUnit::seconds,
                   "the least that a tile takes for one load of operands"},
    ParameterWords{"operand_bandwidth", "operand bandwidth", ParameterUnit::bytes_per_second,
                   "into one multiprocessor, as far as the matrix units wait for it"},
    ParameterWords{"epilogue", "unhidden output", ParameterUnit::share,
                   "of the writing of the output that the main loop does not hide"},
    ParameterWords{"overlap_exponent", "overlap exponent", ParameterUnit::exponent,
                   "no unit: 1 adds compute and memory time, a large one takes the longer of the two"},
    ParameterWords{"droop", "slow-down of long kernels", ParameterUnit::share,
                   "more time at most for compute-bound kernels that run long"},
    ParameterWords{"split_cost", "cost of splitting K", ParameterUnit::seconds,
                   "of the second kernel of a product that is split along K"},
    ParameterWords{"tile_overhead", "tile overhead", ParameterUnit::seconds,
                   "of filling and draining the pipeline of one tile"},
    ParameterWords{"row", "time of a query row", ParameterUnit::seconds,
                   "on one multiprocessor, for each row of queries beside its products"},
    ParameterWords{"tail", "weight of the tail", ParameterUnit::times,
                   "the longest tile of queries, which finishes last"},
    ParameterWords{"query_traffic", "traffic of queries", ParameterUnit::times,
                   "that queries are read and results written"},
    ParameterWords{"kv_traffic", "traffic of keys", ParameterUnit::times, "that keys and values are read"},
    ParameterWords{"pass", "pass over keys", ParameterUnit::seconds,
                   "for each key of each head, of the benchmark alone: in no price of training"},
    ParameterWords{"low_latency", "latency of short messages", ParameterUnit::seconds,
                   "of an empty message in the protocol for short ones (NCCL's LL)"},
    ParameterWords{"low_bandwidth", "bandwidth of short messages", ParameterUnit::bytes_per_second,
                   "that one rank sends in that protocol"},
    ParameterWords{"middle_latency", "latency of medium messages", ParameterUnit::seconds,
                   "of an empty message in the protocol for medium ones (NCCL's LL128)"},
    ParameterWords{"middle_bandwidth", "bandwidth of medium messages", ParameterUnit::bytes_per_second,
                   "that one rank sends in that protocol"},
    ParameterWords{"simple_latency", "latency of long messages", ParameterUnit::seconds,
                   "of an empty message in the protocol for long ones (NCCL's Simple)"},
    ParameterWords{"simple_bandwidth", "bandwidth of long messages", ParameterUnit::bytes_per_second,
                   "that one rank sends in that protocol once the links are full"},
    ParameterWords{"simple_ramp", "slow start of long messages", ParameterUnit::seconds_per_root_byte,
                   "more, times the square root of the bytes, until the links are full"}};

bool is_of_key(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

const ParameterWords* words_for(std::string_view key) {
  const auto* found =
      std::find_if(k_words.begin(), k_words.end(), [&](const ParameterWords& each) { return each.key == key; });
  return found == k_words.end() ? nullptr : found;
}

std::string parameter_text(double value, ParameterUnit unit) {
  constexpr double k_percent = 100.0;
  switch (unit) {
    case ParameterUnit::seconds:
      return core::format(core::Seconds::from_base(value));
    case ParameterUnit::seconds_per_root_byte:
      return core::format(core::Seconds::from_base(value)) + "/sqrt(B)";
    case ParameterUnit::bytes_per_second:
      return core::format(core::BytesPerSecond::from_base(value));
    case ParameterUnit::share:
      return fmt::format("{:.1f} %", k_percent * value);
    case ParameterUnit::times:
      return fmt::format("{:.4g} times", value);
    case ParameterUnit::exponent:
      break;
  }
  return fmt::format("{:.4g}", value);
}

std::string in_words(std::string_view keys) {
  std::string text;
  for (std::size_t at = 0; at < keys.size();) {
    std::size_t end = at;
    while (end < keys.size() && is_of_key(keys[end])) ++end;
    const std::string_view key = keys.substr(at, end - at);
    const ParameterWords* words = words_for(key);
    text += words != nullptr ? words->name : key;
    if (end < keys.size()) text += keys[end++];
    at = end;
  }
  return text;
}

}  // namespace cairn::report
