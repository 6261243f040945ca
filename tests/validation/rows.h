// Rows of measured runs as maps from column to field, and the experiments they become.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "cairn/config/read.h"
#include "cairn/experiment/experiment.h"
#include "cairn/experiment/job.h"
#include "cairn/measure/csv.h"
#include "cairn/validation/measured_run.h"
#include "support.h"
#include "support/source_dir.h"

namespace cairn::validation::test {

using Row = std::map<std::string, std::string>;

// Of a CSV file, which is named by its path from the root of the sources.
inline std::vector<Row> rows_of(const std::string& file) {
  const measure::CsvTable table = measure::read_csv(std::filesystem::path(cairn::testing::source_dir()) / file);
  std::vector<Row> rows;
  for (const measure::CsvRecord& record : table.records) {
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < table.header.size(); ++i) row[table.header[i]] = record.fields[i];
  }
  return rows;
}

// What one engine predicts of an experiment in YAML, without asking what would change the answer.
inline predict::Prediction prediction_of(const std::string& text, predict::Engine engine) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "row.yaml", diagnostics);
  diagnostics.raise_if_errors();
  experiment::Job job(experiment::read(node), shipped());
  return job.run(engine, {.advice = experiment::Advice::none}).prediction;
}

inline Row complete() {
  return {{"status", "ok"},
          {"framework", "megatron"},
          {"accelerator", "a100-sxm4-80gb"},
          {"num_gpus", "16"},
          {"gpus_per_node", "8"},
          {"nvlink_gb_s", "300"},
          {"nics_per_node", "4"},
          {"nic_gbit_s", "100"},
          {"model", "tiny"},
          {"layers", "4"},
          {"hidden", "1024"},
          {"heads", "16"},
          {"ffn", "4096"},
          {"gated_mlp", "no"},
          {"vocab", "50257"},
          {"tied_embeddings", "yes"},
          {"norm", "layernorm"},
          {"position", "learned"},
          {"bias", "yes"},
          {"seq_len", "1024"},
          {"global_batch", "32"},
          {"micro_batch", "2"},
          {"tp", "2"},
          {"pp", "2"},
          {"vpp", "2"},
          {"dp", "4"},
          {"cp", "1"},
          {"sequence_parallel", "no"},
          {"zero", "1"},
          {"recompute", "full"},
          {"precision", "fp16"},
          {"gradients", "fp16"},
          {"attention_kernel", "unfused"},
          {"compiled", "no"},
          {"iter_time_s", "1.5"}};
}

// With a folder of models, and the words of the published tables, where a test asks for them.
inline MeasuredRun run_of(const Row& row, const Family& family = {}, const std::filesystem::path& models = {},
                          const Families& families = {.clusters = {{"a100-sxm4-80gb", "dgx-a100"}}, .families = {}}) {
  measure::CsvTable table{.file = "t.csv", .header = {}, .records = {measure::CsvRecord{.line = 7, .fields = {}}}};
  for (const auto& [column, field] : row) {
    table.header.push_back(column);
    table.records.front().fields.push_back(field);
  }
  return measured_runs(table, family, families, {.loader = shipped(), .models = models}).front();
}

inline MeasuredRun changed(const Row& changes, const Family& family = {}) {
  Row row = complete();
  for (const auto& [column, field] : changes) row[column] = field;
  return run_of(row, family);
}

inline std::string at(const MeasuredRun& run, std::initializer_list<const char*> path) {
  const config::Node* node = &run.experiment;
  for (const char* key : path) {
    node = node->find(key);
    if (node == nullptr) return "(absent)";
  }
  return node->text;
}

// What the published tables know: clusters, racks and words.
inline const Families& published_families() {
  static const Families k_families = [] {
    core::Diagnostics diagnostics;
    const config::Node node =
        shipped().load(cairn::testing::source_dir() + "/validate/published/families.yaml", diagnostics, "validate");
    diagnostics.raise_if_errors();
    return config::read<Families>(node);
  }();
  return k_families;
}

// A row that names its model and states no shape.
inline Row by_model(const std::string& model_config, const Row& changes = {}) {
  Row row = complete();
  for (const char* column :
       {"layers", "hidden", "heads", "ffn", "gated_mlp", "vocab", "tied_embeddings", "norm", "position", "bias", "vpp"})
    row.erase(column);
  row["model_config"] = model_config;
  row["seq_len"] = "4096";
  row["precision"] = "bf16";
  row["gradients"] = "fp32";
  row["attention_kernel"] = "flash2";
  row["recompute"] = "none";
  for (const auto& [column, field] : changes) row[column] = field;
  return row;
}

inline MeasuredRun published_run(const Row& row, const Family& family = {}, const std::filesystem::path& models = {}) {
  return run_of(row, family, models, published_families());
}

inline bool remarks(const MeasuredRun& run, const std::string& part) {
  for (const std::string& remark : run.remarks)
    if (contains(remark, part)) return true;
  return false;
}

}  // namespace cairn::validation::test
