// One record of a table by column name; remembers which columns were needed and empty.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/node.h"
#include "cairn/core/diagnostics.h"
#include "cairn/measure/csv.h"

namespace cairn::validation {

// Throws core::ConfigurationError with every column that the schema does not have, or that it has none of them.
void check_columns(const measure::CsvTable& table);
// Throws core::ConfigurationError where no row stands below the header.
void check_rows(const measure::CsvTable& table);
// Throws core::ConfigurationError with every row that an earlier one repeats field by field.
void check_duplicates(const measure::CsvTable& table);

// The whole of `text` as a number.
template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Record {
 public:
  Record(const measure::CsvTable& table, const measure::CsvRecord& record, core::Diagnostics& diagnostics);

  bool has_column(std::string_view column) const;
  // Empty where the column is absent or the field is.
  std::string_view text(std::string_view column) const;
  std::optional<double> number(std::string_view column);       // >= 0, or nothing; above 0 what is a measurement
  std::optional<std::int64_t> count(std::string_view column);  // >= 0, or nothing; above 0 degrees and sizes
  std::optional<bool> flag(std::string_view column);           // yes, no, or nothing

  // The same where a run cannot do without: notes the column as unknown.
  std::string_view need_text(std::string_view column);
  double need_number(std::string_view column);
  std::int64_t need_count(std::string_view column);
  bool need_flag(std::string_view column);
  const std::vector<std::string>& unknown() const { return unknown_; }

  config::Place place() const { return place_; }
  // Later complaints about the same column are dropped: several parts of a run read it.
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
  std::set<std::string, std::less<>> complained_;  // columns
};

}  // namespace cairn::validation
