#include "write_out.h"

#include <algorithm>

#include "cairn/config/read.h"
#include "cairn/models/huggingface.h"
#include "read_parts.h"

namespace cairn::experiment {
namespace {

using config::Node;

constexpr const char* k_models = "models";
constexpr const char* k_clusters = "clusters";
constexpr const char* k_accelerators = "accelerators";
constexpr const char* k_precision = "precision";
constexpr const char* k_frameworks = "frameworks";
constexpr const char* k_calibration = "calibration";

class Writer {
 public:
  Writer(const Case& asked, const ReadFrom& from, Naming naming)
      : r_(asked), loader_(from.loader), sources_(from.sources), naming_(naming) {}

  void name_parts(Experiment& result) const {
    result.model = model();
    result.cluster = cluster();
    result.calibration = portable(calibration_reference(r_.experiment, r_.parts.machine), k_calibration);
    result.precision = precision();
    result.framework = framework();
  }

 private:
  // The bare name by which the search folders hold the file that `named` means, wherever it is said; empty: none.
  std::string shared_name(const Node& named, const std::string& text, std::string_view kind) const {
    if (naming_ == Naming::in_full) return {};
    core::Diagnostics none;
    const std::filesystem::path file = loader_.find(text, kind, named.place, {}, none);
    const config::SourceFile* source = sources_.find(file);
    if (source == nullptr || source->folder.empty()) return {};
    return loader_.find_shipped(source->name(), kind) == file ? source->name() : std::string();
  }

  // `reference` with the name under `key` of its map, or of itself, replaced.
  static Node renamed(Node reference, const char* key, const std::string& name) {
    Node scalar = config::make_scalar(name, {});
    if (reference.is_scalar()) return scalar;
    reference.put(key, std::move(scalar));
    return reference;
  }

  // A name, {file: name, overriding keys} or a block, as it can be read from anywhere.
  Node portable(const Node& reference, std::string_view kind) const {
    const Node* named = reference.is_scalar() ? &reference : reference.find("file");
    if (named == nullptr) return reference;
    if (const std::string name = shared_name(*named, named->text, kind); !name.empty())
      return renamed(reference, "file", name);
    core::Diagnostics none;
    return loader_.resolve(reference, kind, {}, none);
  }

  Node model() const {
    const Node& reference = r_.experiment.model;
    const char* key = reference.find("hf") != nullptr ? "hf" : "file";
    const Node* named = reference.is_scalar() ? &reference : reference.find(key);
    if (named == nullptr) return reference;
    if (const std::string name = shared_name(*named, named->text, k_models); !name.empty())
      return renamed(reference, key, name);
    core::Diagnostics none;
    return config::to_node(models::read_model(reference, loader_, none));
  }

  Node cluster() const {
    Node result = portable(r_.experiment.cluster, k_clusters);
    if (const Node* accelerator = result.find("accelerator"))
      result.put("accelerator", portable(*accelerator, k_accelerators));
    return result;
  }

  // A recipe of the user's own is said over the default one, under whose name it then goes.
  Node precision() const {
    Node block = config::to_node(r_.parts.software.recipe);
    const Node& asked = r_.experiment.precision;
    const Node* named = asked.is_map() ? asked.find("recipe") : &asked;
    if (named != nullptr && named->is_scalar()) {
      core::Diagnostics none;
      const config::SourceFile* source = sources_.find(loader_.find(named->text, k_precision, named->place, {}, none));
      if (source == nullptr || source->folder.empty()) block.remove("recipe");
    }
    return block;
  }

  Node framework() const {
    const Node asked = framework_reference(r_.experiment);
    if (!asked.is_scalar()) return asked;
    const std::size_t release = std::min(asked.text.find('@'), asked.text.size());
    const std::string name = shared_name(asked, asked.text.substr(0, release), k_frameworks);
    software::FrameworkProfile profile = r_.parts.software.framework;
    profile.name = r_.parts.software.label;
    return name.empty() ? config::to_node(profile) : config::make_scalar(name + asked.text.substr(release), {});
  }

