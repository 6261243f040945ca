#include "cairn/validation/measured_run.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "record.h"

namespace cairn::validation {
namespace {

constexpr double k_gib = 1024.0 * 1024.0 * 1024.0;
constexpr double k_tera = 1e12;
// Of a row's word for attention: flash2 with a fused normalisation.
constexpr std::string_view k_fused_norm_suffix = "+rms";

// Builds the experiment of one row; says why when it cannot.
class RunBuilder {
 public:
  RunBuilder(Record& record, const Family& family, const Families& families)
      : record_(record), family_(family), families_(families) {}

  MeasuredRun build(int line) {
    MeasuredRun run;
    run.line = line;
    run.status = status();
    run.gpus = record_.need_count("num_gpus");
    run.experiment = map();
    run.experiment.put("name", quoted(std::string(record_.text("model"))));
    run.experiment.put("model", model());
    run.experiment.put("cluster", cluster(run.gpus));
    run.experiment.put("training", training());
    run.experiment.put("strategy", strategy());
    run.label = label(run.gpus);
    run.time_s = time(run.gpus);
    if (const auto memory = record_.number("mem_gib")) run.memory_bytes = *memory * k_gib;
    run.memory_kind = memory_kind();
    run.reason = reason(run);
    return run;
  }

 private:
  config::Node map() const { return config::make_node(config::NodeKind::map, record_.place()); }
  config::Node plain(std::string text) const { return config::make_scalar(std::move(text), record_.place()); }
  config::Node quoted(std::string text) const { return config::make_scalar(std::move(text), record_.place(), true); }
  config::Node number(std::int64_t value) const { return plain(fmt::format("{}", value)); }
  config::Node flag(bool value) const { return plain(value ? "true" : "false"); }

  Status status() {
    constexpr std::array<Status, 4> k_all{Status::ok, Status::out_of_memory, Status::failed, Status::memory_only};
    const std::string_view word = record_.text("status");
    for (const Status status : k_all)
      if (name(status) == word) return status;
    record_.error("status", fmt::format("unknown status '{}'", word), "use ok, oom, failed or memory");
    return Status::failed;
  }

  MemoryKind memory_kind() {
    constexpr std::array<MemoryKind, 3> k_all{MemoryKind::allocated, MemoryKind::reserved, MemoryKind::device};
    const std::string_view word = record_.text("mem_kind");
    if (word.empty()) return MemoryKind::allocated;
    for (const MemoryKind kind : k_all)
      if (name(kind) == word) return kind;
    record_.error("mem_kind", fmt::format("unknown kind of memory '{}'", word), "use allocated, reserved or device");
    return MemoryKind::allocated;
  }

  config::Node model() {
    config::Node node = map();
    node.put("kind", plain("transformer"));
    for (const char* column : {"layers", "hidden", "heads", "ffn", "vocab"})
      node.put(column, number(record_.need_count(column)));
    if (const auto kv_heads = record_.count("kv_heads")) node.put("kv_heads", number(*kv_heads));
    for (const char* column : {"gated_mlp", "tied_embeddings", "bias"})
      node.put(column, flag(record_.need_flag(column)));
    for (const char* column : {"norm", "position"}) node.put(column, plain(std::string(record_.need_text(column))));
    node.put("dropout", plain(fmt::format("{}", record_.number("dropout").value_or(family_.dropout))));
    if (family_.vocab_multiple) node.put("vocab_multiple", number(*family_.vocab_multiple));
    return node;
  }

