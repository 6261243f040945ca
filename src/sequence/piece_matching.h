// Whether the lists of all ranks of one pass name what there is, in order, and send what others receive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/sequence/piece_list.h"

namespace cairn::sequence {

std::optional<std::string> mismatch(const Formula& formula, const std::vector<RankPass>& ranks);

}  // namespace cairn::sequence
