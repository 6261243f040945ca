#include "record.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/printable.h"

namespace cairn::validation {
namespace {

// A column and what its fields are. `most`: beyond it a field is in another unit than the schema's.
struct Column {
  const char* name;
  const char* unit = nullptr;  // of a number
  bool least_one = false;      // a count that cannot be 0
  bool positive = false;       // a number that cannot be 0
  double least = 0.0;
  double most = std::numeric_limits<double>::infinity();
};

constexpr double k_least_time = 1e-6;     // [s] less than one kernel takes
constexpr double k_most_time = 2.3e6;     // [s] the 26 days that simulated time reaches
constexpr double k_most_tokens = 1e9;     // [tokens/s] six times a petaFLOP/s on a model of a million parameters
constexpr double k_least_rate = 1e-12;    // [tokens/s, TFLOP/s] an operation a second
constexpr double k_most_memory = 4096.0;  // [GiB] more than any device has: a figure in MiB
constexpr double k_most_share = 100.0;    // [%]
constexpr double k_most_rate = 1e5;       // [TFLOP/s] six times the fastest device: a figure in GFLOP/s, or of all GPUs
constexpr std::int64_t k_most_count = std::int64_t{1} << 48;  // products of a few counts are numbers, too

constexpr Column k_columns[] = {
    {.name = "source"},
    {.name = "ref"},
    {.name = "status"},
    {.name = "framework"},
    {.name = "accelerator"},
    {.name = "num_gpus", .least_one = true},
    {.name = "gpus_per_node", .least_one = true},
    {.name = "nvlink_gb_s", .unit = "GB/s"},
    {.name = "nics_per_node"},
    {.name = "nic_gbit_s", .unit = "Gb/s"},
    {.name = "model"},
    {.name = "params_b", .unit = "billions"},
    {.name = "layers", .least_one = true},
    {.name = "hidden", .least_one = true},
    {.name = "heads", .least_one = true},
    {.name = "kv_heads"},
    {.name = "ffn"},
    {.name = "gated_mlp"},
    {.name = "vocab", .least_one = true},
    {.name = "tied_embeddings"},
    {.name = "norm"},
    {.name = "position"},
    {.name = "bias"},
    {.name = "dropout"},
    {.name = "seq_len", .least_one = true},
    {.name = "global_batch", .least_one = true},
    {.name = "micro_batch", .least_one = true},
    {.name = "tp", .least_one = true},
    {.name = "pp", .least_one = true},
    {.name = "vpp"},
    {.name = "dp", .least_one = true},
    {.name = "cp", .least_one = true},
    {.name = "ep", .least_one = true},
    {.name = "sequence_parallel"},
    {.name = "zero"},
    {.name = "recompute"},
    {.name = "precision"},
    {.name = "gradients"},
    {.name = "attention_kernel"},
    {.name = "compiled"},
    {.name = "tp_overlap"},
    {.name = "dp_overlap"},
    {.name = "schedule"},
    {.name = "iter_time_s", .unit = "seconds", .positive = true, .least = k_least_time, .most = k_most_time},
    {.name = "tokens_per_s_per_gpu",
     .unit = "tokens/s",
     .positive = true,
     .least = k_least_rate,
     .most = k_most_tokens},
    {.name = "tflops_per_gpu", .unit = "TFLOP/s", .positive = true, .least = k_least_rate, .most = k_most_rate},
    {.name = "mfu_pct", .unit = "per cent", .most = k_most_share},
    {.name = "mem_gib", .unit = "GiB", .positive = true, .most = k_most_memory},
    {.name = "assumed"},
    {.name = "notes"},
    {.name = "model_config"},
    {.name = "experts_overlap"},
    {.name = "dispatcher"},
    {.name = "balance"},
    {.name = "layout"},
    {.name = "mtp"},
    {.name = "cuda_graph"},
    {.name = "offload"},
    {.name = "mem_rank"},
    {.name = "mem_kind"},
};

const Column* column_named(std::string_view name) {
  const auto found = std::find_if(std::begin(k_columns), std::end(k_columns),
                                  [&](const Column& column) { return column.name == name; });
  return found == std::end(k_columns) ? nullptr : found;
}

// A stated number's remedy: which unit it is taken to have.
std::string number_hint(const Column& column) {
  if (column.unit == nullptr) return "leave the field empty where it is unknown";
  return fmt::format("write {} without a unit, and leave the field empty where it is unknown", column.unit);
}

}  // namespace

void check_columns(const measure::CsvTable& table) {
  std::vector<std::string> known;
  for (const Column& column : k_columns) known.emplace_back(column.name);
  std::vector<std::string> unknown;
  for (const std::string& column : table.header)
    if (column_named(column) == nullptr) unknown.push_back(column);
  core::Diagnostics diagnostics;
  const auto error = [&](std::string message, std::string hint) {
    diagnostics.add(core::Diagnostic::at_line(table.file, 1, std::move(message), std::move(hint)));
  };
  if (unknown.size() == table.header.size()) {
    const bool one = table.header.size() == 1 && table.header.front().find_first_of(";\t|") != std::string::npos;
    error(fmt::format("no table of measured runs: none of its columns is one of theirs ({}{})",
                      core::quoted(table.header.front()), table.header.size() > 1 ? ", ..." : ""),
          one ? "separate the columns by commas" : "its columns are those of validate/published/README.md");
  } else {
    for (const std::string& column : unknown) {
      const std::string near = core::nearest(column, known);
      error(fmt::format("unknown column {}", core::quoted(column)),
            near.empty() ? "see the schema of measured runs" : fmt::format("did you mean '{}'?", near));
    }
  }
  diagnostics.raise_if_errors();
}

void check_rows(const measure::CsvTable& table) {
  if (!table.records.empty()) return;
  core::Diagnostics diagnostics;
  diagnostics.add(core::Diagnostic::at_line(table.file, 1, "a header and no row below it",
                                            "add a row for each run, or remove the file"));
  diagnostics.raise_if_errors();
}

void check_duplicates(const measure::CsvTable& table) {
  core::Diagnostics diagnostics;
  std::map<std::vector<std::string>, int> first;
  for (const measure::CsvRecord& record : table.records)
    if (const auto [at, is_new] = first.emplace(record.fields, record.line); !is_new)
      diagnostics.add(core::Diagnostic::at_line(table.file, record.line,
                                                fmt::format("the same row as line {}", at->second),
                                                "remove one of them, or say in ref or notes how the runs differ"));
  diagnostics.raise_if_errors();
}

Record::Record(const measure::CsvTable& table, const measure::CsvRecord& record, core::Diagnostics& diagnostics)
    : table_(table),
      record_(record),
      diagnostics_(diagnostics),
      place_{.file = std::make_shared<const std::string>(table.file), .line = record.line, .column = 1} {}

bool Record::has_column(std::string_view column) const {
  return std::find(table_.header.begin(), table_.header.end(), column) != table_.header.end();
}

std::string_view Record::text(std::string_view column) const {
  const auto found = std::find(table_.header.begin(), table_.header.end(), column);
  if (found == table_.header.end()) return {};
  return record_.fields[static_cast<std::size_t>(found - table_.header.begin())];
}

void Record::error(std::string_view column, std::string message, std::string hint) {
  if (!complained_.emplace(column).second) return;
  core::Diagnostic diagnostic;
  diagnostic.file = table_.file;
  diagnostic.line = record_.line;
  diagnostic.column = 1;
  diagnostic.key_path = std::string(column);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostics_.add(std::move(diagnostic));
}

std::optional<double> Record::number(std::string_view column) {
  const std::string_view field = text(column);
  if (field.empty()) return std::nullopt;
  const Column* known = column_named(column);
  CAIRN_ASSERT(known != nullptr);
  const auto value = parsed<double>(field);
  if (!value || !std::isfinite(*value) || *value < 0.0 || (known->positive && *value == 0.0)) {
    error(column, fmt::format("{} is no number {}", core::quoted(field), known->positive ? "above 0" : "of 0 or more"),
          number_hint(*known));
    return std::nullopt;
  }
  if (*value < known->least || *value > known->most) {
    const char* than = *value < known->least ? "less" : "more";
    error(column, fmt::format("{} {} are {} than there can be", field, known->unit, than),
          fmt::format("is the figure in another unit? Write {}", known->unit));
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> Record::count(std::string_view column) {
  const std::string_view field = text(column);
  if (field.empty()) return std::nullopt;
  const Column* known = column_named(column);
  CAIRN_ASSERT(known != nullptr);
  const std::int64_t least = known->least_one ? 1 : 0;
  const auto value = parsed<std::int64_t>(field);
  if (value && *value >= least && *value <= k_most_count) return value;
  error(column, fmt::format("{} is no whole number from {} to {}", core::quoted(field), least, k_most_count),
        "leave the field empty where it is unknown");
  return std::nullopt;
}

std::optional<bool> Record::flag(std::string_view column) {
  const std::string_view field = text(column);
  if (field == "yes") return true;
  if (field == "no") return false;
  if (!field.empty())
    error(column, fmt::format("{} is neither yes nor no", core::quoted(field)),
          "leave the field empty where it is unknown");
  return std::nullopt;
}

std::string_view Record::need_text(std::string_view column) {
  const std::string_view field = text(column);
  if (field.empty()) unknown_.emplace_back(column);
  return field;
}
double Record::need_number(std::string_view column) { return needed(column, number(column)); }
std::int64_t Record::need_count(std::string_view column) { return needed(column, count(column)); }
bool Record::need_flag(std::string_view column) { return needed(column, flag(column)); }

}  // namespace cairn::validation
