// What might have been written, for messages about what was.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cairn/config/fields.h"

namespace cairn::config {

// A value of this description as YAML: 8, '450 GB/s', [8, ...], {bandwidth: ..., latency: ...}. Changes nothing.
std::string example_of(const std::function<void(Value&)>& description);

// Every key path below this description, "strategy.tp" among them. Optional members on the way are filled with their
// defaults, so it is for descriptions of what will not be used.
std::vector<std::string> key_paths(const std::function<void(Value&)>& description);

}  // namespace cairn::config
