#include "cairn/validation/measured_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "corrected.h"
#include "flop_convention.h"
#include "row.h"

namespace cairn::validation {
namespace {

constexpr double k_gib = 1024.0 * 1024.0 * 1024.0;
constexpr double k_tera = 1e12;
// Of a row's word for attention: flash2 with a fused normalisation.
constexpr std::string_view k_fused_norm_suffix = "+rms";
// Two statements of one step time that differ by more are in different units: a node has 8 GPUs, a second 1000 ms.
constexpr double k_other_unit = 5.0;
// Sequence lengths are multiples of this; figures that one follows from are rounded by less than the share.
constexpr double k_sequence_step = 128.0;
constexpr double k_rounding = 0.02;
constexpr double k_most = 1e14;  // sequences or tokens that a figure may stand for

// Builds the experiment of one row; says why when it cannot.
class RunBuilder {
 public:
  explicit RunBuilder(Row& row) : row_(row), record_(row.record), family_(row.family) {}

  MeasuredRun build(int line) {
    MeasuredRun run;
    run.line = line;
    run.status = status();
    run.gpus = record_.need_count("num_gpus");
    batch(run.gpus);
    run.experiment = row_.map();
    run.experiment.put("name", row_.quoted(std::string(record_.text("model"))));
    run.experiment.put("model", model_of(row_));
    run.experiment.put("cluster", cluster_of(row_, run.gpus));
    run.experiment.put("training", training());
    run.experiment.put("strategy", strategy_of(row_, seq_len_));
    run.label = label(run.gpus);
    run.time_s = time(run.gpus);
    memory(run);
    if (const std::string_view graph = record_.text("cuda_graph"); !graph.empty() && graph != "none")
      row_.remark(fmt::format("cuda_graph {}: kernels are launched one by one", graph));
    run.reason = reason(run);
    run.remarks = row_.remarks;
    return run;
  }

 private:
  template <class T, std::size_t N>
  std::optional<T> word(std::string_view column, const std::array<std::pair<std::string_view, T>, N>& words) {
    const std::string_view text = record_.text(column);
    std::string all;
    for (const auto& [known, value] : words) {
      if (known == text) return value;
      all += fmt::format("{}{}", all.empty() ? "" : ", ", known);
    }
    if (!text.empty()) record_.error(column, fmt::format("unknown word '{}'", text), fmt::format("use {}", all));
    return std::nullopt;
  }

  Status status() {
    constexpr std::array<Status, 4> k_all{Status::ok, Status::out_of_memory, Status::failed, Status::memory_only};
    const std::string_view word = record_.text("status");
    for (const Status status : k_all)
      if (name(status) == word) return status;
    record_.error("status", fmt::format("unknown status '{}'", word), "use ok, oom, failed or memory");
    return Status::failed;
  }

  // Sequences and their length, of which one may follow from the other and two figures of speed:
  //   seq_len = tokens_per_s_per_gpu num_gpus iter_time_s / global_batch
  void batch(std::int64_t gpus) {
    const auto length = record_.count("seq_len");
    const auto sequences = record_.count("global_batch");
    const double tokens = record_.number("tokens_per_s_per_gpu").value_or(0.0) *
                          record_.number("iter_time_s").value_or(0.0) * static_cast<double>(gpus);
    seq_len_ = length.value_or(0);
    global_batch_ = sequences.value_or(0);
    if (!length && sequences && tokens > 0.0) {
      const double exact = std::clamp(tokens / static_cast<double>(*sequences), 1.0, k_most);
      const double round = std::max(1.0, std::round(exact / k_sequence_step)) * k_sequence_step;
      seq_len_ = std::llround(std::abs(round / exact - 1.0) <= k_rounding ? round : exact);
      row_.remark(fmt::format("seq_len {}, from tokens/s, step time and batch", seq_len_));
    } else if (length && !sequences && tokens > 0.0) {
      global_batch_ = std::llround(std::clamp(tokens / static_cast<double>(*length), 1.0, k_most));
      row_.remark(fmt::format("global_batch {}, from tokens/s, step time and sequence length", global_batch_));
    }
    if (seq_len_ == 0) seq_len_ = record_.need_count("seq_len");
    if (global_batch_ == 0 && leaves_batch_open(record_)) {
      global_batch_ = record_.need_count("dp");
      row_.remark("batch assumed: one sequence for each of the dp ranks");
    }
    if (global_batch_ == 0) global_batch_ = record_.need_count("global_batch");
  }

