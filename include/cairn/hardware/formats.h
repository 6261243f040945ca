// Number formats as keys and values of configuration files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cairn/config/fields.h"
#include "cairn/numerics/format.h"

namespace cairn::hardware {

const config::Choices<numerics::Format>& format_choices();
std::optional<numerics::Format> find_format(std::string_view text);
std::string format_names();

}  // namespace cairn::hardware
