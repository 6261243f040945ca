// Words of layouts, as the pages of searches and sweeps share them.
#pragma once

#include <string>

#include "html/document.h"

namespace cairn::report::html {

// What of the settings at `path` is not as in those at `best`: "tp 4, recompute full"; markup, empty where nothing is.
std::string differences(const Document& document, const std::string& path, const std::string& best);
// "tp 4, pp 2, ...": the settings at `path`; markup.
std::string settings_words(const Document& document, const std::string& path);
// What the best has most or least of; markup.
std::string objective_words(const std::string& objective);

}  // namespace cairn::report::html
