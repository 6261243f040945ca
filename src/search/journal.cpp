#include "cairn/search/journal.h"

#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/diagnostics.h"
#include "explorer.h"
#include "findings_json.h"

namespace cairn::search {
namespace {

using nlohmann::json;

constexpr const char* k_journal = "cairn search 3";  // and the version of its form
constexpr std::string_view k_any_version = "cairn search ";

core::ConfigurationError wrong(const std::string& file, std::size_t line, std::string message, std::string hint) {
  return core::ConfigurationError(
      {core::Diagnostic::at_line(file, static_cast<int>(line), std::move(message), std::move(hint))});
}
core::ConfigurationError broken(const std::string& file, std::size_t line) {
  return wrong(file, line, "this line does not say what was found of a box",
               "delete the file, and the search begins anew");
}

}  // namespace

Journal::Journal(std::string of, std::string text, std::string file, std::function<void(std::string_view)> append)
    : text_(std::move(text)), file_(std::move(file)), append_(std::move(append)) {
  const char* const k_remedy = "name the journal of this search, or a file that does not exist yet";
  const json asked = {{"journal", k_journal}, {"of", json::parse(of)}};
  first_line_ = asked.dump() + "\n";
  if (text_.size() < first_line_.size() && first_line_.starts_with(text_)) text_.clear();
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text_.size();) {
    const std::size_t end = text_.find('\n', begin);
    ++number;
    if (end == std::string::npos) {
      if (number == 1) throw wrong(file_, number, "this is no journal of a search", k_remedy);
      break;  // cut off
    }
    const std::string_view line(text_.data() + begin, end - begin);
    const json read = json::parse(line, nullptr, false);
    if (number == 1) {
      if (read.is_object() && read.contains("journal") && read["journal"].is_string() && read["journal"] != k_journal &&
          read["journal"].get<std::string>().starts_with(k_any_version))
        throw wrong(file_, number, "this journal was written by another version of the program",
                    "name a file that does not exist yet, and the search begins anew");
      if (!read.is_object() || !read.contains("journal") || read["journal"] != k_journal || !read.contains("of"))
        throw wrong(file_, number, "this is no journal of a search", k_remedy);
      if (read != asked) {
        std::string which;
        for (const auto& [key, value] : asked["of"].items())
          if (!read["of"].is_object() || !read["of"].contains(key) || read["of"][key] != value)
            which += (which.empty() ? "" : ", ") + key;
        throw wrong(file_, number, fmt::format("this is the journal of another search: {} differ", which), k_remedy);
      }
    } else {
      try {
        lines_[key_of(read)] = {.number = number, .begin = begin, .end = end};
      } catch (const json::exception&) {
        throw broken(file_, number);
      }
    }
    begin = end + 1;
    whole_bytes_ = begin;
  }
}

void Journal::begin() {
  if (whole_bytes_ == 0) append_(first_line_);
}

bool Journal::has(const Box& box) const { return lines_.contains(key_of(box)); }

std::optional<Findings> Journal::known(const Box& box) const {
  const auto found = lines_.find(key_of(box));
  if (found == lines_.end()) return std::nullopt;
  const Line& line = found->second;
  try {
    const auto at = [this](std::size_t place) { return text_.begin() + static_cast<std::ptrdiff_t>(place); };
    return findings_of(json::parse(at(line.begin), at(line.end)), box);
  } catch (const json::exception&) {
    throw broken(file_, line.number);
  } catch (const std::out_of_range&) {
    throw broken(file_, line.number);
  }
}

void Journal::add(const Box& box, const Findings& findings) {
  const std::string line = line_of(box, findings).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  append_(line);
}

}  // namespace cairn::search
