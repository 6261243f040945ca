// Whether lists can be executed at all: what they name is there, in order, and both ends of a message know it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cairn/sequence/list.h"

namespace cairn::sequence {

// Tokens and heads that there are not.
std::optional<std::string> find_misplaced(const Problem& problem, const Tokens& tokens, const Heads& heads);
std::optional<std::string> find_misfit(const Problem& problem, std::span<const RankList> lists);

}  // namespace cairn::sequence
