#include "record.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace cairn::validation {
namespace {

const std::vector<std::string>& columns() {
  static const std::vector<std::string> k_columns{"source",
                                                  "ref",
                                                  "status",
                                                  "framework",
                                                  "accelerator",
                                                  "num_gpus",
                                                  "gpus_per_node",
                                                  "nvlink_gb_s",
                                                  "nics_per_node",
                                                  "nic_gbit_s",
                                                  "model",
                                                  "params_b",
                                                  "layers",
                                                  "hidden",
                                                  "heads",
                                                  "kv_heads",
                                                  "ffn",
                                                  "gated_mlp",
                                                  "vocab",
                                                  "tied_embeddings",
                                                  "norm",
                                                  "position",
                                                  "bias",
                                                  "dropout",
                                                  "seq_len",
                                                  "global_batch",
                                                  "micro_batch",
                                                  "tp",
                                                  "pp",
                                                  "vpp",
                                                  "dp",
                                                  "cp",
                                                  "ep",
                                                  "sequence_parallel",
                                                  "zero",
                                                  "recompute",
                                                  "precision",
                                                  "gradients",
                                                  "attention_kernel",
                                                  "compiled",
                                                  "tp_overlap",
                                                  "dp_overlap",
                                                  "schedule",
                                                  "iter_time_s",
                                                  "tokens_per_s_per_gpu",
                                                  "tflops_per_gpu",
                                                  "mfu_pct",
                                                  "mem_gib",
                                                  "mem_kind",
                                                  "assumed",
                                                  "notes"};
  return k_columns;
}

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void check_columns(const measure::CsvTable& table) {
  core::Diagnostics diagnostics;
  for (const std::string& column : table.header) {
    if (std::find(columns().begin(), columns().end(), column) != columns().end()) continue;
    const std::string near = core::nearest(column, columns());
    core::Diagnostic diagnostic;
    diagnostic.file = table.file;
    diagnostic.line = 1;
    diagnostic.column = 1;
    diagnostic.message = fmt::format("unknown column '{}'", column);
    diagnostic.hint = near.empty() ? "see the schema of measured runs" : fmt::format("did you mean '{}'?", near);
    diagnostics.add(std::move(diagnostic));
  }
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
  const auto value = parsed<double>(field);
  if (value && std::isfinite(*value) && *value >= 0.0) return value;
  error(column, fmt::format("'{}' is no number of 0 or more", field), "leave the field empty where it is unknown");
  return std::nullopt;
}

std::optional<std::int64_t> Record::count(std::string_view column) {
  const std::string_view field = text(column);
  if (field.empty()) return std::nullopt;
  const auto value = parsed<std::int64_t>(field);
  if (value && *value >= 0) return value;
  error(column, fmt::format("'{}' is no whole number of 0 or more", field),
        "leave the field empty where it is unknown");
  return std::nullopt;
}

std::optional<bool> Record::flag(std::string_view column) {
  const std::string_view field = text(column);
  if (field == "yes") return true;
  if (field == "no") return false;
  if (!field.empty())
    error(column, fmt::format("'{}' is neither yes nor no", field), "leave the field empty where it is unknown");
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
