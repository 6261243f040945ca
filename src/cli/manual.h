// The manual page, made of the commands and options themselves, so that it cannot fall behind.
#pragma once

#include <string>
#include <string_view>

#include "command_tree.h"

namespace cairn::cli {

// cairn(1) in the macros of man(7). `remarks`: what the program's help says below its commands.
std::string manual(const CommandTree& tree, std::string_view remarks);

}  // namespace cairn::cli
