#include "unit_instances.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cairn::predict {
namespace {

// How many ranks of which actors share an instance, by actor.
using Company = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Every kind of company that instances of `size` consecutive ranks are in, once.
std::vector<Company> companies(const RankClasses& classes, std::int64_t size) {
  std::map<Company, bool> known;
  std::vector<Company> result;
  std::vector<std::int64_t> members;
  for (std::int64_t first = 0; first < classes.ranks(); first += size) {
    members.clear();
    for (std::int64_t rank = first; rank < std::min(first + size, classes.ranks()); ++rank)
      members.push_back(classes.covering(rank));
    std::sort(members.begin(), members.end());
    Company company;
    for (const std::int64_t actor : members) {
      if (company.empty() || company.back().first != actor) company.emplace_back(actor, 0);
      ++company.back().second;
    }
    if (known.emplace(company, true).second) result.push_back(std::move(company));
  }
  return result;
}

}  // namespace

UnitInstances::UnitInstances(const RankClasses& classes, const std::vector<SharedUnit>& units) : units_(units.size()) {
  std::map<std::int64_t, std::vector<Company>> by_size;
  std::vector<std::vector<Seat>> seats(static_cast<std::size_t>(classes.actors()) * units_);
  for (std::size_t unit = 0; unit < units_; ++unit) {
    const std::int64_t size = units[unit].ranks;
    if (size == 1) {
      for (std::int64_t actor = 0; actor < classes.actors(); ++actor)
        seats[static_cast<std::size_t>(actor) * units_ + unit].push_back({.link = links_++});
      continue;
    }
    const auto [found, fresh] = by_size.try_emplace(size);
    if (fresh) found->second = companies(classes, size);
    for (const Company& company : found->second) {
      for (const auto& [actor, ranks] : company)
        seats[static_cast<std::size_t>(actor) * units_ + unit].push_back(
            {.link = links_, .ranks = static_cast<double>(ranks)});
      ++links_;
    }
  }
  begin_.push_back(0);
  for (const std::vector<Seat>& each : seats) {
    seats_.insert(seats_.end(), each.begin(), each.end());
    begin_.push_back(static_cast<std::uint32_t>(seats_.size()));
  }
}

}  // namespace cairn::predict
