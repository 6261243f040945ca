// A tree as YAML for people: block style, short maps and lists in one line.
#pragma once

#include <string>

#include "cairn/config/node.h"

namespace cairn::config {

// What parse_text() reads back to the same tree. Maps and lists of scalars that fit one line of 100 columns are
// written in it. Ends with a line break.
std::string to_yaml(const Node& node);

}  // namespace cairn::config
