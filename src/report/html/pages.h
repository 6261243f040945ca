// One page for each kind of document.
#pragma once

#include <string>

#include "html/document.h"

namespace cairn::report::html {

std::string run_page(const Document& document);
std::string search_page(const Document& document);
std::string sweep_page(const Document& document);

}  // namespace cairn::report::html
