// The colours of text reports.
#pragma once

#include <span>
#include <string_view>

namespace cairn::report {

// Every control sequence that a text report holds when TextStyle::color is set: SGR of ISO 6429.
std::span<const std::string_view> colours();

}  // namespace cairn::report
