#include "long_list.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/assert.h"
#include "cairn/core/json_text.h"

namespace cairn::report {
namespace {

constexpr int k_level = 2;                            // columns
constexpr std::size_t k_sent = std::size_t{1} << 16;  // bytes sent at once

// `break_of_lines` in place of every break.
void append_shifted(std::string& out, std::string_view text, std::string_view break_of_lines) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out.append(text.substr(0, end)).append(break_of_lines);
    text.remove_prefix(end + 1);
  }
  out += text;
}

}  // namespace

void write_long_list(const nlohmann::ordered_json& frame, std::string_view name, std::size_t count,
                     const std::function<const nlohmann::ordered_json&(std::size_t)>& element, const Sink& sink) {
  const std::string whole = core::json_text(frame, k_level);
  const std::string member = fmt::format("\"{}\": []", name);  // elsewhere its quotes would be escaped
  const std::size_t place = whole.find(member);
  CAIRN_ASSERT(place != std::string::npos && whole.find(member, place + 1) == std::string::npos);
  const std::size_t begin = place + member.size() - 1;
  const std::string outside = whole.substr(whole.rfind('\n', place), place - whole.rfind('\n', place));
  const std::string inside = outside + std::string(k_level, ' ');

  std::string part = whole.substr(0, begin);
  for (std::size_t i = 0; i < count; ++i) {
    part.append(i > 0 ? "," : "").append(inside);
    append_shifted(part, core::json_text(element(i), k_level), inside);
    if (part.size() < k_sent) continue;
    sink(part);
    part.clear();
  }
  if (count > 0) part += outside;
  sink(part.append(whole, begin));
}

}  // namespace cairn::report
