// Completion scripts, made of the commands and options themselves, so that they cannot fall behind.
#pragma once

#include <string>

#include "command_tree.h"

namespace cairn::cli {

std::string bash_completion(const CommandTree& tree);
std::string zsh_completion(const CommandTree& tree);
std::string fish_completion(const CommandTree& tree);

}  // namespace cairn::cli
