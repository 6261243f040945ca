// The configurations that come with the program.
#pragma once

#include "cairn/config/loader.h"
#include "support/source_dir.h"

namespace cairn::testing {

inline config::Loader shipped() { return config::Loader({cairn::testing::source_dir() + "/configs"}); }

}  // namespace cairn::testing
