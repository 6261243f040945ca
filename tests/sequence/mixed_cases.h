// Batches of mixed lengths for tests: costs, lengths, and what every answer must hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/sequence/mixed.h"
#include "catch.h"

namespace cairn::sequence::mixed_cases {

using Lengths = std::vector<std::int64_t>;
using Time = core::Picoseconds;

// Costs in whole picoseconds: every time is an integer for up to 8 ranks, so that rounding decides nothing.
constexpr std::int64_t k_all_divide = 840;  // 1 ... 8 divide it
struct WholeCosts {
  std::int64_t quadratic = 0;  // a, b, e: units of k_all_divide microseconds
  std::int64_t linear = 0;
  std::int64_t exchanged = 0;
  Time fixed = 0;
  std::vector<std::int64_t> degrees = {};
  std::vector<std::int64_t> slowness = {};  // of the all-to-all of each degree
  std::int64_t tokens_per_rank = 0;

  Time unit(std::int64_t amount) const { return amount * k_all_divide * 1'000'000; }
  Time time(std::int64_t tokens, std::size_t j) const {
    const std::int64_t d = degrees[j];
    const Time exchange = d > 1 ? unit(exchanged * tokens * slowness[j]) / d : 0;
    return unit(quadratic * tokens * tokens + linear * tokens) / d + exchange;
  }
  Time ring(std::int64_t tokens, std::int64_t d) const {
    return unit(quadratic * tokens * tokens + linear * tokens) / d;
  }
};

inline GroupCosts group_costs(const WholeCosts& whole) {
  const double unit = static_cast<double>(k_all_divide) * 1e-6;
  GroupCosts costs;
  costs.work = {.quadratic = static_cast<double>(whole.quadratic) * unit,
                .linear = static_cast<double>(whole.linear) * unit,
                .fixed = core::Seconds::from_base(core::to_seconds(whole.fixed))};
  costs.exchanged = core::Bytes::from_base(static_cast<double>(whole.exchanged) * 1e6);
  for (std::size_t j = 0; j < whole.degrees.size(); ++j)
    costs.degrees.push_back(
        {.ranks = whole.degrees[j],
         .rate = core::BytesPerSecond::from_base(1e6 / unit / static_cast<double>(whole.slowness[j]))});
  costs.memory = {.state = core::Bytes::from_base(16.0),
                  .activation = core::Bytes::from_base(1.0),
                  .capacity = core::Bytes::from_base(16.0 + static_cast<double>(whole.tokens_per_rank))};
  return costs;
}

inline RingCosts ring_costs(const WholeCosts& whole) {
  return {.work = group_costs(whole).work, .circulated = {}, .rate = {}, .tokens_per_rank = whole.tokens_per_rank};
}

inline WholeCosts random_costs(core::Random& random, std::int64_t ranks) {
  WholeCosts whole;
  whole.quadratic = static_cast<std::int64_t>(random.below(3));
  whole.linear = 1 + static_cast<std::int64_t>(random.below(20));
  whole.exchanged = static_cast<std::int64_t>(random.below(4));
  whole.fixed = whole.unit(static_cast<std::int64_t>(random.below(100)));
  for (std::int64_t d = 1; d <= ranks; ++d) {
    const bool power = (d & (d - 1)) == 0;
    if (random.below(4) < (power ? 3U : 1U)) whole.degrees.push_back(d);
  }
  if (whole.degrees.empty()) whole.degrees = {ranks};
  for (std::size_t j = 0; j < whole.degrees.size(); ++j)
    whole.slowness.push_back(1 + static_cast<std::int64_t>(random.below(1 + j * 4)));
  whole.tokens_per_rank = 4 + static_cast<std::int64_t>(random.below(40));
  return whole;
}

inline Lengths random_lengths(core::Random& random, std::uint64_t most) {
  Lengths lengths(1 + random.below(most));
  const std::uint64_t longest = 1 + random.below(60);
  for (std::int64_t& length : lengths) length = 1 + static_cast<std::int64_t>(random.below(longest));
  return lengths;
}

// What is wrong with groups that claim to hold these sequences; marks those they hold.
inline std::string group_fault(const std::vector<RankGroup>& groups, std::int64_t ranks, std::vector<int>& held) {
  std::int64_t used = 0;
  for (const RankGroup& group : groups) {
    used += group.ranks;
    if (group.sequences.empty()) return "an empty group";
    if (!std::ranges::is_sorted(group.sequences)) return "a group out of order";
    for (const std::int64_t i : group.sequences) ++held.at(static_cast<std::size_t>(i));
  }
  return used > ranks ? "more ranks than there are" : "";
}

inline bool once_each(const std::vector<int>& held) {
  return std::ranges::all_of(held, [](int times) { return times == 1; });
}

inline void check_groups(const GroupedBatch& batch, const Lengths& lengths, std::int64_t ranks,
                         const GroupCosts& costs) {
  std::vector<int> held(lengths.size(), 0);
  CHECK(group_fault(batch.groups, ranks, held).empty());
  CHECK(once_each(held));
  Time longest = 0;
  bool all_fit = true, times_add_up = true;
  for (const RankGroup& group : batch.groups) {
    const auto degree = std::ranges::find(costs.degrees, group.ranks, &GroupDegree::ranks);
    REQUIRE(degree != costs.degrees.end());
    Time time = core::to_picoseconds(costs.work.fixed.base());
    double tokens = 0.0;
    for (const std::int64_t i : group.sequences) {
      time += exchange_time(costs, *degree, lengths[i]);
      tokens += static_cast<double>(lengths[i]);
    }
    const core::Bytes bytes = costs.memory.state + costs.memory.activation * tokens / static_cast<double>(group.ranks);
    all_fit = all_fit && bytes / costs.memory.capacity <= 1.0 + 1e-12;
    times_add_up = times_add_up && time == group.time;
    longest = std::max(longest, time);
  }
  CHECK(all_fit);
  CHECK(times_add_up);
  CHECK(batch.time == longest);
  CHECK(batch.lower_bound <= batch.time);
}

inline void check_waves(const WavedBatch& batch, const Lengths& lengths, std::int64_t ranks, const RingCosts& costs,
                        std::optional<std::int64_t> degree = {}) {
  std::vector<int> held(lengths.size(), 0);
  Time sum = 0;
  bool all_fit = true, times_add_up = true;
  for (const std::vector<RankGroup>& wave : batch.waves) {
    CHECK(group_fault(wave, ranks, held).empty());
    Time longest = 0;
    for (const RankGroup& group : wave) {
      Time time = core::to_picoseconds(costs.work.fixed.base());
      std::int64_t tokens = 0;
      for (const std::int64_t i : group.sequences) {
        time += ring_time(costs, group.ranks, lengths[i]);
        tokens += lengths[i];
        const std::int64_t least = (lengths[i] + costs.tokens_per_rank - 1) / costs.tokens_per_rank;
        all_fit = all_fit && group.ranks == degree.value_or(least);
      }
      all_fit = all_fit && tokens <= costs.tokens_per_rank * group.ranks;
      times_add_up = times_add_up && time == group.time;
      longest = std::max(longest, time);
    }
    sum += longest;
  }
  CHECK(once_each(held));
  CHECK(all_fit);
  CHECK(times_add_up);
  CHECK(batch.time == sum);
  CHECK(batch.lower_bound <= batch.time);
}

// FlexSP's 7B model on 64 A100 with ZeRO-3 and 28 GiB of each for it, as in the training script and the solver of
// PKU-DAIR/Hetu-Galvatron (galvatron/models/gpt_hf, galvatron/flexsp_solver/solver.py), context 192K. Its all-to-all
// rates divide MiB into milliseconds. Figures of one machine: for tests alone.
inline GroupCosts flexsp_7b_on_64() {
  constexpr double k_layers = 32.0, k_hidden = 4096.0, k_parameters = 7.1174468994140625 * 1024.0 * 1024.0 * 1024.0;
  constexpr double k_bytes_per_parameter = 16.0, k_mebibytes_per_millisecond = 1024.0 * 1024.0 * 1e3;
  GroupCosts costs;
  costs.work = {.quadratic = 5.128e-9, .linear = 183.9576e-6, .fixed = core::Seconds::from_base(629.3563e-3)};
  costs.exchanged = core::Bytes::from_base(4.0 * 2.0 * k_layers * k_hidden * 2.0);
  costs.degrees = {{.ranks = 1}};
  for (const auto& [ranks, rate] : std::initializer_list<std::pair<std::int64_t, double>>{
           {2, 119.54}, {4, 104.07}, {8, 96.5}, {16, 10.33}, {32, 5.94}, {64, 4.87}})
    costs.degrees.push_back(
        {.ranks = ranks, .rate = core::BytesPerSecond::from_base(rate * k_mebibytes_per_millisecond)});
  costs.memory = {.state = core::Bytes::from_base(k_parameters * k_bytes_per_parameter / 64.0),
                  .activation = 4.480441895 * core::k_mebibyte,
                  .capacity = 28.0 * core::k_gibibyte};
  return costs;
}

}  // namespace cairn::sequence::mixed_cases
