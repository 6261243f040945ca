// A measured run: one row of a measurement table as an experiment that Cairn can predict, with what was measured.
//
// The schema's columns (any subset, in any order; words as in experiments, yes/no for booleans):
//   where    source ref notes assumed (columns the source does not state)
//   outcome  status: ok | oom | failed (crash or out of memory, not told apart) | memory (a memory figure only)
//            iter_time_s tokens_per_s_per_gpu tflops_per_gpu mfu_pct mem_gib mem_kind (allocated | reserved | device)
//            mem_rank (first | last: of that stage | max: of the fullest)
//   machine  accelerator num_gpus gpus_per_node nvlink_gb_s (GB/s per GPU and direction) nics_per_node
//            nic_gbit_s (per NIC)
//   model    model_config (a file of configs/models, or of the folder `models` beside the tables) mtp
//            model params_b layers hidden heads kv_heads ffn gated_mlp vocab tied_embeddings norm position bias dropout
//   training framework (with or without @release) seq_len global_batch micro_batch precision gradients
//            attention_kernel compiled cuda_graph
//   plan     tp pp vpp (chunks of the interleaved schedule) dp cp ep sequence_parallel zero recompute schedule
//            tp_overlap dp_overlap (gradients reduced beside the backward pass; unknown: as the framework does)
//            layout (of stages, Megatron-LM's letters) offload dispatcher balance experts_overlap
//
// An empty field is unknown, not 0: a run whose layers, batch or degrees are unknown is not run, and says so. But cp is
// 1, and seq_len or global_batch, one of them, follows from tokens_per_s_per_gpu, iter_time_s and the other. With cp
// above 1 and no pipeline a batch that is not stated is one sequence for each of the dp ranks.
//   model     = model_config, else the columns, else the file that bears the model's name
//   step time = iter_time_s, else global_batch seq_len / (tokens_per_s_per_gpu num_gpus), else from tflops_per_gpu by
//               the family's convention
//   memory    = mem_gib GiB, held against what the program allocates, or what mem_kind says
//   stages    = layout, else even; balanced by time where the layers do not divide
//   recompute = as in experiments, or Megatron-LM's modules joined by + (Words::recompute)
//   gradients = as stored and reduced, whatever the precision recipe says; the family's word goes before the row's
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/measure/csv.h"
#include "cairn/validation/family.h"

namespace cairn::validation {

enum class Status : std::uint8_t { ok, out_of_memory, failed, memory_only };
std::string_view name(Status status);

// What a memory figure counts: tensors, what the allocator took for them, all that is gone of the device.
enum class MemoryKind : std::uint8_t { allocated, reserved, device };
// The pipeline stage of the rank that a memory figure was read on.
enum class MemoryRank : std::uint8_t { fullest, first, last };

struct MeasuredRun {
  int line = 0;
  std::string label;  // model, GPUs and plan in a few words
  Status status = Status::ok;
  std::optional<double> time_s;
  std::optional<double> memory_bytes;
  MemoryKind memory_kind = MemoryKind::allocated;
  MemoryRank memory_rank = MemoryRank::fullest;
  std::int64_t gpus = 0;
  config::Node experiment;                    // every node placed at the row
  std::string reason;                         // why it is not run; empty: it is
  std::vector<std::string> remarks;           // what was taken for granted to run it
  std::vector<std::string> corrections = {};  // fields of the file, or of its family's columns, put right, and why
};

// Where rows find what they name.
struct RowFiles {
  const config::Loader& loader;
  std::filesystem::path models = {};  // <name>.yaml or <name>.json (Hugging Face); empty: configs/models alone
};

// The rows of a table. Throws core::ConfigurationError for what no table may hold: unknown columns, no row at all,
// fields that are not the numbers or words they must be, rows that stand there twice. A wrong field is named once.
std::vector<MeasuredRun> measured_runs(const measure::CsvTable& file, const Family& family, const Families& families,
                                       const RowFiles& files);

}  // namespace cairn::validation
