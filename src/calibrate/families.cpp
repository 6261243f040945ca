#include "families.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn::calibrate {

double unit_of(cost::RelativeTo relative_to, double link_bandwidth) {
  // The square root of a message grows with the square root of what the links carry.
  constexpr double k_usual_link = 450e9;
  switch (relative_to) {
    case cost::RelativeTo::nothing:
      return 1.0;
    case cost::RelativeTo::link:
      return link_bandwidth;
    case cost::RelativeTo::root_of_link:
      return std::sqrt(k_usual_link / link_bandwidth);
  }
  return 1.0;
}

FamilyResult result_of(std::string kind, std::string type, const std::vector<FitParameter>& parameters, FamilyFit fit) {
  FamilyResult result{.kind = std::move(kind), .type = std::move(type)};
  for (std::size_t i = 0; i < parameters.size(); ++i) result.parameters.emplace_back(parameters[i].name, fit.values[i]);
  result.at_bound = std::move(fit.at_bound);
  result.record = std::move(fit.record);
  result.left_out_errors = std::move(fit.left_out_errors);
  return result;
}

void Result::drop(const std::string& reason, std::size_t rows) {
  if (rows == 0) return;
  const auto known =
      std::find_if(dropped.begin(), dropped.end(), [&](const DroppedRows& each) { return each.reason == reason; });
  if (known == dropped.end())
    dropped.push_back({.reason = reason, .rows = static_cast<std::int64_t>(rows)});
  else
    known->rows += static_cast<std::int64_t>(rows);
}

FamilyResult too_few(std::string kind, std::string type, std::size_t rows, std::size_t needed) {
  FamilyResult result{.kind = std::move(kind), .type = std::move(type)};
  result.record.rows = static_cast<std::int64_t>(rows);
  result.skipped = fmt::format("{} rows, a fit needs {}", rows, needed);
  result.remedy = "measure more shapes";
  return result;
}

cost::Provenance measured_by(const Rows& rows) {
  std::set<std::string> sources;
  for (const measure::Measurement* row : rows) sources.insert(row->source);
  return {.evidence = cost::Evidence::fitted,
          .source = fmt::format("{} timings: {}", rows.size(), fmt::join(sources, ", "))};
}

}  // namespace cairn::calibrate
