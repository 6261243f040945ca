// The one way from a JSON document to text. Bytes that are not UTF-8, as tables of others, file names and lines of a
// batch may hold them, become U+FFFD: no content makes a document impossible.
#pragma once

#include <string>

namespace cairn::core {

// With a negative `indent` one line.
template <class Json>
std::string json_text(const Json& document, int indent = -1) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cairn::core
