// What rank 0 prints: a line for each scheme and grid, over all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rank_run.h"

namespace cairn::attention_mpi {

std::string heading(int ranks);

// What all ranks find out together, the same on each.
struct GroupOutcome {
  std::vector<std::int64_t> sent = {}, received = {};  // by pass, of the rank that has most [B]
  std::int64_t fp32_sent = 0;                          // of all passes, of the rank that has most [B]
  double largest_error = 0.0;
  std::int64_t differences = 0;
};
GroupOutcome gather(const RankOutcome& outcome);
std::string line(const sequence::Scheme& scheme, const sequence::Grid& grid, const GroupOutcome& outcome);

}  // namespace cairn::attention_mpi
