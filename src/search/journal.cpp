#include "cairn/search/journal.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/diagnostics.h"
#include "explorer.h"

namespace cairn::search {
namespace {

using nlohmann::json;

constexpr const char* k_journal = "cairn search 1";  // and the version of its form

core::ConfigurationError wrong(const std::string& file, std::size_t line, std::string message, std::string hint) {
  return core::ConfigurationError(
      {core::Diagnostic::at_line(file, static_cast<int>(line), std::move(message), std::move(hint))});
}
core::ConfigurationError broken(const std::string& file, std::size_t line) {
  return wrong(file, line, "this line does not say what was found of a box",
               "delete the file, and the search begins anew");
}

// Throws std::out_of_range for what is none of them.
Box::State state_of(const json& from) {
  constexpr std::array k_all{Box::State::found, Box::State::layers, Box::State::pipeline};
  return k_all.at(from.get<std::size_t>());
}
CellKind kind_of(const json& from) {
  if (from.get<std::size_t>() >= k_cell_kinds) throw std::out_of_range("kind of a cell");
  return static_cast<CellKind>(from.get<int>());
}

json of_box(const Box& box) {
  return json::array({static_cast<int>(box.state), box.first, box.count, box.bound, box.twins});
}
Box box_of(const json& from) {
  return {.bound = from.at(3),
          .first = from.at(1),
          .count = from.at(2),
          .state = state_of(from.at(0)),
          .twins = from.at(4)};
}

json of_cell(const Cell& cell) {
  return json::array({cell.first, cell.count, static_cast<int>(cell.kind), cell.bound});
}
Cell cell_of(const json& from) {
  return {.first = from.at(0), .count = from.at(1), .kind = kind_of(from.at(2)), .bound = from.at(3)};
}

json of_plan(const Computed& plan) { return json::array({plan.point, plan.time, plan.least_memory}); }
Computed plan_of(const json& from) { return {.point = from.at(0), .time = from.at(1), .least_memory = from.at(2)}; }

json of_refusal(const Refusal& refusal) {
  return json::array({static_cast<int>(refusal.kind), refusal.reason, refusal.count, refusal.nearest, refusal.settings,
                      refusal.lacking_bytes});
}
Refusal refusal_of(const json& from) {
  return {.kind = kind_of(from.at(0)),
          .reason = from.at(1),
          .count = from.at(2),
          .nearest = from.at(3),
          .settings = from.at(4),
          .lacking_bytes = from.at(5)};
}

template <class All, class Of>
json list(const All& all, Of of) {
  json result = json::array();
  for (const auto& each : all) result.push_back(of(each));
  return result;
}

std::string line_of(const Box& box, const Findings& findings) {
  json line = {{"box", json::array({static_cast<int>(box.state), box.first})},
               {"boxes", list(findings.boxes, of_box)},
               {"cells", list(findings.cells, of_cell)},
               {"computed", list(findings.computed, of_plan)},
               {"refusals", list(findings.refusals, [](const auto& each) { return of_refusal(each.second); })}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Findings findings_of(const json& line) {
  Findings findings;
  for (const json& each : line.at("boxes")) findings.boxes.push_back(box_of(each));
  for (const json& each : line.at("cells")) findings.cells.push_back(cell_of(each));
  for (const json& each : line.at("computed")) findings.computed.push_back(plan_of(each));
  for (const json& each : line.at("refusals")) {
    Refusal refusal = refusal_of(each);
    findings.refusals.emplace(std::pair(refusal.kind, refusal.reason), std::move(refusal));
  }
  return findings;
}

// Throws std::out_of_range where findings are of points outside the box, or no further than the box itself.
void check_within(const Findings& findings, const Box& box) {
  const auto within = [&](std::uint64_t first, std::uint64_t count) {
    if (first < box.first || first - box.first > box.count || count > box.count - (first - box.first))
      throw std::out_of_range("points of another box");
  };
  for (const Box& each : findings.boxes) {
    if (each.state <= box.state) throw std::out_of_range("a box that is no step on");
    within(each.first, each.count);
    for (const std::uint64_t twin : each.twins) within(twin, each.count);
  }
  for (const Cell& each : findings.cells) within(each.first, each.count);
  for (const Computed& each : findings.computed) within(each.point, 1);
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
        const json& box = read.at("box");
        lines_[{box.at(0), box.at(1)}] = {.number = number, .begin = begin, .end = end};
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

std::optional<Findings> Journal::known(const Box& box) const {
  const auto found = lines_.find({static_cast<int>(box.state), box.first});
  if (found == lines_.end()) return std::nullopt;
  const Line& line = found->second;
  try {
    const auto at = [this](std::size_t place) { return text_.begin() + static_cast<std::ptrdiff_t>(place); };
    Findings findings = findings_of(json::parse(at(line.begin), at(line.end)));
    check_within(findings, box);
    return findings;
  } catch (const json::exception&) {
    throw broken(file_, line.number);
  } catch (const std::out_of_range&) {
    throw broken(file_, line.number);
  }
}

void Journal::add(const Box& box, const Findings& findings) {
  const std::string line = line_of(box, findings);
  const std::lock_guard lock(mutex_);
  append_(line);
}

}  // namespace cairn::search
