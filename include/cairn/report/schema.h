// JSON Schemas (draft 2020-12) of documents that `cairn` writes. Those of other documents are beside the document, in
// its own header of report. Readers must ignore keys they do not know.
#pragma once

#include <string>

namespace cairn::report {

std::string run_schema();                  // cairn.run/1
std::string bound_schema();                // cairn.bound/1
std::string error_schema();                // cairn.error/1
std::string schedule_schema();             // cairn.schedule/1
std::string schedule_comparison_schema();  // cairn.schedule-comparison/1
std::string schedule_kinds_schema();       // cairn.schedule-kinds/1
std::string model_schema();                // cairn.model/1
std::string config_schema();               // cairn.config/1
std::string config_list_schema();          // cairn.config-list/1
std::string validate_schema();             // cairn.validate/1
std::string topology_schema();             // cairn.topology/1
std::string topology_comparison_schema();  // cairn.topology-comparison/1

}  // namespace cairn::report
