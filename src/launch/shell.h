// The words that a launch script hands to the training program.
//
// Of the shell's language it reads what such scripts set arguments with: assignments, arrays, quotes, line
// continuations, $NAME, ${NAME}, ${NAME:-default}, "${ARRAY[@]}", $((arithmetic)), if with tests of texts and numbers,
// and simple commands. Nothing is run: a command's output stays as it is written, $(date), a test of a file holds.
// Loops, functions, case, source and here-documents are errors with their line and column.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/node.h"

namespace cairn::launch {

inline constexpr std::size_t k_script_limit = std::size_t{1} << 20;  // bytes of a script, and of any of its variables

struct Word {
  std::string text = {};
  config::Place place = {};
};

struct Script {
  std::vector<Word> launcher = {};                    // torchrun and its options
  std::vector<Word> arguments = {};                   // what follows the training program's name
  std::vector<std::string> unset = {};                // variables that were read and never set, each once
  bool assumes_files = false;                         // a test of a file was met
  std::string taken_from = {};                        // variables that hold the arguments, where nothing is launched
  std::map<std::string, std::string> variables = {};  // that hold one word, as they are at the end
};

// `definitions`: NAME=VALUE, the environment and the positional parameters (1=path). Throws core::ConfigurationError
// with the place of what it does not read.
Script read_script(std::string_view text, const std::string& file_name, const std::vector<std::string>& definitions);

}  // namespace cairn::launch
