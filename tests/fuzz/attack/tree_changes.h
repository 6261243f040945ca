// Changes of a YAML or JSON tree, written out again in either form.
#pragma once

#include <string>

#include "cairn/core/random.h"

namespace cairn::attack {

struct TreeChange {
  std::string donor;  // a tree whose parts may be taken over
  std::string token;  // a key or a value to put in
};

// One node of the tree of `text` left out, doubled, replaced by another, nested, renamed, or its number by an edge
// value with the unit kept. A text that is no tree comes back as it is.
std::string changed_tree_text(const std::string& text, const TreeChange& change, core::Random& random);

}  // namespace cairn::attack
