// What a plain scalar is, decided strictly: the only booleans are true and false, an integer has no leading zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cairn/config/fields.h"
#include "cairn/config/node.h"

namespace cairn::config {

enum class IntegerText : std::uint8_t { valid, no_integer, leading_zero, too_large };
IntegerText parse_integer(std::string_view text, std::int64_t& value);

std::optional<bool> as_flag(const Node& node);
Form form_of(const Node& node);  // not for null nodes; a notation is a word
bool is_notation(const Node& node);
std::string_view form_name(Form form);

// "a list", "a map", "'8x'": what was found, for messages.
std::string describe_form(const Node& node);

}  // namespace cairn::config
