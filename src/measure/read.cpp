#include "cairn/measure/read.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cairn/config/loader.h"
#include "reading.h"
#include "text_file.h"

namespace cairn::measure {
namespace {

[[noreturn]] void refuse(const std::string& file, std::string message, std::string hint) {
  core::Diagnostic diagnostic;
  diagnostic.file = file;
  diagnostic.line = 1;
  diagnostic.column = 1;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  throw core::ConfigurationError(std::vector<core::Diagnostic>{std::move(diagnostic)});
}

MeasurementFile read_json(std::string_view text, const std::string& file, const ReadOptions& options) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::json, file, diagnostics);
  diagnostics.raise_if_errors();
  if (node.find("schema") != nullptr) return read_probe(node, file);
  if (node.find("results") != nullptr && node.find("config") != nullptr) return read_nccl_json(node, file, options);
  refuse(file, "neither a cairn.measurement/1 document (no key 'schema') nor the JSON of nccl-tests (no 'results')",
         "name what cairn-probe or nccl-tests -J wrote");
}

MeasurementFile read_table(std::string_view text, const std::string& file) {
  const CsvTable table = parse_csv(text, file);
  const auto has = [&](std::string_view column) {
    return std::find(table.header.begin(), table.header.end(), column) != table.header.end();
  };
  if (has("collective") || has("num_gpus")) return read_collective_table(table);
  if (has("shape") || has("kernel")) return read_kernel_table(table);
  refuse(file, "the columns are those of no table that is known here",
         "kernels: source,gpu,kernel,dtype,shape,ms,tflops,gbps; collectives: "
         "source,gpu,num_gpus,nodes,collective,bytes,time_us,algbw_gbs");
}

// Something that only a log of nccl-tests says, or a comment at the very start.
bool looks_like_nccl_text(std::string_view text) {
  constexpr std::array<std::string_view, 4> k_signs{" algbw ", "# nThread ", "# Avg bus bandwidth", " NCCL INFO "};
  if (std::any_of(k_signs.begin(), k_signs.end(),
                  [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; }))
    return true;
  return text.find_first_not_of(" \t\r\n") != std::string_view::npos && text[text.find_first_not_of(" \t\r\n")] == '#';
}

}  // namespace

MeasurementFile parse_measurements(std::string_view text, const std::string& file_name, const ReadOptions& options) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) refuse(file_name, "an empty file", "name a file of measurements");
  if (text.find('\0') != std::string_view::npos) refuse(file_name, "binary: it holds NUL bytes", "name a text file");
  if (text[first] == '{') return read_json(text, file_name, options);
  if (looks_like_nccl_text(text)) return read_nccl_text(text, file_name, options);
  if (text[first] == '[') return read_json(text, file_name, options);
  return read_table(text, file_name);
}

MeasurementFile read_measurements(const std::filesystem::path& file, const ReadOptions& options) {
  return parse_measurements(read_text(file, "a file of measurements"), file.filename().string(), options);
}

}  // namespace cairn::measure
