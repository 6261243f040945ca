#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

// True when the text holds every part. Substring matchers are named differently in Catch2 2 and 3.
inline bool mentions(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}
