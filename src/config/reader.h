// Texts of one syntax to Nodes. What is wrong goes to `diagnostics`; an unreadable text gives a null Node.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cairn/config/node.h"

namespace cairn::config {

// Of a YAML text [bytes]: its reader keeps 100 bytes and more for every open bracket of a line.
inline constexpr std::size_t k_yaml_limit = std::size_t{8} << 20;

Node read_yaml(std::string_view text, const std::shared_ptr<const std::string>& file, core::Diagnostics& diagnostics);
Node read_json(std::string_view text, const std::shared_ptr<const std::string>& file, core::Diagnostics& diagnostics);

}  // namespace cairn::config