  config::Node training() {
    config::Node node = row_.map();
    node.put("seq_len", row_.number(seq_len_));
    node.put("global_batch", row_.number(global_batch_));
    std::string framework(record_.need_text("framework"));
    const std::string release = release_of(record_.text("ref"), record_.text("attention_kernel"));
    if (framework.find('@') == std::string::npos && !release.empty()) framework += "@" + release;
    const NotedSettings noted = noted_settings(row_);
    node.put("framework", with_keys(framework, noted.framework));
    config::Node precision = row_.map();
    precision.put("recipe", row_.plain(recipe()));
    const std::string gradients =
        family_.gradients.empty() ? std::string(record_.text("gradients")) : family_.gradients;
    if (!gradients.empty()) {
      precision.put("gradients", row_.plain(gradients));
      precision.put("reduce", row_.plain(family_.reduce.empty() ? gradients : family_.reduce));
    }
    node.put("precision", precision);
    node.put("kernels", kernels(noted));
    return node;
  }

  config::Node with_keys(const std::string& framework, config::Node keys) const {
    if (keys.entries.empty()) return row_.plain(framework);
    keys.put("file", row_.plain(framework));
    return keys;
  }

  std::string recipe() {
    const std::string stated(record_.need_text("precision"));
    const bool open = stated == "fp8" || assumes("precision");
    if (open && !family_.precision.empty()) return family_.precision;
    return stated == "fp8" ? "fp8-delayed" : stated;
  }

  // Whether the row fills the column in where its source says nothing: `assumed` lists columns between spaces.
  bool assumes(std::string_view column) const {
    const std::string all = fmt::format(" {} ", record_.text("assumed"));
    return all.find(fmt::format(" {} ", column)) != std::string::npos;
  }

  std::string release_of(std::string_view ref, std::string_view attention) const {
    for (const auto& [word, release] : family_.dated)
      if (ref.find(word) != std::string_view::npos) return release;
    const std::string* release = meaning(family_.releases, attention);
    return release != nullptr ? *release : family_.release;
  }

  config::Node kernels(const NotedSettings& noted) {
    config::Node node = row_.map();
    std::string attention(record_.text("attention_kernel"));
    if (attention.ends_with(k_fused_norm_suffix)) {
      attention.resize(attention.size() - k_fused_norm_suffix.size());
      node.put("norm", row_.plain("fused"));
    }
    const std::string* own = meaning(noted.attention, attention);
    if (own == nullptr) own = meaning(family_.attention, attention);
    if (own != nullptr) {
      attention = *own;
    } else if (const std::string* priced = meaning(row_.families.words.attention, attention); priced != nullptr) {
      row_.remark(fmt::format("attention kernel {} is priced as {}", attention, *priced));
      attention = *priced;
    }
    if (!attention.empty()) node.put("attention", row_.plain(attention));
    if (const auto compiled = record_.flag("compiled")) node.put("compiled", row_.flag(*compiled));
    return node;
  }

  std::string label(std::int64_t gpus) const {
    std::string text =
        fmt::format("{} {} GPUs tp{} pp{}", record_.text("model"), gpus, record_.text("tp"), record_.text("pp"));
    if (const std::string_view chunks = record_.text("vpp"); !chunks.empty() && chunks != "1")
      text += fmt::format("x{}", chunks);
    text += fmt::format(" dp{} mb{}", record_.text("dp"), record_.text("micro_batch"));
    if (const std::string_view experts = record_.text("ep"); !experts.empty() && experts != "1")
      text += fmt::format(" ep{}", experts);
    if (record_.text("sequence_parallel") == "yes") text += " sp";
    if (const std::string_view zero = record_.text("zero"); zero != "0") text += fmt::format(" zero{}", zero);
    return text + fmt::format(" {}", record_.text("recompute"));
  }

