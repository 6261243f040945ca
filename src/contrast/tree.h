// Keys of an experiment's tree by their paths: strategy.overlap.dp.
#pragma once

#include <string>
#include <string_view>

#include "cairn/config/node.h"

namespace cairn::contrast {

// Null: it is left out.
const config::Node* at(const config::Node& root, std::string_view path);
// Maps on the way are made. Null: the key is left out.
void set(config::Node& root, std::string_view path, const config::Node* value);
// As a file would say it in one line, and --set takes it: {kind: full, layers: [0, 3]}. Null: empty.
std::string in_one_line(const config::Node& node);

}  // namespace cairn::contrast
