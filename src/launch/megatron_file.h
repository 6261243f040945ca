// Megatron-LM's arguments as a shell script, or as bare words.
#pragma once

#include <string>
#include <string_view>

#include "cairn/launch/launch.h"
#include "table.h"

namespace cairn::launch {

Import read_megatron(std::string_view text, const std::string& file_name, const Given& given);
std::string megatron_text(const Export& exported);

}  // namespace cairn::launch
