// Keys without an effect on any result, and keys whose effect is seldom met.
#pragma once

#include <string_view>
#include <vector>

#include "draw.h"

namespace cairn::laws {

// Whether a key of the schemas is one that no result follows, for a reason that silent_settings.cpp gives.
bool is_silent(std::string_view path);

// Reasons to be silent that are given for none of `paths`.
std::vector<std::string_view> idle_reasons(const std::vector<std::string>& paths);

// What makes a key matter that seldom does by chance: settings that are laid over the experiment, and those that are
// laid over the file of its framework, both as JSON.
struct Opened {
  std::string_view keys;
  const char* experiment;
  const char* framework = "{}";
};
// Null: chance is enough.
const Opened* opened(std::string_view path);

}  // namespace cairn::laws
