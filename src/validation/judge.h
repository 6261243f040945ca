// What the rows of a report say together: intervals, and what errors go with.
#pragma once

#include "cairn/experiment/job.h"
#include "cairn/validation/validate.h"

namespace cairn::validation {

RowSetting row_setting(const experiment::Job& job, const predict::Prediction& prediction);

// Fills in what needs all rows: the table of intervals, rows left out of it, and each family's summary of them.
void judge(Report& report);

}  // namespace cairn::validation
