// Where the sources lie that these tests were built from. One object knows it: all others are the same in any clone, so
// that a compiler's cache has them.
#pragma once

#include <string>

namespace cairn::testing {

std::string source_dir();

}  // namespace cairn::testing
