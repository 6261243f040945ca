#include "scalar.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/core/assert.h"

namespace cairn::config {

IntegerText parse_integer(std::string_view text, std::int64_t& value) {
  std::string_view digits = text;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  const bool all_digits =
      !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!all_digits) return IntegerText::no_integer;
  if (digits.size() > 1 && digits[0] == '0') return IntegerText::leading_zero;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? IntegerText::valid : IntegerText::too_large;
}

std::optional<bool> as_flag(const Node& node) {
  if (!node.is_scalar() || node.quoted) return std::nullopt;
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  return std::nullopt;
}

Form form_of(const Node& node) {
  CAIRN_ASSERT(!node.is_null());
  if (node.is_list()) return Form::list;
  if (node.is_map()) return Form::map;
  if (as_flag(node)) return Form::flag;
  return !node.quoted && parse_number(node.text) ? Form::number : Form::word;
}

bool is_notation(const Node& node) {
  const auto of_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return form_of(node) == Form::word && !std::all_of(node.text.begin(), node.text.end(), of_name);
}

std::string_view form_name(Form form) {
  switch (form) {
    case Form::flag:
      return "true or false";
    case Form::number:
      return "a number";
    case Form::word:
      return "a name";
    case Form::notation:
      return "a notation";
    case Form::list:
      return "a list";
    case Form::map:
      return "a map";
  }
  CAIRN_ASSERT(false);
  return {};
}

std::string describe_form(const Node& node) {
  switch (node.kind) {
    case NodeKind::null:
      return "nothing";
    case NodeKind::list:
      return "a list";
    case NodeKind::map:
      return "a map";
    case NodeKind::scalar:
      return node.quoted ? fmt::format("the text {}", quote(node.text)) : quote(node.text);
  }
  CAIRN_ASSERT(false);
  return {};
}

}  // namespace cairn::config
