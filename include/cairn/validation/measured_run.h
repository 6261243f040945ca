// A measured run: one row of a measurement table as an experiment that Cairn can predict, with what was measured.
//
// The schema's columns (any subset, in any order; words as in experiments, yes/no for booleans):
//   where    source ref notes assumed (columns the source does not state)
//   outcome  status: ok | oom | failed (crash or out of memory, not told apart) | memory (a memory figure only)
//            iter_time_s tokens_per_s_per_gpu tflops_per_gpu mfu_pct mem_gib mem_kind (allocated | reserved | device)
//   machine  accelerator num_gpus gpus_per_node nvlink_gb_s (GB/s per GPU and direction) nics_per_node
//            nic_gbit_s (per NIC)
//   model    model params_b layers hidden heads kv_heads ffn gated_mlp vocab tied_embeddings norm position bias dropout
//   training framework (with or without @release) seq_len global_batch micro_batch precision gradients
//            attention_kernel compiled
//   plan     tp pp vpp (chunks of the interleaved schedule) dp cp ep sequence_parallel zero recompute schedule
//            tp_overlap dp_overlap (gradients reduced beside the backward pass; unknown: as the framework does)
//
// An empty field is unknown, not 0: a run whose layers, batch or degrees are unknown is not run, and says so.
//   step time = iter_time_s, else global_batch seq_len / (tokens_per_s_per_gpu num_gpus), else from tflops_per_gpu by
//               the family's convention
//   memory    = mem_gib GiB, held against what the program allocates, what its allocator reserves, or what the device
//               shows with context and communicators; unknown: allocated
//   stages    = even; balanced by time where the layers do not divide
//   gradients = as stored and reduced, whatever the precision recipe says; the family's word goes before the row's
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/config/node.h"
#include "cairn/measure/csv.h"
#include "cairn/validation/family.h"

namespace cairn::validation {

enum class Status : std::uint8_t { ok, out_of_memory, failed, memory_only };
std::string_view name(Status status);
enum class MemoryKind : std::uint8_t { allocated, reserved, device };
std::string_view name(MemoryKind kind);

struct MeasuredRun {
  int line = 0;
  std::string label;  // model, GPUs and plan in a few words
  Status status = Status::ok;
  std::optional<double> time_s;
  std::optional<double> memory_bytes;
  MemoryKind memory_kind = MemoryKind::allocated;
  std::int64_t gpus = 0;
  config::Node experiment;  // every node placed at the row
  std::string reason;       // why it is not run; empty: it is
};

// The rows of a table. Throws core::ConfigurationError for what no table may hold: unknown columns, fields that are not
// the numbers or words they must be.
std::vector<MeasuredRun> measured_runs(const measure::CsvTable& file, const Family& family, const Families& families);

}  // namespace cairn::validation
