// Changes of a text that keep most of it: a random text never gets past the first check.
//
// Three levels, chosen at random and mixed: bytes; tokens (words and numbers, put in from the schemas, the seeds and a
// list of edge values); structure (nodes of a YAML or JSON tree, rows and cells of a table, elements, words of a
// command line: left out, doubled, swapped, nested, taken from another seed).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/core/random.h"
#include "surface.h"

namespace cairn::attack {

class Mutator {
 public:
  // `seeds` holds one at least; `tokens` may be empty.
  Mutator(Grammar grammar, std::vector<std::string> seeds, std::vector<std::string> tokens);

  // Input `index` of a sequence: the same for the same seed, whatever was asked before.
  std::string input(std::uint64_t seed, std::uint64_t index) const;
  // One change of `text`, or several: each further one half as often.
  std::string changed(std::string text, core::Random& random) const;

 private:
  std::string changed_tokens(std::string text, core::Random& random) const;
  std::string changed_structure(std::string text, core::Random& random) const;
  std::string changed_tree(const std::string& text, core::Random& random) const;
  std::string changed_records(const std::string& text, core::Random& random) const;
  std::string token(core::Random& random) const;

  Grammar grammar_;
  std::vector<std::string> seeds_;
  std::vector<std::string> tokens_;
};

// Numbers at the edges of what types hold, and what is none.
std::span<const std::string_view> edge_values();

}  // namespace cairn::attack
