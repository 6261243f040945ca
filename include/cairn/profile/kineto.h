// A trace of PyTorch's profiler (Kineto) of one rank: what its device did, when the host issued it, and where steps
// begin. Chrome's Trace Event Format as JSON, or that compressed (gzip).
//
//   {"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [
//    {"ph": "X", "cat": "kernel", "name": "...", "ts": 5358.5, "dur": 253.727, "args": {"device": 0, "stream": 7, "correlation": 9}},
//    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 5301, "dur": 4, "args": {"correlation": 9}},
//    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 5000, "dur": 9000}, ...]}
//
// Read: complete events (ph X) of the categories kernel, gpu_memcpy and gpu_memset, calls of the runtime by their
// correlation, annotations ProfilerStep. ts and dur are microseconds, kept to the nanosecond, which is what the device's
// clock counts. All else is passed over. The file is read in one pass, 256 KiB at a time; what is kept is 40 bytes for
// each kernel or copy, 16 for each call of the runtime, and every name once: some 50 MB of a trace of a million kernels,
// whatever the size of the file.
//
// What is wrong raises core::ConfigurationError with file, line, column and remedy, up to core::k_shown_errors at once:
// JSON cut off or broken (NaN is none), another kind of document, no events, times that are missing, negative or beyond a day, a
// trace without kernels, kernels and steps that do not lie in one another, starts and durations in different units
// (kernels of a stream, which run one after the other, would overlap many times over).
// Sources: "Trace Event Format", Google, 2016; pytorch/kineto, libkineto/src/output_json.cpp; the traces of
// facebookresearch/HolisticTraceAnalysis, tests/data (both kinds of numbers, older names of categories).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/profile/kernel_class.h"

namespace cairn::profile {

// Nanoseconds since the trace's own origin.
using Nanoseconds = std::int64_t;

struct DeviceEvent {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  std::int64_t correlation = -1;  // -1: none
  std::uint32_t kernel = 0;       // of Trace::kernels
  std::int32_t stream = 0;
  Nanoseconds end() const { return start + duration; }
};

struct MeasuredKernel {
  std::string name;
  KernelClass kind = KernelClass::other;
};

// A call of the runtime or driver.
struct Call {
  std::int64_t correlation = 0;
  Nanoseconds start = 0;
};

struct Annotation {
  std::string name;  // "ProfilerStep#3"
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

struct Trace {
  std::string file;  // its name, without folders
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> ranks;
  std::int64_t device = 0;
  std::vector<DeviceEvent> events;  // of that device, by start
  std::vector<MeasuredKernel> kernels;
  std::vector<Call> calls;        // by correlation
  std::vector<Annotation> steps;  // by start
  std::vector<core::Diagnostic> warnings;
};

struct ReadTraceOptions {
  // Told how many bytes of the file are read; empty: nobody is.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

Trace read_kineto(const std::filesystem::path& file, const ReadTraceOptions& options = {});

}  // namespace cairn::profile
