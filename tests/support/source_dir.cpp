#include "support/source_dir.h"

namespace cairn::testing {

std::string source_dir() { return CAIRN_SOURCE_DIR; }

}  // namespace cairn::testing