  const Case& r_;
  const config::Loader& loader_;
  const config::Sources& sources_;
  Naming naming_;
};

// Parts that were made in C++, all of them laid in. A recipe goes under the default one's name.
void lay_in_parts(const Parts& parts, Experiment& result) {
  result.model = config::to_node(parts.model);
  result.cluster = config::to_node(parts.machine.cluster.value);
  result.cluster.put("accelerator", config::to_node(parts.machine.accelerator.value));
  result.calibration = config::to_node(parts.calibrated.calibration);
  result.precision = config::to_node(parts.software.recipe);
  result.precision.remove("recipe");
  result.framework = config::to_node(parts.software.framework);
}

void complete(Zero& zero, const Resolved& resolved) {
  const plan::Strategy& strategy = resolved.strategy;
  zero.prefetch = strategy.prefetch;
  zero.reshard_after_forward = strategy.reshard_after_forward;
  if (zero.stage > 0) {
    zero.shard = strategy.shard == 0 ? strategy.data : strategy.shard;
    zero.replicate = strategy.data / *zero.shard;
  }
  if (resolved.choose_resident) zero.offload->resident = strategy.offload.resident_units;
  if (resolved.choose_interval && strategy.device_every > 0) zero.offload->every = strategy.device_every;
}

void complete(Overlap& overlap, const Case& asked) {
  const plan::Strategy& strategy = asked.resolved.strategy;
  overlap.dp = DataOverlap{.reduce = strategy.overlap_gradient_reduce,
                           .gather = strategy.overlap_parameter_gather,
                           .bucket = core::Bytes::from_base(strategy.bucket_bytes)};
  TensorOverlap tensor = overlap.tp.value_or(TensorOverlap{});
  tensor.beside = strategy.overlap_tensor;
  if (strategy.tensor_pieces.kind == plan::TensorPieces::Kind::chunked) tensor.chunks = strategy.tensor_pieces.count;
  overlap.tp = tensor;
  overlap.pp = strategy.overlap_sends;
  if (asked.resolved.model.moe)
    overlap.ep = ExpertOverlap{.kind = expert_overlap(asked.experiment, asked.parts.software.framework)};
}

AttentionChoice asked_for(const plan::AttentionSharing& sharing) {
  const sequence::Grid& grid = sharing.grid;
  return {.scheme = std::string(sharing.scheme->name),
          .heads = grid.head_ranks,
          .grid = {grid.rows, grid.columns},
          .window = grid.window,
          .heads_inner = grid.heads_inner,
          .fp32_gradients = sharing.fp32_gradients};
}

void complete(StrategyChoice& choice, const Case& asked) {
  const plan::Strategy& strategy = asked.resolved.strategy;
  choice.dp = strategy.data;
  if (strategy.attention.scheme != nullptr) choice.attention = asked_for(strategy.attention);
  choice.micro_batches = strategy.micro_batches;
  choice.vocab_parallel = strategy.vocab_parallel;
  if (!choice.stages || choice.stages->layout.empty()) choice.stages = Stages{.layers = strategy.stage_layers};
  if (strategy.share_saved_inputs) choice.recompute.share_saved_inputs = true;
  complete(choice.zero, asked.resolved);
  complete(choice.overlap, asked);
}

// What was left to defaults, as it was resolved.
void complete(Settings& settings, const Case& asked) {
  settings.training.global_batch = {.sequences = asked.resolved.global_batch, .tokens = 0.0};
  settings.training.kernels = models::choice_of(
      settings.training.kernels.over(asked.parts.software.framework.kernels_on(asked.parts.machine.accelerator.value)));
  complete(settings.strategy, asked);
}

}  // namespace

Experiment write_out(const Case& asked, const ReadFrom& from, Naming naming) {
  Experiment result = asked.experiment;
  Writer(asked, from, naming).name_parts(result);
  complete(result, asked);
  return result;
}

Experiment portable(const LoadedExperiment& loaded, const config::Loader& loader) {
  config::Sources sources = loaded.sources;
  Case asked;
  asked.experiment = loaded.experiment;
  asked.parts = load_parts(loaded, loader.noting(sources));
  Experiment result = asked.experiment;
  Writer(asked, {.loader = loader, .sources = sources}, Naming::by_name).name_parts(result);
  return result;
}

Experiment write_out(const Case& asked) {
  Experiment result = asked.experiment;
  lay_in_parts(asked.parts, result);
  complete(result, asked);
  return result;
}

}  // namespace cairn::experiment
