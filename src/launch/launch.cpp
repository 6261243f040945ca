#include "cairn/launch/launch.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/yaml.h"
#include "cairn/core/printable.h"
#include "cairn/experiment/experiment.h"
#include "cairn/hardware/files.h"
#include "megatron.h"
#include "megatron_file.h"
#include "nanotron.h"
#include "nemo.h"
#include "table.h"
#include "torchtitan.h"

namespace cairn::launch {
namespace {

struct Framework {
  std::string_view name;
  const Table& (*table)();
  Import (*read)(std::string_view text, const std::string& file_name, const Given& given);
  std::string (*text)(const Export& exported);
  std::string_view use;  // what to do with the file
  FileForm form;
};

constexpr Framework k_frameworks[] = {
    {"megatron",
     megatron,
     read_megatron,
     megatron_text,
     "source this file, then: torchrun --nproc_per_node 8 --nnodes ... pretrain_gpt.py \"${MEGATRON_ARGS[@]}\"",
     {"Megatron-LM's arguments", "a shell script that launches pretrain_gpt.py, or its arguments alone", "train.sh"}},
    {"torchtitan",
     torchtitan,
     read_torchtitan,
     torchtitan_text,
     "CONFIG_FILE=this file ./run_train.sh, up to the commit of 2026-02 that reads TOML",
     {"torchtitan's configuration", "a configuration in TOML", "train.toml"}},
    {"nanotron",
     nanotron,
     read_nanotron,
     nanotron_text,
     "run_train.py --config-file this file, with tokenizer, data, learning rate and checkpoints beside it",
     {"nanotron's configuration", "a configuration in YAML", "train.yaml"}},
    {"nemo",
     nemo,
     read_nemo,
     nemo_text,
     "megatron_gpt_pretraining.py of NeMo 1 with --config-name this file, with tokenizer, data, learning rate and "
     "checkpoints beside it",
     {"NeMo's configuration", "a configuration of NeMo 1 in YAML", "train.yaml"}},
};

const Framework& framework_of(std::string_view name) {
  for (const Framework& each : k_frameworks)
    if (each.name == name) return each;
  throw core::ConfigurationError("framework", fmt::format("{} is none whose arguments are read", core::quoted(name)),
                                 fmt::format("use one of {}", fmt::join(frameworks(), ", ")));
}

const std::vector<std::pair<std::string, std::string>> k_shorthands{
    {"cluster", "file"}, {"strategy.zero", "stage"}, {"strategy.recompute", "kind"}, {"training.precision", "recipe"}};

// The machine, and what overrides say of the model, before the arguments: these may depend on either.
void begin(Import& import) {
  const Given& given = import.given;
  config::Node root = config::make_node(config::NodeKind::map, {});
  config::Node cluster = config::make_scalar(given.cluster, {}, true);
  if (given.nodes) {
    config::Node map = config::make_node(config::NodeKind::map, {});
    map.put("file", std::move(cluster));
    map.put("nodes", config::make_scalar(std::to_string(*given.nodes), {}));
    cluster = std::move(map);
  }
  root.put("cluster", std::move(cluster));
  core::Diagnostics problems;
  for (const std::string& each : given.overrides)
    if (each.starts_with("cluster") || each.starts_with("model"))
      config::apply_override(root, each, problems, k_shorthands);
  problems.raise_if_errors();
  import.experiment = Keys(std::move(root));
}

// As many nodes as were asked for or as the ranks fill; the ranks are then those it has.
void settle_cluster(Import& import, const config::Loader& loader) {
  core::Diagnostics problems;
  const config::Node asked = *import.experiment.find("cluster");
  const hardware::Machine machine = hardware::read_machine(loader, asked, "cluster", problems);
  problems.raise_if_errors();
  const std::int64_t each = machine.network.gpus_per_node;
  if (import.given.nodes || !import.ranks || !asked.is_scalar()) {
    import.ranks = machine.network.gpus();
    return;
  }
  if (*import.ranks % each != 0)
    throw core::ConfigurationError("cluster",
                                   fmt::format("{} ranks do not fill nodes of {} accelerators", *import.ranks, each),
                                   "name another cluster, or say --nodes N");
  config::Node map = config::make_node(config::NodeKind::map, {});
  map.put("file", asked);
  map.put("nodes", config::make_scalar(std::to_string(*import.ranks / each), {}));
  import.experiment.put("cluster", std::move(map));
}

config::Node ordered(const Import& import, const std::string& name) {
  config::Node result = config::make_node(config::NodeKind::map, {});
  result.put("version", config::make_scalar("1", {}));
  result.put("name", config::make_scalar("Arguments of " + name, {}, true));
  for (const char* key : {"model", "cluster", "training", "strategy"})
    if (const config::Node* block = import.experiment.find(key)) result.put(key, *block);
  return result;
}

std::string comment(const std::string& text) { return "# " + core::printable(text) + "\n"; }

}  // namespace

std::vector<std::string> frameworks() {
  std::vector<std::string> names;
  for (const Framework& each : k_frameworks) names.emplace_back(each.name);
  return names;
}

FileForm file_form(std::string_view framework) { return framework_of(framework).form; }

Imported import_arguments(std::string_view framework, std::string_view text, const std::string& file_name,
                          const Given& given, const config::Loader& loader) {
  const Framework& asked = framework_of(framework);
  if (given.cluster.empty())
    throw core::ConfigurationError("--cluster", "is missing: arguments do not say what they run on",
                                   "name it, as in --cluster dgx-h100 --nodes 64");
  Import import = asked.read(text, file_name, given);
  begin(import);
  settle_cluster(import, loader);
  read(asked.table(), import);
  import.problems.raise_if_errors();
  Imported result;
  result.experiment = ordered(import, std::filesystem::path(file_name).filename().string());
  core::Diagnostics problems;
  for (const std::string& each : given.overrides)
    config::apply_override(result.experiment, each, problems, k_shorthands);
  problems.raise_if_errors();
  if (const config::Node* model = result.experiment.find("model");
      model == nullptr || (model->is_map() && model->find("vocab") == nullptr && model->find("file") == nullptr &&
                           model->find("hf") == nullptr))
    throw core::ConfigurationError("model.vocab", "is missing: the arguments leave the vocabulary to a tokenizer",
                                   "give it, as in --set model.vocab=50257");
  experiment::load_parts(experiment::read(result.experiment), loader);
  result.notes = import.notes;
  result.unsaid = import.unsaid();
  return result;
}

std::string experiment_text(const Imported& imported) {
  std::string text = config::to_yaml(imported.experiment);
  for (const std::string& note : imported.notes) text += comment(note);
  if (imported.unsaid.empty()) return text;
  text += comment("What the experiment does not say:");
  for (const Unsaid& each : imported.unsaid)
    text += comment(fmt::format("  {}:{}: {}: {}", each.place.line, each.place.column, each.subject, each.reason));
  return text;
}

Exported export_arguments(std::string_view framework, const experiment::Job& job, const config::Loader& loader) {
  const Framework& asked = framework_of(framework);
  Export exported(job, loader);
  for (const char* key : {"version", "name", "cluster", "calibration", "model.name"}) exported.keys.take(key);
  const experiment::Simulation& simulation = job.experiment().simulation;
  const bool quiet =
      !simulation.contention && !simulation.interference && simulation.jitter.sigma == 0.0 && simulation.faults.empty();
  if (quiet) exported.keys.take("simulation");
  write(asked.table(), exported);
  Exported result;
  result.unsaid = exported.all_unsaid(asked.table().framework);
  result.text = comment(fmt::format("{} arguments of {}, {} ranks.", asked.table().framework,
                                    core::quoted(job.experiment().name), job.gpus()));
  result.text += comment(fmt::format("Use: {}", asked.use));
  result.text += asked.text(exported);
  result.text += comment("The cluster and its calibration are Cairn's: `cairn import` takes --cluster.");
  for (const Unsaid& each : result.unsaid)
    result.text += comment(fmt::format("Not said: {}: {}", each.subject, each.reason));
  return result;
}

}  // namespace cairn::launch
