// What single options cannot say: which of a command's options go together.
#pragma once

#include "arguments.h"

namespace cairn::cli {

// Throws core::ConfigurationError, naming the option that is too many or missing.
void check(const CommandArguments& command);

}  // namespace cairn::cli
