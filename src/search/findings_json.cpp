#include "findings_json.h"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace cairn::search {
namespace {

using nlohmann::json;

constexpr std::size_t k_numbers_of_plan = 3;  // its point, time and memory

// Throws std::out_of_range for what is none of them.
Box::State state_of(const json& from) {
  constexpr std::array k_all{Box::State::found, Box::State::layers, Box::State::pipeline};
  return k_all.at(from.get<std::size_t>());
}
CellKind kind_of(const json& from) {
  if (from.get<std::size_t>() >= k_cell_kinds) throw std::out_of_range("kind of a cell");
  return static_cast<CellKind>(from.get<int>());
}

json of_cell(const Cell& cell) {
  return json::array({cell.first, cell.count, static_cast<int>(cell.kind), cell.bound});
}
Cell cell_of(const json& from) {
  return {.first = from.at(0), .count = from.at(1), .kind = kind_of(from.at(2)), .bound = from.at(3)};
}

// Millions of plans: their numbers stand in one row, for a list of each would take longer than the numbers do.
json of_plans(const std::vector<Computed>& plans) {
  json::array_t row;
  row.reserve(k_numbers_of_plan * plans.size());
  for (const Computed& plan : plans) {
    row.emplace_back(plan.point);
    row.emplace_back(plan.time);
    row.emplace_back(plan.least_memory);
  }
  return row;
}
std::vector<Computed> plans_of(const json& from) {
  if (!from.is_array() || from.size() % k_numbers_of_plan != 0) throw std::out_of_range("numbers of a plan");
  std::vector<Computed> plans;
  plans.reserve(from.size() / k_numbers_of_plan);
  for (std::size_t i = 0; i < from.size(); i += k_numbers_of_plan)
    plans.push_back({.point = from[i], .time = from[i + 1], .least_memory = from[i + 2]});
  return plans;
}

json of_too_large(const TooLarge& plan) { return json::array({plan.point, plan.memory_floor}); }
TooLarge too_large_of(const json& from) { return {.point = from.at(0), .memory_floor = from.at(1)}; }

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
  for (const TooLarge& each : findings.too_large) within(each.point, 1);
}

}  // namespace

BoxKey key_of(const json& line) {
  const json& box = line.at("box");
  return {box.at(0), box.at(1)};
}

json json_of(const Box& box) {
  return json::array({static_cast<int>(box.state), box.first, box.count, box.bound, box.twins});
}
Box box_of(const json& from) {
  return {.bound = from.at(3),
          .first = from.at(1),
          .count = from.at(2),
          .state = state_of(from.at(0)),
          .twins = from.at(4)};
}

json line_of(const Box& box, const Findings& findings) {
  return {{"box", json::array({static_cast<int>(box.state), box.first})},
          {"boxes", list(findings.boxes, json_of)},
          {"cells", list(findings.cells, of_cell)},
          {"computed", of_plans(findings.computed)},
          {"too_large", list(findings.too_large, of_too_large)},
          {"refusals", list(findings.refusals, [](const auto& each) { return of_refusal(each.second); })}};
}

Findings findings_of(const json& line, const Box& box) {
  Findings findings;
  for (const json& each : line.at("boxes")) findings.boxes.push_back(box_of(each));
  for (const json& each : line.at("cells")) findings.cells.push_back(cell_of(each));
  findings.computed = plans_of(line.at("computed"));
  for (const json& each : line.at("too_large")) findings.too_large.push_back(too_large_of(each));
  for (const json& each : line.at("refusals")) {
    Refusal refusal = refusal_of(each);
    findings.refusals.emplace(std::pair(refusal.kind, refusal.reason), std::move(refusal));
  }
  check_within(findings, box);
  return findings;
}

}  // namespace cairn::search
