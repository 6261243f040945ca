// The document of one schedule (cairn.schedule/1), whatever ran it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "schedule_figures.h"

namespace cairn::report {

// All but result.operations, which come last in it.
nlohmann::ordered_json schedule_document(const ScheduleAnswer& answer, const ScheduleFigures& figures,
                                         const Tool& tool);

}  // namespace cairn::report
