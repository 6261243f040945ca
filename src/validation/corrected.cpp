#include "corrected.h"

#include <algorithm>

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

}  // namespace

Corrected correct(measure::CsvTable table, const Family& family) {
  const std::vector<measure::CsvRecord> original = table.records;
  Corrected result{.table = std::move(table), .said = std::vector<std::vector<std::string>>(original.size())};
  for (const Correction& correction : family.corrected) {
    const auto rows = placed(result.table, correction.rows);
    const auto columns = placed(result.table, correction.columns);
    for (std::size_t i = 0; i < original.size(); ++i) {
      const std::vector<std::string>& stated = original[i].fields;
      const bool meant = std::all_of(rows.begin(), rows.end(),
                                     [&stated](const auto& field) { return stated[field.first] == field.second; });
      if (!meant) continue;
      for (const auto& [place, value] : columns) {
        if (stated[place] == value) continue;
        result.table.records[i].fields[place] = value;
        result.said[i].push_back(fmt::format("{} {}, not {}: {}", result.table.header[place], value,
                                             stated[place].empty() ? "unknown" : stated[place], correction.reason));
      }
    }
  }
  return result;
}

}  // namespace cairn::validation
