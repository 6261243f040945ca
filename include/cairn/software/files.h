// From the configuration files to profiles and recipes.
//
// Functions named read_ add what is wrong to `diagnostics` and return what they could read; the caller raises.
// `key_path` is where the experiment names the thing ("training.framework").
#pragma once

#include <string_view>

#include "cairn/config/loaded.h"
#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/software/framework.h"
#include "cairn/software/precision.h"
#include "cairn/software/software.h"

namespace cairn::software {

// What an experiment that names none is read with.
inline constexpr std::string_view k_default_precision = "bf16";
inline constexpr std::string_view k_default_framework = "megatron";
// A recipe's name, or {recipe: name, overriding keys}; without `recipe` the overrides are over the default. Null: the
// default.
config::Loaded<PrecisionRecipe> read_precision(const config::Loader& loader, const config::Node& reference,
                                               std::string_view key_path, core::Diagnostics& diagnostics);
// A framework's name, with or without a release: megatron, megatron@2024. Null: the default. Or {file: name, keys over
// its profile}: config::merge_within_values, so that one kernel is changed by naming it alone. Or a whole profile.
config::Loaded<FrameworkProfile> read_framework(const config::Loader& loader, const config::Node& reference,
                                                std::string_view key_path, core::Diagnostics& diagnostics);

// By name; throw core::ConfigurationError with everything wrong.
PrecisionRecipe load_precision(const config::Loader& loader, std::string_view name);
FrameworkProfile load_framework(const config::Loader& loader, std::string_view name);
Software load_software(const config::Loader& loader, std::string_view framework = k_default_framework,
                       std::string_view precision = k_default_precision);

}  // namespace cairn::software
