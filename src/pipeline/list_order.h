// Order lists by list scheduling: every operation takes one unit of time, messages none, and a device that is free
// takes, of what is ready, a backward (lowest micro-batch, then deepest stage), else a forward (deepest stage, then
// lowest micro-batch), the latter only while fewer than `most_alive` activation sets are alive on it.
#pragma once

#include <span>

#include "kinds.h"

namespace cairn::pipeline {

// chain_of: the chain of every micro-batch. most_alive <= 0: no limit.
Schedule list_order(std::string_view kind, const Settings& settings, const Layout& layout,
                    std::span<const std::int32_t> chain_of, std::int32_t most_alive);

}  // namespace cairn::pipeline
