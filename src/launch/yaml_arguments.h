// Configurations in YAML as arguments.
#pragma once

#include <string>
#include <vector>

#include "cairn/config/node.h"
#include "table.h"

namespace cairn::launch {

// Every scalar by the keys above it, as in parallelism.dp; a list has a value for each item; nulls are absent.
std::vector<Argument> yaml_arguments(const config::Node& root);
// The other way round.
std::string yaml_text(const std::vector<Argument>& arguments);

}  // namespace cairn::launch