  std::optional<double> time(std::int64_t gpus) {
    const double devices = static_cast<double>(gpus);
    const double tokens = static_cast<double>(global_batch_) * static_cast<double>(seq_len_);
    const auto rate = record_.number("tokens_per_s_per_gpu");
    const std::optional<double> by_rate =
        rate && devices > 0.0 && tokens > 0.0 ? std::optional(tokens / (*rate * devices)) : std::nullopt;
    if (const auto stated = record_.number("iter_time_s")) {
      if (by_rate && (*by_rate > k_other_unit * *stated || *stated > k_other_unit * *by_rate))
        record_.error("iter_time_s",
                      fmt::format("{} s, but the tokens per second make a step of {:.4g} s", *stated, *by_rate),
                      "write seconds, and tokens per second of one GPU");
      return stated;
    }
    if (by_rate) return by_rate;
    const auto work = record_.number("tflops_per_gpu");
    if (!work || !row_.model || tokens == 0.0 || devices == 0.0) return std::nullopt;
    const auto per_token = flops_per_token(family_.flops, *row_.model, static_cast<double>(seq_len_),
                                           std::max<std::int64_t>(1, record_.count("tp").value_or(1)));
    if (!per_token) return std::nullopt;
    return tokens * *per_token / (*work * k_tera * devices);
  }

  void memory(MeasuredRun& run) {
    constexpr std::array<std::pair<std::string_view, MemoryKind>, 3> k_kinds{
        {{"allocated", MemoryKind::allocated}, {"reserved", MemoryKind::reserved}, {"device", MemoryKind::device}}};
    constexpr std::array<std::pair<std::string_view, MemoryRank>, 4> k_ranks{{{"first", MemoryRank::first},
                                                                              {"last", MemoryRank::last},
                                                                              {"max", MemoryRank::fullest},
                                                                              {"unknown", MemoryRank::fullest}}};
    run.memory_kind = word("mem_kind", k_kinds).value_or(MemoryKind::allocated);
    run.memory_rank = word("mem_rank", k_ranks).value_or(MemoryRank::fullest);
    if (const auto figure = record_.number("mem_gib")) run.memory_bytes = *figure * k_gib;
  }

  std::string reason(const MeasuredRun& run) {
    if (std::string other = not_full_training(row_); !other.empty()) return other;
    if (!record_.unknown().empty()) return fmt::format("unknown {}", fmt::join(record_.unknown(), ", "));
    if (run.status == Status::failed) return "failed: crash and out of memory are not told apart";
    if (!row_.reason.empty()) return row_.reason;
    if (run.status != Status::out_of_memory && !run.time_s && !run.memory_bytes)
      return "no step time and no memory in a form that is understood";
    return {};
  }

  Row& row_;
  Record& record_;
  const Family& family_;
  std::int64_t seq_len_ = 0;
  std::int64_t global_batch_ = 0;
};

// The file with the columns that its family states for all rows.
measure::CsvTable completed(measure::CsvTable table, const Family& family) {
  for (const auto& [column, value] : family.columns) {
    if (std::find(table.header.begin(), table.header.end(), column) != table.header.end())
      throw core::ConfigurationError(
          table.file, fmt::format("column '{}' stands in the file and in its family", column), "keep one of them");
    table.header.push_back(column);
    for (measure::CsvRecord& record : table.records) record.fields.push_back(value);
  }
  return table;
}

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::out_of_memory:
      return "oom";
    case Status::failed:
      return "failed";
    case Status::memory_only:
      return "memory";
  }
  return "";
}

std::vector<MeasuredRun> measured_runs(const measure::CsvTable& file, const Family& family, const Families& families,
                                       const RowFiles& files) {
  const measure::CsvTable stated = completed(file, family);
  check_columns(stated);
  check_rows(stated);
  check_duplicates(stated);
  const Corrected corrected = correct(stated, family);
  const measure::CsvTable& table = corrected.table;
  core::Diagnostics diagnostics;
  std::vector<MeasuredRun> runs;
  for (const measure::CsvRecord& each : table.records) {
    Record record(table, each, diagnostics);
    Row row{.record = record, .family = family, .families = families, .files = files};
    runs.push_back(RunBuilder(row).build(each.line));
    runs.back().corrections = corrected.said[runs.size() - 1];
  }
  diagnostics.raise_if_errors();
  return runs;
}

}  // namespace cairn::validation
