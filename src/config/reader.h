// Texts of one syntax to Nodes. What is wrong goes to `diagnostics`; an unreadable text gives a null Node.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cairn/config/node.h"

namespace cairn::config {

Node read_yaml(std::string_view text, const std::shared_ptr<const std::string>& file, core::Diagnostics& diagnostics);
Node read_json(std::string_view text, const std::shared_ptr<const std::string>& file, core::Diagnostics& diagnostics);

}  // namespace cairn::config
