#include "corrected.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::validation {
namespace {

std::size_t place_of_column(const measure::CsvTable& table, const std::string& column) {
  const auto found = std::find(table.header.begin(), table.header.end(), column);
  if (found != table.header.end()) return static_cast<std::size_t>(found - table.header.begin());
  throw core::ConfigurationError(table.file, fmt::format("no column '{}', which its family corrects", column),
                                 "name a column of the table, or state it under families.<name>.columns");
}

// Columns by their place in the table.
std::vector<std::pair<std::size_t, std::string>> placed(
    const measure::CsvTable& table, const std::vector<std::pair<std::string, std::string>>& columns) {
  std::vector<std::pair<std::size_t, std::string>> result;
  for (const auto& [column, value] : columns) result.emplace_back(place_of_column(table, column), value);
  return result;
}

// What a field of one row is to be, and why.
struct CorrectedField {
  std::size_t place = 0;
  std::string value;
  std::string_view reason;
};

// A later correction of a field goes over an earlier one.
void note(std::vector<CorrectedField>& fields, CorrectedField field) {
  const auto earlier =
      std::find_if(fields.begin(), fields.end(), [&](const CorrectedField& each) { return each.place == field.place; });
  if (earlier == fields.end())
    fields.push_back(std::move(field));
  else
    *earlier = std::move(field);
}

}  // namespace

Corrected correct(measure::CsvTable table, const Family& family) {
  std::vector<std::vector<CorrectedField>> rows(table.records.size());
  for (const Correction& correction : family.corrected) {
    const auto meant = placed(table, correction.rows);
    const auto columns = placed(table, correction.columns);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<std::string>& stated = table.records[i].fields;
      if (std::any_of(meant.begin(), meant.end(),
                      [&stated](const auto& field) { return stated[field.first] != field.second; }))
        continue;
      for (const auto& [place, value] : columns)
        note(rows[i], {.place = place, .value = value, .reason = correction.reason});
    }
  }
  Corrected result{.table = std::move(table), .said = std::vector<std::vector<std::string>>(rows.size())};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const CorrectedField& field : rows[i]) {
      std::string& stated = result.table.records[i].fields[field.place];
      if (stated == field.value) continue;
      result.said[i].push_back(fmt::format("{} {}, not {}: {}", result.table.header[field.place], field.value,
                                           stated.empty() ? "unknown" : stated, field.reason));
      stated = field.value;
    }
  return result;
}

}  // namespace cairn::validation
