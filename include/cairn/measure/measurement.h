// One measured kernel, transfer or launch, whatever program timed it. What `cairn calibrate` fits to.
//
// Kinds and the extents their shapes name (as the probe writes them; validate/probe/README.md has all):
//   gemm                        m n k                    C[m,n] = A[m,k] W[k,n]
//   attention, attention_backward, attention_forward_backward
//                               b s hq hkv d causal
//   copy read write add gelu cast ...: n;  layernorm rmsnorm softmax swiglu ...: rows columns
//   launch graph launch_sync graph_launch: kernels
//   all_reduce all_gather reduce_scatter all_to_all broadcast send_recv: n may be absent, `bytes` and `ranks` count
// Types: bf16 fp16 fp32 fp8 (one scale per tensor) fp8-block, none, byte; others are kept as written.
//
// Two methods of timing a kernel give different numbers and are fitted with different terms: a *serving operator* is
// what a framework's call takes, with its launch floor, the quantisation of its input and a reused activation; a
// *kernel* is what runs on the device alone, operands from memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"

namespace cairn::measure {

// Seconds of one execution over `n` samples. p10 = p90 = median where the source states one number.
struct TimeSample {
  double median_s = 0.0;
  double p10_s = 0.0;
  double p90_s = 0.0;
  std::int64_t n = 1;
};

enum class Method : std::uint8_t { kernel, serving_operator };
enum class CacheState : std::uint8_t { unstated, cold, warm };

struct Measurement {
  std::string kind = {};
  std::string type = {};
  std::vector<std::pair<std::string, std::int64_t>> shape = {};
  // Of a kernel its compulsory traffic, 0 where unstated; of a collective the size as nccl-tests counts it.
  double bytes = 0.0;
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  TimeSample time = {};
  Method method = Method::kernel;
  CacheState cache = CacheState::unstated;
  std::string implementation = {};
  std::string device = {};  // as the source names it
  std::string source = {};  // who measured
  int line = 0;             // of the file, 1-based

  // 0 when the shape has no such extent.
  std::int64_t extent(std::string_view name) const;
};

struct Skipped {
  int line = 0;
  std::string reason = {};
};

enum class Format : std::uint8_t { probe, nccl_tests_text, nccl_tests_json, kernel_table, collective_table };
std::string_view name(Format format);

// One file's rows. `device` and `software` are empty where rows differ or the file does not say.
struct MeasurementFile {
  std::string file = {};
  Format format = Format::probe;
  std::string device = {};
  std::string software = {};
  std::vector<Measurement> rows = {};
  std::vector<Skipped> skipped = {};            // rows of a known form that say nothing usable, and why
  std::vector<core::Diagnostic> warnings = {};  // about the whole file
};

}  // namespace cairn::measure