  // Widths from the row, everything else from the reference cluster of its accelerator.
  config::Node cluster(std::int64_t gpus) {
    const std::string accelerator(record_.need_text("accelerator"));
    const std::int64_t per_node = record_.need_count("gpus_per_node");
    config::Node node = map();
    if (!family_.cluster.empty()) node.put("file", plain(family_.cluster));
    for (const auto& [known, reference] : families_.clusters)
      if (known == accelerator && family_.cluster.empty()) node.put("file", plain(reference));
    if (node.find("file") == nullptr && !accelerator.empty())
      because(fmt::format("no reference cluster for accelerator {}", accelerator));
    if (gpus > per_node && per_node > 0 && gpus % per_node != 0)
      because(fmt::format("{} GPUs do not fill nodes of {}", gpus, per_node));
    node.put("accelerator", plain(accelerator));
    node.put("gpus_per_node", number(std::min(gpus, per_node)));
    node.put("nodes", number(per_node > 0 ? std::max<std::int64_t>(1, gpus / per_node) : 1));
    config::Node intra = map();
    intra.put("bandwidth", quoted(fmt::format("{} GB/s", record_.need_number("nvlink_gb_s"))));
    node.put("intra", intra);
    if (gpus > per_node) {
      config::Node inter = map();
      inter.put("nics_per_node", number(record_.need_count("nics_per_node")));
      inter.put("bandwidth", quoted(fmt::format("{} Gb/s", record_.need_number("nic_gbit_s"))));
      node.put("inter", inter);
    }
    return node;
  }

