#include "doubted.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::validation {
namespace {

// The field of a column; null pointer where neither the table nor the family has it.
const std::string* field(const measure::CsvTable& table, const Family& family, const measure::CsvRecord& record,
                         const std::string& column) {
  const auto found = std::find(table.header.begin(), table.header.end(), column);
  if (found != table.header.end()) return &record.fields[static_cast<std::size_t>(found - table.header.begin())];
  for (const auto& [name, value] : family.columns)
    if (name == column) return &value;
  return nullptr;
}

bool describes(const Doubted& doubted, const measure::CsvTable& table, const Family& family,
               const measure::CsvRecord& record, double slower) {
  if (doubted.slower && slower <= *doubted.slower) return false;
  return std::all_of(doubted.rows.begin(), doubted.rows.end(), [&](const auto& stated) {
    const std::string* value = field(table, family, record, stated.first);
    return value != nullptr && *value == stated.second;
  });
}

}  // namespace

void check_doubted(const measure::CsvTable& table, const Family& family) {
  for (const Doubted& doubted : family.doubted)
    for (const auto& [column, value] : doubted.rows) {
      const bool of_family = std::any_of(family.columns.begin(), family.columns.end(),
                                         [&name = column](const auto& each) { return each.first == name; });
      if (of_family || std::find(table.header.begin(), table.header.end(), column) != table.header.end()) continue;
      throw core::ConfigurationError(table.file, fmt::format("no column '{}', by which its family doubts rows", column),
                                     "name a column of the table under families.<name>.doubted.rows");
    }
}

std::string doubt(const measure::CsvTable& table, const Family& family, int line, double slower) {
  const auto record = std::find_if(table.records.begin(), table.records.end(),
                                   [line](const measure::CsvRecord& each) { return each.line == line; });
  if (record == table.records.end()) return {};
  for (const Doubted& doubted : family.doubted)
    if (describes(doubted, table, family, *record, slower)) return doubted.reason;
  return {};
}

}  // namespace cairn::validation
