// A pipeline schedule of the user's own, as YAML:
//
//   version: 1
//   name: mine
//   stages: 2
//   micro_batches: 2
//   placement: [[0], [1]]                       # virtual stages of every device; default: chunk c of device d is
//   c*stages + d devices:
//     - [F0, F1, B0, B1]                        # F forward, B backward, b input gradient, w weight gradient
//     - [F0, b0, w0, F1+B1]                     # + runs two as one
//
// An operation is a letter and its micro-batch, with .chunk where a device has several: F3.1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loader.h"
#include "cairn/pipeline/schedule.h"

namespace cairn::experiment {

struct ScheduleFile {
  std::string name = "schedule";
  std::int32_t stages = 1;
  std::int32_t micro_batches = 1;
  std::vector<std::vector<std::int32_t>> placement = {};  // empty: the loop
  std::int32_t chain_length = 0;                          // virtual stages a micro-batch passes; 0: all
  std::vector<std::vector<std::string>> devices = {};
};
void describe(config::Fields& fields, ScheduleFile& file);

// Throws core::ConfigurationError with the places of what is wrong, order lists that wait for each other among it.
pipeline::Schedule read_schedule(const config::Loader& loader, const std::filesystem::path& file);

}  // namespace cairn::experiment