  config::Node training() {
    config::Node node = map();
    for (const char* column : {"seq_len", "global_batch"}) node.put(column, number(record_.need_count(column)));
    std::string framework(record_.need_text("framework"));
    const std::string release = release_of(record_.text("attention_kernel"));
    if (framework.find('@') == std::string::npos && !release.empty()) framework += "@" + release;
    node.put("framework", plain(framework));
    config::Node precision = map();
    precision.put("recipe", plain(recipe()));
    const std::string gradients =
        family_.gradients.empty() ? std::string(record_.text("gradients")) : family_.gradients;
    if (!gradients.empty()) {
      precision.put("gradients", plain(gradients));
      precision.put("reduce", plain(family_.reduce.empty() ? gradients : family_.reduce));
    }
    node.put("precision", precision);
    node.put("kernels", kernels());
    return node;
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

  std::string release_of(std::string_view attention) const {
    for (const auto& [word, release] : family_.releases)
      if (word == attention) return release;
    return family_.release;
  }

  config::Node kernels() {
    config::Node node = map();
    std::string attention(record_.text("attention_kernel"));
    if (attention.ends_with(k_fused_norm_suffix)) {
      attention.resize(attention.size() - k_fused_norm_suffix.size());
      node.put("norm", plain("fused"));
    }
    for (const auto& [word, kernel] : family_.attention)
      if (word == attention) {
        attention = kernel;
        break;
      }
    if (!attention.empty()) node.put("attention", plain(attention));
    if (const auto compiled = record_.flag("compiled")) node.put("compiled", flag(*compiled));
    return node;
  }

  config::Node strategy() {
    config::Node node = map();
    const std::int64_t pipeline = record_.need_count("pp");
    node.put("pp", number(pipeline));
    for (const char* column : {"tp", "micro_batch"}) node.put(column, number(record_.need_count(column)));
    if (const auto data = record_.count("dp")) node.put("dp", number(*data));
    if (record_.has_column("cp")) node.put("cp", number(record_.need_count("cp")));
    if (const auto experts = record_.count("ep")) node.put("ep", number(*experts));
    node.put("sequence_parallel", flag(record_.need_flag("sequence_parallel")));
    node.put("zero", number(record_.need_count("zero")));
    node.put("recompute", plain(std::string(record_.need_text("recompute"))));
    if (record_.flag("tp_overlap").value_or(false))
      because("overlapped tensor-parallel collectives are not modelled yet");
    if (const auto beside = record_.flag("dp_overlap")) {
      config::Node data = map();
      data.put("reduce", flag(*beside));
      config::Node overlap = map();
      overlap.put("dp", data);
      node.put("overlap", overlap);
    }
    const std::int64_t chunks = schedule(node, pipeline);
    const std::int64_t layers = record_.count("layers").value_or(0);
    const bool divides = pipeline > 0 && chunks > 0 && layers % (pipeline * chunks) == 0;
    if (pipeline > 0 && chunks > 0 && !divides && !family_.framework_cuts) node.put("stages", plain("balanced"));
    return node;
  }

  // Chunks per device. One stage has nothing to schedule.
  std::int64_t schedule(config::Node& node, std::int64_t pipeline) {
    std::string kind(record_.text("schedule"));
    const auto stated = record_.count("vpp");
    if (kind == "interleaved-1f1b" && !stated && pipeline > 1) because("interleaved, but vpp is unknown");
    const std::int64_t chunks = pipeline > 1 ? stated.value_or(1) : 1;
    if (chunks > 1) kind = "interleaved-1f1b";
    if (kind.empty() || pipeline == 1 || (chunks == 1 && kind == "interleaved-1f1b")) kind = "1f1b";
    config::Node choice = map();
    choice.put("kind", plain(kind));
    choice.put("chunks", number(chunks));
    node.put("schedule", choice);
    return chunks;
  }

  std::string label(std::int64_t gpus) const {
    std::string text =
        fmt::format("{} {} GPUs tp{} pp{}", record_.text("model"), gpus, record_.text("tp"), record_.text("pp"));
    if (const std::string_view chunks = record_.text("vpp"); !chunks.empty() && chunks != "1")
      text += fmt::format("x{}", chunks);
    text += fmt::format(" dp{} mb{}", record_.text("dp"), record_.text("micro_batch"));
    if (record_.text("sequence_parallel") == "yes") text += " sp";
    if (const std::string_view zero = record_.text("zero"); zero != "0") text += fmt::format(" zero{}", zero);
    return text + fmt::format(" {}", record_.text("recompute"));
  }

  std::optional<double> time(std::int64_t gpus) {
    if (const auto stated = record_.number("iter_time_s")) return stated;
    const double devices = static_cast<double>(gpus);
    const double tokens = record_.number("global_batch").value_or(0.0) * record_.number("seq_len").value_or(0.0);
    if (const auto rate = record_.number("tokens_per_s_per_gpu"); rate && *rate > 0.0)
      return tokens / (*rate * devices);
    const auto rate = record_.number("tflops_per_gpu");
    if (!rate || *rate <= 0.0 || family_.flops == FlopConvention::none) return std::nullopt;
    return tokens * flops_per_token() / (*rate * k_tera * devices);
  }

  double flops_per_token() {
    const auto value = [&](const char* column) { return record_.number(column).value_or(0.0); };
    const double s = value("seq_len");
    const double l = value("layers");
    const double h = value("hidden");
    const double v = value("vocab");
    if (family_.flops == FlopConvention::recomputed_gpt)
      return 96.0 * l * h * h * (1.0 + s / (6.0 * h) + v / (16.0 * l * h));
    // Query, key, value and output projections, then the MLP's two or three matrices.
    const double heads = value("heads");
    const double kv_heads = record_.number("kv_heads").value_or(heads);
    const double matrices = record_.flag("gated_mlp").value_or(false) ? 3.0 : 2.0;
    const double layer = 2.0 * h * h + 2.0 * h * h * kv_heads / heads + matrices * h * value("ffn");
    return 6.0 * (l * layer + v * h) + 12.0 * l * h * s;
  }

  void because(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }

  std::string reason(const MeasuredRun& run) {
    for (const auto& [word, why] : family_.skip)
      if (record_.text("notes").find(word) != std::string_view::npos) return fmt::format("{}: {}", word, why);
    if (!record_.unknown().empty()) return fmt::format("unknown {}", fmt::join(record_.unknown(), ", "));
    if (run.status == Status::failed) return "failed: crash and out of memory are not told apart";
    if (run.status != Status::out_of_memory && !run.time_s && !run.memory_bytes)
      return "no step time and no memory in a form that is understood";
    return reason_;
  }

  Record& record_;
  const Family& family_;
  const Families& families_;
  std::string reason_;
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

std::string_view name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::allocated:
      return "allocated";
    case MemoryKind::reserved:
      return "reserved";
    case MemoryKind::device:
      return "device";
  }
  return "";
}

std::vector<MeasuredRun> measured_runs(const measure::CsvTable& file, const Family& family, const Families& families) {
  const measure::CsvTable table = completed(file, family);
  check_columns(table);
  core::Diagnostics diagnostics;
  std::vector<MeasuredRun> runs;
  for (const measure::CsvRecord& each : table.records) {
    Record record(table, each, diagnostics);
    runs.push_back(RunBuilder(record, family, families).build(each.line));
  }
  diagnostics.raise_if_errors();
  return runs;
}

}  // namespace cairn::validation
