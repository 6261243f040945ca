#include "log_line.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace cairn::measure {
namespace {

constexpr char k_escape = '\x1b', k_bell = '\a', k_delete = '\x7f', k_first_printable = ' ';

// The end of the escape sequence at `at`: ESC [ ... letter (colours, cursor), ESC ] ... BEL (titles), ESC and one more.
std::size_t end_of_escape(std::string_view line, std::size_t at) {
  const char kind = at + 1 < line.size() ? line[at + 1] : '\0';
  if (kind == ']') return std::min(line.find(k_bell, at), line.size() - 1) + 1;
  if (kind != '[') return std::min(at + 2, line.size());
  std::size_t end = at + 2;
  while (end < line.size() && (line[end] < '@' || line[end] > '~')) ++end;
  return std::min(end + 1, line.size());
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

// Where ":pid:thread" begins in a word "host:pid:thread"; npos for other words.
std::size_t end_of_host(std::string_view word) {
  const std::size_t thread = word.rfind(':');
  if (thread == std::string_view::npos || thread == 0 || !is_number(word.substr(thread + 1)))
    return std::string_view::npos;
  const std::size_t process = word.rfind(':', thread - 1);
  if (process == std::string_view::npos || !is_number(word.substr(process + 1, thread - process - 1)))
    return std::string_view::npos;
  return process;
}

std::string_view without_end(std::string_view text, std::string_view ends) {
  const std::size_t last = text.find_last_not_of(ends);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::string shown_text(std::string_view line) {
  line = without_end(line, "\r");
  if (const std::size_t overwritten = line.rfind('\r'); overwritten != std::string_view::npos)
    line.remove_prefix(overwritten + 1);
  std::string text;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == k_escape) {
      at = end_of_escape(line, at);
      continue;
    }
    const bool is_control =
        (line[at] >= '\0' && line[at] < k_first_printable && line[at] != '\t') || line[at] == k_delete;
    if (!is_control) text += line[at];
    ++at;
  }
  return text;
}

std::string_view before_nccl_message(std::string_view line, const std::set<std::string>& hosts) {
  constexpr std::array<std::string_view, 4> k_marks{" NCCL INFO", " NCCL WARN", " NCCL TRACE", " NCCL ABORT"};
  std::size_t mark = std::string_view::npos;
  for (const std::string_view each : k_marks) mark = std::min(mark, line.find(each));
  if (mark == std::string_view::npos) return line;
  std::string_view before = line.substr(0, mark);
  // From the right: file:line of the source in some releases, [device], host:pid:thread.
  while (!before.empty()) {
    before = without_end(before, " \t");
    const std::size_t space = before.find_last_of(" \t");
    const std::size_t begin = space == std::string_view::npos ? 0 : space + 1;
    const std::string_view word = before.substr(begin);
    before = before.substr(0, begin);
    const std::size_t end = end_of_host(word);
    if (end == std::string_view::npos) continue;
    const std::string_view host = word.substr(0, end);
    std::size_t known_end = 0;  // of `host` that is a known one's name; where none is, the word is all the message's
    for (const std::string& known : hosts)
      if (host.ends_with(known)) known_end = std::max(known_end, known.size());
    before = line.substr(0, begin + (known_end > 0 ? host.size() - known_end : 0));
    break;
  }
  before = without_end(before, " \t");
  // The time of a message, or the tag that a launcher gives each piece of a line, stands in brackets.
  if (before.ends_with(']')) before = before.substr(0, std::min(before.rfind('['), before.size()));
  return before;
}

}  // namespace cairn::measure
