// One record of a table by column name; remembers which columns were needed and empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/node.h"
#include "cairn/core/diagnostics.h"
#include "cairn/measure/csv.h"

namespace cairn::validation {

// Throws core::ConfigurationError when a header names a column that the schema does not have.
void check_columns(const measure::CsvTable& table);

class Record {
 public:
  Record(const measure::CsvTable& table, const measure::CsvRecord& record, core::Diagnostics& diagnostics);

  bool has_column(std::string_view column) const;
  // Empty where the column is absent or the field is.
  std::string_view text(std::string_view column) const;
  std::optional<double> number(std::string_view column);       // >= 0, or nothing
  std::optional<std::int64_t> count(std::string_view column);  // >= 0, or nothing
  std::optional<bool> flag(std::string_view column);           // yes, no, or nothing

  // The same where a run cannot do without: notes the column as unknown.
  std::string_view need_text(std::string_view column);
  double need_number(std::string_view column);
  std::int64_t need_count(std::string_view column);
  bool need_flag(std::string_view column);
  const std::vector<std::string>& unknown() const { return unknown_; }

  config::Place place() const { return place_; }
  void error(std::string_view column, std::string message, std::string hint);

 private:
  template <class T>
  T needed(std::string_view column, const std::optional<T>& value) {
    if (!value && text(column).empty()) unknown_.emplace_back(column);
    return value.value_or(T{});
  }

  const measure::CsvTable& table_;
  const measure::CsvRecord& record_;
  core::Diagnostics& diagnostics_;
  config::Place place_;
  std::vector<std::string> unknown_;
};

}  // namespace cairn::validation
