// Functions that public headers declare and nothing in src or include calls: what only tests use is no part of a
// library, unless it is for programs that are built on it.
//
// A call is an occurrence of the name in code that neither declares nor defines it. Functions of one name count as one,
// so some that nobody calls are missed; none that has a caller is named.
#pragma once

#include <filesystem>
#include <vector>

#include "rules.h"

namespace cairn::architecture {

// By name; Violation::what is the name of the function, at its declaration.
std::vector<Violation> functions_without_caller(const std::filesystem::path& root);

}  // namespace cairn::architecture
