// A pipeline schedule of the user's own, as YAML:
//
//   version: 1
//   name: mine
//   stages: 2
//   micro_batches: 2
//   placement: [[0], [1]]                       # virtual stages of every device; default: chunk c of device d is
//                                               # c*stages + d
//   devices:
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
#include "cairn/config/read.h"
#include "cairn/pipeline/filling.h"
#include "cairn/pipeline/schedule.h"

namespace cairn::experiment {

struct ScheduleFile {
  std::string name = "schedule";
  std::int32_t stages = 1;
  std::int32_t micro_batches = 1;
  std::vector<std::vector<std::int32_t>> placement = {};  // empty: chunk c of device d is virtual stage c*stages + d
  std::int32_t chain_length = 0;                          // virtual stages that a micro-batch passes; 0: all
  std::vector<std::vector<std::string>> devices = {};
};
void describe(config::Fields& fields, ScheduleFile& file);

// Work for the bubbles of a schedule (`cairn schedule --fill`):
//
//   version: 1
//   margin: 1.05                                # a gap takes a piece that needs so many times its duration
//   exposed: 20.43ms                            # per step, outside the bubbles
//   work:                                       # of a device's share of the model
//     - {name: curvature of inputs, after: forward, time: 38.3ms, parts: 18}
//     - {name: inversion, after: all, time: 215ms, parts: 36}
//
// Times are written like those of the command line.
struct FillItem {
  std::string name = {};
  pipeline::ExtraAfter after = pipeline::ExtraAfter::forward;
  std::string time = {};
  std::int32_t parts = 1;
};
struct FillFile {
  double margin = 1.0;
  std::string exposed = "0";
  std::vector<FillItem> work = {};
};
void describe(config::Fields& fields, FillItem& item);
void describe(config::Fields& fields, FillFile& file);
// A fill file with the places of its keys. Its times are still text, for the caller knows whether they must have units.
struct LoadedFill {
  FillFile file = {};
  config::Origins origins = {};
};
LoadedFill read_fill(const config::Loader& loader, const std::filesystem::path& file);

// Throws core::ConfigurationError with the places of what is wrong, order lists that wait for each other among it.
pipeline::Schedule read_schedule(const config::Loader& loader, const std::filesystem::path& file);

}  // namespace cairn::experiment
