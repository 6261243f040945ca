// Tables whose families know fields better than the file.
#pragma once

#include <string>
#include <vector>

#include "cairn/measure/csv.h"
#include "cairn/validation/family.h"

namespace cairn::validation {

struct Corrected {
  measure::CsvTable table;
  std::vector<std::vector<std::string>> said;  // by record: what changed and why
};

// The table with what its family corrects; a later correction goes over earlier ones, and all of them look for their
// rows in the table as it was. Throws core::ConfigurationError for a column that the table lacks.
Corrected correct(measure::CsvTable table, const Family& family);

}  // namespace cairn::validation
