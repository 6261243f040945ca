// A value of an experiment's tree in words.
#pragma once

#include <string>

#include "cairn/config/node.h"

namespace cairn::contrast {

// As a file would say it in one line, and --set takes it: {kind: full, layers: [0, 3]}. Null: empty.
std::string in_one_line(const config::Node& node);

}  // namespace cairn::contrast
