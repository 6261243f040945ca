// A document with a list of millions, of which JSON objects would take a hundred times the room of what they say.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "cairn/report/schedule.h"

namespace cairn::report {

// Sends `frame` as frame.dump(2) would write it if its empty list `name` held `count` elements: element(0),
// element(1), ..., each asked for when its turn comes. No other member of the frame has that name.
void write_long_list(const nlohmann::ordered_json& frame, std::string_view name, std::size_t count,
                     const std::function<const nlohmann::ordered_json&(std::size_t)>& element, const Sink& sink);

}  // namespace cairn::report
