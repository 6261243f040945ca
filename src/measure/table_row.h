// One record of a table by column name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reading.h"

namespace cairn::measure {

// An error for every column that is not `known`, and for every `needed` one that is missing.
void check_columns(const CsvTable& table, const std::vector<std::string>& known, const std::vector<std::string>& needed,
                   Reading& reading);

class TableRow {
 public:
  TableRow(const CsvTable& table, const CsvRecord& record) : table_(table), record_(record) {}

  int line() const { return record_.line; }
  // Empty where the column is absent or the field is.
  std::string_view text(std::string_view column) const;
  // Empty where the field is; an error where it holds no number >= 0.
  std::optional<double> number(std::string_view column, Reading& reading) const;
  std::optional<std::int64_t> integer(std::string_view column, Reading& reading) const;

 private:
  const CsvTable& table_;
  const CsvRecord& record_;
};

}  // namespace cairn::measure
