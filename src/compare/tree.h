// Keys of an experiment's tree by their paths: strategy.overlap.dp.
#pragma once

#include <string_view>

#include "cairn/config/node.h"

namespace cairn::compare {

// Null: it is left out.
const config::Node* at(const config::Node& root, std::string_view path);
// Maps on the way are made. Null: the key is left out.
void set(config::Node& root, std::string_view path, const config::Node* value);

}  // namespace cairn::compare
