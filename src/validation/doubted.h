// Rows of a table that its family believes mis-stated.
#pragma once

#include <string>

#include "cairn/measure/csv.h"
#include "cairn/validation/family.h"

namespace cairn::validation {

// Throws core::ConfigurationError for a column that the table lacks.
void check_doubted(const measure::CsvTable& table, const Family& family);

// Why the row at `line` is doubted; empty: it is not. `slower`: measured / predicted, 0 where no time was measured.
std::string doubt(const measure::CsvTable& table, const Family& family, int line, double slower);

}  // namespace cairn::validation
