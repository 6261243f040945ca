#include "table_row.h"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::measure {

void check_columns(const CsvTable& table, const std::vector<std::string>& known, const std::vector<std::string>& needed,
                   Reading& reading) {
  for (const std::string& column : table.header) {
    if (std::find(known.begin(), known.end(), column) != known.end()) continue;
    const std::string near = core::nearest(column, known);
    reading.error(1, fmt::format("unknown column {}", config::quote(column)),
                  near.empty() ? fmt::format("the columns are {}", fmt::join(known, ","))
                               : fmt::format("did you mean '{}'?", near));
  }
  for (const std::string& column : needed) {
    if (std::find(table.header.begin(), table.header.end(), column) != table.header.end()) continue;
    reading.error(1, fmt::format("column '{}' is missing", column),
                  fmt::format("the columns are {}", fmt::join(known, ",")));
  }
}

std::string_view TableRow::text(std::string_view column) const {
  const auto found = std::find(table_.header.begin(), table_.header.end(), column);
  if (found == table_.header.end()) return {};
  return record_.fields[static_cast<std::size_t>(found - table_.header.begin())];
}

std::optional<double> TableRow::number(std::string_view column, Reading& reading) const {
  const std::string_view written = text(column);
  if (written.empty()) return std::nullopt;
  const std::optional<double> value = amount(written);
  if (!value)
    reading.error(line(), fmt::format("{} = {} is no number >= 0", column, config::quote(written)),
                  "a plain number in the unit that the column's name gives");
  return value;
}

std::optional<std::int64_t> TableRow::integer(std::string_view column, Reading& reading) const {
  const std::string_view written = text(column);
  if (written.empty()) return std::nullopt;
  const std::optional<std::int64_t> value = count(written);
  if (!value)
    reading.error(line(), fmt::format("{} = {} is no whole number", column, config::quote(written)),
                  "a plain whole number");
  return value;
}

}  // namespace cairn::measure
