#pragma once

#include <string>
#include <vector>

namespace cairn::cli {

// The glossary, or these words of it, in lines of 80 columns. Throws core::ConfigurationError for a word that is not in
// it.
std::string glossary_text(const std::vector<std::string>& words);

}  // namespace cairn::cli
