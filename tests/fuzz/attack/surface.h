// Where foreign text enters the program: every file that it reads and every word that it is given.
//
// A new surface is one line in surfaces.def and a folder of seeds, tests/fuzz/corpus/<name>/. Everything that attacks
// (the test, the program, libFuzzer's harness) loops over the table; a test holds it against the options, the schemas
// and the configuration folders that the program has.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cairn::attack {

// What a text is made of: decides how its structure is changed.
enum class Grammar : std::uint8_t {
  tree,    // YAML or JSON
  table,   // CSV
  lines,   // items apart by blanks, one record a line
  markup,  // XML
  words,   // of a command line, one a line
};

struct Surface {
  std::string_view name;  // its folder of seeds
  Grammar grammar;
  std::string_view place;    // of the file that holds the input, below a folder of configurations that holds the
                             // fixtures, too; empty: words
  std::string_view command;  // apart by blanks: @ that file, * the words of the input, $x the fixture x, $out.x a
                             // file that is written, [x] a word of every second input
  std::string_view schemas;  // of `cairn schema`, apart by blanks: their keys and words are tokens
  std::string_view seeds;    // shipped files beside those of the folder: a folder of the tree, or one file
};

std::span<const Surface> surfaces();
const Surface* find_surface(std::string_view name);

}  // namespace cairn::attack
