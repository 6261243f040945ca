// What the ranks of each group have of a plan of shares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cairn/report/mixed_shares.h"

namespace cairn::report {

struct GroupRow {
  std::string accelerator;
  std::int64_t ranks = 0;
  std::int64_t least_samples = 0, most_samples = 0;
  std::int64_t least_state = 0, most_state = 0;  // bytes of a rank
  core::Picoseconds compute = 0;                 // of its slowest rank
  std::int64_t memory = 0;                       // of its fullest rank: state and what sequences keep
  std::int64_t capacity = 0;
};

inline std::vector<GroupRow> group_rows(const MixedSharesReport& of) {
  std::vector<GroupRow> rows;
  if (!of.answer.best) return rows;
  auto rank = of.answer.best->ranks.begin();
  for (std::size_t i = 0; i < of.groups.size(); ++i) {
    const allotment::RankType& type = of.answer.problem.types[i];
    GroupRow row{.accelerator = of.groups[i].parts.machine.accelerator.value.name,
                 .ranks = type.ranks,
                 .least_samples = rank->samples,
                 .least_state = rank->state,
                 .capacity = type.capacity};
    for (std::int64_t each = 0; each < type.ranks; ++each, ++rank) {
      const auto samples = static_cast<std::size_t>(rank->samples);
      row.least_samples = std::min(row.least_samples, rank->samples);
      row.most_samples = std::max(row.most_samples, rank->samples);
      row.least_state = std::min(row.least_state, rank->state);
      row.most_state = std::max(row.most_state, rank->state);
      row.compute = std::max(row.compute, type.compute_times[samples]);
      row.memory = std::max(row.memory, type.activations[samples] + rank->state);
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace cairn::report
