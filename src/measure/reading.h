// What every reader of measurements needs: one place for complaints, checks that times make sense, names of things.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cairn/config/node.h"
#include "cairn/core/diagnostics.h"
#include "cairn/measure/csv.h"
#include "cairn/measure/measurement.h"
#include "cairn/measure/read.h"

namespace cairn::measure {

// Collects the rows of one file and everything wrong with it.
class Reading {
 public:
  Reading(std::string file, Format format) {
    result_.file = std::move(file);
    result_.format = format;
  }

  void error(int line, std::string message, std::string hint);
  void warn(int line, std::string message, std::string hint);
  void skip(int line, std::string reason) { result_.skipped.push_back({line, std::move(reason)}); }
  // Takes the row if its time is possible.
  void add(Measurement row);

  core::Diagnostics& diagnostics() { return diagnostics_; }
  MeasurementFile& result() { return result_; }
  // Throws core::ConfigurationError with everything wrong; a file without any row is wrong too.
  MeasurementFile finish();

 private:
  MeasurementFile result_;
  core::Diagnostics diagnostics_;
};

// A stated rate beside the rate that follows from the time beside it; both in one unit. Rounded rates below
// `least` say nothing. True when they differ by more than a factor of three: units are mixed.
bool contradicts(double stated, double computed, double least);

// The units of collective timings, and the bandwidth that their two printed decimals still resolve.
inline constexpr double k_micro = 1e-6;
inline constexpr double k_giga = 1e9;
inline constexpr double k_least_bandwidth = 0.5;  // GB/s

// all_reduce, alltoall, AllReduce, all_reduce_perf ... -> the kind; empty for what is no collective known here.
std::string collective_kind(std::string_view name);
// float, bfloat16, half, fp8_block ... -> fp32, bf16, fp16, fp8-block; others unchanged.
std::string type_name(std::string_view name);

// Seconds of `microseconds`, one sample.
TimeSample single_time(double seconds);

// What stands between any of the `separators`.
std::vector<std::string_view> words_of(std::string_view text, std::string_view separators);
// A decimal number >= 0.
std::optional<double> amount(std::string_view text);
std::optional<std::int64_t> count(std::string_view text);

MeasurementFile read_kernel_table(const CsvTable& table);
MeasurementFile read_collective_table(const CsvTable& table);
MeasurementFile read_nccl_text(std::string_view text, const std::string& file_name, const ReadOptions& options);
MeasurementFile read_nccl_json(const config::Node& node, const std::string& file_name, const ReadOptions& options);
MeasurementFile read_probe(const config::Node& node, const std::string& file_name);

}  // namespace cairn::measure
