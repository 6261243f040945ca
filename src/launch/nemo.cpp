#include "nemo.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/config/units.h"
#include "cairn/config/yaml.h"
#include "cairn/core/printable.h"
#include "megatron.h"
#include "omegaconf.h"
#include "yaml_arguments.h"

namespace cairn::launch {
namespace {

constexpr const char* k_nemo_devices = "trainer.devices";
constexpr const char* k_nemo_nodes = "trainer.num_nodes";
constexpr const char* k_nemo_steps = "trainer.max_steps";
constexpr const char* k_nemo_sequence = "model.data.seq_length";
constexpr const char* k_nemo_engine = "model.transformer_engine";
constexpr const char* k_nemo_batch = "model.global_batch_size";

void read_nemo_batch(Import& i) {
  if (!i.said(k_nemo_batch))
    return i.error({}, k_nemo_batch, "is missing", "the framework has no default for it: say it");
  if (const auto batch = i.count(k_nemo_batch))
    i.experiment.put("training.global_batch", std::to_string(*batch), i.take(k_nemo_batch)->place);
}
void write_nemo_batch(Export& e) {
  e.keys.take("training.global_batch");
  e.say(k_nemo_batch, e.job.global_batch());
}

// trainer.max_steps, -1 for no end; the data's sequences are the model's.
void read_nemo_length(Import& i) {
  const auto seq = i.experiment.count("training.seq_len"), batch = i.experiment.count("training.global_batch");
  if (const auto length = i.count(k_nemo_sequence); length && seq && *length != *seq)
    i.error(i.take(k_nemo_sequence)->place, k_nemo_sequence,
            fmt::format("{} beside encoder_seq_length {}", *length, *seq), "keep them alike");
  for (const char* name : {k_nemo_devices, k_nemo_nodes}) i.word(name);  // the ranks, which read_nemo has counted
  const Word* said = i.word(k_nemo_steps);
  if (said == nullptr || said->text == "-1" || !seq || !batch) return;
  const auto steps = i.count(k_nemo_steps);
  if (!steps || *steps == 0) return;
  i.experiment.put(
      "training.tokens",
      fmt::format("{}", static_cast<double>(*steps) * static_cast<double>(*batch) * static_cast<double>(*seq)),
      said->place);
}
void write_nemo_length(Export& e) {
  const std::int64_t each = e.job.machine().network.gpus_per_node;
  e.say(k_nemo_devices, each);
  e.say(k_nemo_nodes, e.job.gpus() / each);
  e.say_steps(k_nemo_steps);
}

// megatron_init.py: tp-cp-ep-dp-pp, or tp-cp-ep-pp-dp; experts have the tensor parallelism of all layers.
void read_nemo_degrees(Import& i) {
  const auto tp = i.experiment.count("strategy.tp");
  const bool splits = nemo_truth(i, "model.sequence_parallel", false);
  if (splits && tp == 1) i.remark(*i.take("model.sequence_parallel"), "turned off with tensor_model_parallel_size 1");
  i.experiment.put("strategy.sequence_parallel", splits && tp != 1 ? "true" : "false", {});
  if (i.said("model.num_moe_experts")) i.experiment.put("strategy.etp", std::to_string(tp.value_or(1)), {});
  if (i.experiment.count("strategy.cp").value_or(1) > 1)
    i.experiment.put("strategy.attention.scheme", "megatron-p2p", {});
  i.no_effect("model.cp_comm_type", "NeMo sets the group of ranks without it: Transformer Engine then takes p2p");
  if (!nemo_truth(i, "model.use_tp_pp_dp_mapping", false)) return;
  const auto list = [](std::initializer_list<const char*> axes) {
    config::Node node = config::make_node(config::NodeKind::list, {});
    for (const char* axis : axes) node.items.push_back(config::make_scalar(axis, {}));
    return node;
  };
  i.experiment.put("strategy.order", list({"tp", "cp", "pp", "dp"}));
  i.experiment.put("strategy.expert_order", list({"etp", "ep", "pp", "edp"}));
}
void write_nemo_degrees(Export& e) {
  using Names = std::vector<std::string>;
  const experiment::StrategyChoice& s = e.job.experiment().strategy;
  const bool usual = s.order == Names{"tp", "cp", "dp", "pp"} && s.expert_order == Names{"etp", "ep", "edp", "pp"};
  const bool swapped = s.order == Names{"tp", "cp", "pp", "dp"} && s.expert_order == Names{"etp", "ep", "pp", "edp"};
  if (usual || swapped)
    for (const char* key : {"strategy.order", "strategy.expert_order"}) e.keys.take(key);
  if (swapped) e.say("model.use_tp_pp_dp_mapping", "true");
  for (const char* key : {"strategy.dp", "strategy.micro_batches", "strategy.etp"}) e.keys.take(key);
  if (e.job.parts().model.moe && s.etp != s.tp)
    e.unsaid("strategy.etp", std::to_string(s.etp), "experts have the tensor parallelism of all layers");
  if (s.vocab_parallel.value_or(s.tp > 1) == (s.tp > 1)) e.keys.take("strategy.vocab_parallel");
  if (s.sequence_parallel && s.tp > 1) e.say("model.sequence_parallel", "true");
  if (!s.sequence_parallel || s.tp > 1) e.keys.take("strategy.sequence_parallel");
  const plan::AttentionSharing& sharing = e.job.strategy().attention;
  if (sharing.scheme == nullptr) return;
  if (sharing.scheme->name != "megatron-p2p" || sharing.fp32_gradients)
    return e.unsaid("strategy.attention", "NeMo shares attention by Transformer Engine's p2p");
  e.keys.take("strategy.attention");
}

// megatron_base_model.py: products beside communication with sequence parallelism alone, and not with FSDP.
constexpr const char* k_nemo_tp_overlap = "model.ub_tp_comm_overlap";
void read_nemo_tensor(Import& i) {
  if (!nemo_truth(i, k_nemo_tp_overlap, false)) return;
  const Argument& said = *i.take(k_nemo_tp_overlap);
  if (i.experiment.text("strategy.sequence_parallel") != "true")
    i.remark(said, "turned off without sequence parallelism");
  else if (i.experiment.text("strategy.zero.stage") == "3")
    i.remark(said, "turned off with fsdp: true");
  else
    i.experiment.put("strategy.overlap.tp.kind", "chunked", said.place);
}
void write_nemo_tensor(Export& e) {
  const plan::Strategy& s = e.job.strategy();
  const bool chunked = e.keys.text("strategy.overlap.tp.kind") == "chunked";
  const bool fsdp = std::any_of(e.arguments.begin(), e.arguments.end(),
                                [](const Argument& each) { return each.name == k_nemo_fsdp; });
  if (!chunked || !s.sequence_parallel || s.tensor == 1 || fsdp) return;
  e.keys.take("strategy.overlap.tp.kind");
  e.say(k_nemo_tp_overlap, "true");
}

constexpr EndNames k_nemo_ends{.embedding = "model.account_for_embedding_in_pipeline_split",
                               .first = "model.num_layers_in_first_pipeline_stage",
                               .last = "model.num_layers_in_last_pipeline_stage"};
constexpr const char* k_nemo_with_loss = "model.account_for_loss_in_pipeline_split";
constexpr const char* k_nemo_chunks = "model.virtual_pipeline_model_parallel_size";
constexpr const char* k_nemo_p2p = "model.overlap_p2p_comm";
constexpr const char* k_nemo_batched = "model.batch_p2p_comm";

void read_nemo_ends(Import& i, const PipelineCut& cut) {
  const PipelineEnds ends{.embedding = nemo_truth(i, k_nemo_ends.embedding, false),
                          .loss = nemo_truth(i, k_nemo_with_loss, false),
                          .first = i.count(k_nemo_ends.first),
                          .last = i.count(k_nemo_ends.last)};
  if (!ends.said()) return;
  const char* said = ends.embedding ? k_nemo_ends.embedding
                     : ends.loss    ? k_nemo_with_loss
                     : ends.first   ? k_nemo_ends.first
                                    : k_nemo_ends.last;
  put_uneven_stages(i, ends, k_nemo_ends, i.take(said)->place, cut);
}

void read_nemo_stages(Import& i) {
  const auto layers = i.experiment.count("model.layers"), pp = i.experiment.count("strategy.pp");
  constexpr std::int64_t k_most = 1 << 16;
  if (!layers || !pp || *pp == 0 || *pp > k_most || *layers > k_most) return;
  const std::int64_t chunks = i.count(k_nemo_chunks).value_or(1);
  if (chunks == 0 || chunks > k_most || *pp * chunks > k_most)
    return i.error(i.take(k_nemo_chunks)->place, k_nemo_chunks, "is no number of virtual stages", "choose another");
  read_nemo_ends(i, {.layers = *layers, .stages = *pp, .chunks = chunks});
  if (chunks == 1) {
    // schedules.py, forward_backward_pipelining_without_interleaving. One stage has a schedule of its own.
    if (*pp > 1 && nemo_truth(i, k_nemo_p2p, false))
      return i.error(i.take(k_nemo_p2p)->place, k_nemo_p2p, "without virtual stages, which Megatron-Core refuses",
                     "say overlap_p2p_comm: false, or virtual_pipeline_model_parallel_size");
    if (*pp > 1 && !nemo_truth(i, k_nemo_batched, true))
      i.remark(*i.take(k_nemo_batched), "transfers of 1f1b are modelled as batched, with the wait that follows them");
    for (const char* name : {k_nemo_p2p, k_nemo_batched}) i.no_effect(name, "the schedule is not interleaved");
    return i.experiment.put("strategy.schedule.kind", "1f1b", {});
  }
  if (!nemo_truth(i, k_nemo_half_weights, false))
    return i.error(i.take(k_nemo_chunks)->place, k_nemo_chunks, "without megatron_amp_O2, which NeMo refuses",
                   "say megatron_amp_O2: true");
  const bool overlaps = nemo_truth(i, k_nemo_p2p, false), batched = nemo_truth(i, k_nemo_batched, true);
  if (overlaps && batched)
    return i.error(i.take(k_nemo_p2p)->place, k_nemo_p2p, "with batched transfers, which Megatron-Core refuses",
                   "say batch_p2p_comm: false");
  i.experiment.put("strategy.schedule.kind", "interleaved-1f1b", {});
  i.experiment.put("strategy.schedule.chunks", std::to_string(chunks), {});
  i.experiment.put("strategy.overlap.pp", overlaps ? "true" : "false", {});
}

// How NeMo says stages of which not all have as many layers; nothing where it cannot.
std::optional<PipelineEnds> nemo_ends_of(const Export& e) {
  const std::vector<std::int64_t>& stages = e.job.strategy().stage_layers;
  const std::int64_t pp = e.job.strategy().pipeline, chunks = static_cast<std::int64_t>(stages.size()) / pp;
  const PipelineCut cut{.layers = e.job.parts().model.layers, .stages = pp, .chunks = chunks};
  const std::int64_t first = stages.front() * chunks, last = stages[static_cast<std::size_t>(pp - 1)] * chunks;
  for (const PipelineEnds& ends :
       {PipelineEnds{.first = first}, PipelineEnds{.last = last}, PipelineEnds{.first = first, .last = last},
        PipelineEnds{.embedding = true}, PipelineEnds{.loss = true}, PipelineEnds{.embedding = true, .loss = true}})
    if (pp > 1 && uneven_stages(ends, cut) == stages) return ends;
  return std::nullopt;
}

void write_nemo_stages(Export& e) {
  const std::string kind = e.keys.text("strategy.schedule.kind");
  const std::int64_t chunks = e.keys.count("strategy.schedule.chunks").value_or(1);
  const bool interleaved = kind == "interleaved-1f1b";
  if (!interleaved && kind != "1f1b") return e.unsaid("strategy.schedule.kind", "NeMo runs 1f1b and interleaved-1f1b");
  if (interleaved && chunks == 1)
    e.unsaid("strategy.schedule.kind", "of one virtual stage a device it is 1f1b to NeMo");
  for (const char* key : {"strategy.schedule.kind", "strategy.schedule.chunks"}) e.keys.take(key);
  if (interleaved && chunks > 1) {
    e.say(k_nemo_chunks, chunks);
    const bool overlaps = e.keys.take("strategy.overlap.pp") == "true";
    e.say(k_nemo_p2p, overlaps ? "true" : "false");
    e.say(k_nemo_batched, overlaps ? "false" : "true");
  }
  const std::vector<std::int64_t>& stages = e.job.strategy().stage_layers;
  const bool even =
      std::all_of(stages.begin(), stages.end(), [&](std::int64_t each) { return each == stages.front(); });
  const std::optional<PipelineEnds> ends = even ? PipelineEnds{} : nemo_ends_of(e);
  if (!ends) return e.unsaid("strategy.stages", "of the stages the first and the last alone may have other layers");
  e.keys.take("strategy.stages");
  if (ends->embedding) e.say(k_nemo_ends.embedding, "true");
  if (ends->loss) e.say(k_nemo_with_loss, "true");
  if (ends->first) e.say(k_nemo_ends.first, *ends->first);
  if (ends->last) e.say(k_nemo_ends.last, *ends->last);
}

// transformer_config.py, recompute_granularity.
constexpr const char* k_nemo_granularity = "model.activations_checkpoint_granularity";
constexpr const char* k_nemo_method = "model.activations_checkpoint_method";
constexpr const char* k_nemo_layers_again = "model.activations_checkpoint_num_layers";
void read_nemo_recompute(Import& i) {
  const Word* granularity = i.word(k_nemo_granularity);
  if (granularity == nullptr) {
    for (const char* name :
         {k_nemo_method, k_nemo_layers_again, "model.num_micro_batches_with_partial_activation_checkpoints",
          "model.activations_checkpoint_layers_per_pipeline"})
      i.no_effect(name, "without activations_checkpoint_granularity");
    return i.experiment.put("strategy.recompute", "none", {});
  }
  const config::Place place = granularity->place;
  const Word* method = i.word(k_nemo_method);
  const auto count = i.count(k_nemo_layers_again);
  if (granularity->text == "selective") {
    if (count && nemo_truth(i, k_nemo_core, false))
      return i.error(i.take(k_nemo_layers_again)->place, k_nemo_layers_again,
                     "with selective checkpoints, which Megatron-Core refuses", "leave it out");
    return i.experiment.put("strategy.recompute.kind", "attention", place);
  }
  if (granularity->text != "full")
    return i.error(place, k_nemo_granularity, fmt::format("{} is no granularity", core::quoted(granularity->text)),
                   "use full or selective");
  if (method == nullptr || !count)
    return i.error(place, k_nemo_granularity,
                   "full needs activations_checkpoint_method and activations_checkpoint_num_layers", "say both");
  i.experiment.put("strategy.recompute.kind", "full", place);
  i.experiment.put("strategy.recompute.method", method->text, method->place);
  i.experiment.put("strategy.recompute.count", std::to_string(*count), i.take(k_nemo_layers_again)->place);
}
void write_nemo_recompute(Export& e) {
  using experiment::RecomputeKind;
  const experiment::Recompute& r = e.job.experiment().strategy.recompute;
  if (r.operators || r.layers || r.kind == RecomputeKind::per_op || e.job.strategy().share_saved_inputs ||
      (r.kind == RecomputeKind::attention && r.method))
    return e.unsaid("strategy.recompute", "NeMo recomputes attention of all layers, or whole layers counted by stage");
  e.keys.take("strategy.recompute");
  if (r.kind == RecomputeKind::none) return;
  if (r.kind == RecomputeKind::attention) return e.say(k_nemo_granularity, "selective");
  e.say(k_nemo_granularity, "full");
  e.say(k_nemo_method, r.method == experiment::RecomputeMethod::block ? "block" : "uniform");
  e.say(k_nemo_layers_again, r.count.value_or(1));
}

// Transformer Engine chooses, or takes what attention_backend says; the attention of Megatron-Core's and of NeMo's own
// layers keeps the scores. The softmax of kept scores is fused in Transformer Engine by NVTE_MASKED_SOFTMAX_FUSION, on
// by default; in Megatron-Core where masked_softmax_fusion says so (transformer_config.py); in NeMo's layers unless it
// says no (megatron_gpt_model.py).
constexpr const char* k_nemo_backend = "model.attention_backend";
constexpr const char* k_nemo_flash = "model.use_flash_attention";
constexpr const char* k_nemo_softmax = "model.masked_softmax_fusion";
void read_nemo_attention(Import& i) {
  const bool engine = nemo_truth(i, k_nemo_engine, false), own = !nemo_truth(i, k_nemo_core, false);
  const Word* backend = engine ? i.word(k_nemo_backend) : nullptr;
  const std::string name = backend != nullptr ? backend->text : "auto";
  std::string kernel;
  if (!engine) {
    const bool flash = own && nemo_truth(i, k_nemo_flash, false);
    kernel = flash ? "flash2" : nemo_truth(i, k_nemo_softmax, own) ? "fused-softmax" : "unfused";
  } else if (name == "flash") {
    kernel = "flash2";
  } else if (name == "fused") {
    kernel = "cudnn";
  } else if (name == "unfused" || name == "local") {
    kernel = "fused-softmax";
  } else if (name != "auto") {
    return i.error(backend->place, k_nemo_backend, fmt::format("{} is no backend", core::quoted(name)),
                   "use auto, flash, fused, unfused or local");
  }
  i.no_effect(k_nemo_backend, "of Transformer Engine's attention alone");
  i.no_effect(k_nemo_softmax, engine ? "Transformer Engine's attention does not read it" : "no scores are kept");
  i.no_effect(k_nemo_flash, engine ? "Transformer Engine chooses the kernel" : "of NeMo's own attention alone");
  if (!kernel.empty())
    i.experiment.put("training.kernels.attention", kernel, backend != nullptr ? backend->place : config::Place{});
}
// fused_layer_norm.py, FusedLayerNorm, which layers without Transformer Engine have: refuses RMSNorm.
bool nemo_needs_engine(const Export& e) {
  return e.job.strategy().attention.scheme != nullptr || e.keys.text("model.norm") == "rmsnorm" ||
         std::any_of(e.arguments.begin(), e.arguments.end(),
                     [](const Argument& each) { return each.name == "model.fp8" || each.name == k_nemo_tp_overlap; });
}
void write_nemo_attention(Export& e) {
  const std::string kernel = e.keys.text("training.kernels.attention");
  const bool needs_engine = nemo_needs_engine(e);
  if (kernel == "unfused" && !needs_engine) {  // Megatron-Core's own attention
    e.keys.take("training.kernels.attention");
    for (const char* name : {k_nemo_engine, k_nemo_softmax}) e.say(name, "false");
    return;
  }
  e.say(k_nemo_engine, "true");
  if (kernel == "unfused")
    return e.unsaid(
        "training.kernels.attention",
        "the softmax of Transformer Engine, which this plan or its RMSNorm needs, is fused where scores are "
        "kept");
  if (kernel != "cudnn" && kernel != "flash2" && kernel != "fused-softmax")
    return e.unsaid("training.kernels.attention", "NeMo chooses between FlashAttention 2, cuDNN's and kept scores");
  e.keys.take("training.kernels.attention");
  e.say(k_nemo_backend, kernel == "cudnn" ? "fused" : kernel == "flash2" ? "flash" : "unfused");
}

constexpr const char* k_nemo_pointwise[] = {"model.bias_activation_fusion", "model.bias_dropout_add_fusion"};
void read_nemo_pointwise(Import& i) {
  const bool activation = nemo_truth(i, k_nemo_pointwise[0], true), dropout = nemo_truth(i, k_nemo_pointwise[1], true);
  if (!activation && !dropout) return i.experiment.put("training.kernels.pointwise", "eager", {});
  if (activation && dropout) return;
  i.remark(*i.take(k_nemo_pointwise[activation ? 1 : 0]),
           "one setting of Cairn, kernels.pointwise, stands for the activation's kernels and the dropout's; it stays "
           "fused");
}
void write_nemo_pointwise(Export& e) {
  if (e.keys.take("training.kernels.pointwise") != "eager") return;
  for (const char* name : k_nemo_pointwise) e.say(name, "false");
}

void write_nemo_framework(Export& e) {
  if (e.keys.text("training.framework") == "megatron")
    e.keys.take("training.framework");
  else
    e.unsaid("training.framework", "NeMo trains with Megatron-Core");
  e.take_usual();
}

// Recipes of NeMo 2 are programs. The line by which the text is one; 0: it is none.
int python_line(std::string_view text) {
  int line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::string_view rest = text.substr(at, text.find('\n', at) - at);
    for (const char* begins : {"import ", "from ", "def ", "class ", "@run."})
      if (rest.starts_with(begins)) return line;
    at += rest.size() + 1;
  }
  return 0;
}

std::int64_t nemo_ranks(const config::Node& root, const char* name) {
  constexpr std::int64_t k_most = 1 << 20;
  const config::Node* node = config::find_path(root, name);
  const auto count = node != nullptr && node->is_scalar() ? config::parse_whole(node->text) : std::nullopt;
  return count && *count >= 1 && *count <= k_most ? *count : 0;
}

}  // namespace

const std::vector<Pair>& nemo_yes_no() {
  static const std::vector<Pair> words{{"true", "true"}, {"false", "false"}, {"True", "true"}, {"False", "false"}};
  return words;
}

bool nemo_truth(Import& i, std::string_view name, bool otherwise) {
  const Word* word = i.word(name);
  if (word == nullptr) return otherwise;
  for (const Pair& each : nemo_yes_no())
    if (each.theirs == word->text) return each.ours == "true";
  i.error(word->place, name, fmt::format("{} is neither true nor false", core::quoted(word->text)),
          "write one of them");
  return otherwise;
}

Import read_nemo(std::string_view text, const std::string& file_name, const Given& given) {
  const int python = python_line(text);
  if (python > 0)
    throw core::ConfigurationError(
        {core::Diagnostic::at_line(file_name, python, "a program: recipes of NeMo 2 are Python, which is not read",
                                   "name a configuration of NeMo 1 in YAML, or import the arguments of Megatron-LM")});
  core::Diagnostics problems;
  config::Node root = config::parse_text(text, config::Syntax::yaml, file_name, problems);
  problems.raise_if_errors();
  if (const config::Node* training = root.find("training"); training != nullptr && training->find("model") != nullptr)
    root = config::Node(*training);
  if (root.is_map()) root = with_references(root, given);
  std::vector<Argument> arguments = yaml_arguments(root);
  if (arguments.empty() || root.find("model") == nullptr)
    throw core::ConfigurationError(
        {core::Diagnostic::at_line(file_name, 1, "no settings of a model", "name a configuration of NeMo 1 in YAML")});
  Import import(std::move(arguments), given);
  if (const std::int64_t ranks = nemo_ranks(root, k_nemo_devices) * nemo_ranks(root, k_nemo_nodes); ranks > 0)
    import.ranks = ranks;
  if (import.said("defaults")) import.notes.emplace_back("Configurations that `defaults` names are not read.");
  return import;
}

std::string nemo_text(const Export& exported) { return yaml_text(exported.arguments); }

const Table& nemo() {
  static const Table table = [] {
    Table all{.framework = "NeMo",
              .rows = {{.argument = "model.micro_batch_size", .key = "strategy.micro_batch", .required = true},
                       {.argument = "model.tensor_model_parallel_size", .key = "strategy.tp", .unsaid = "1"},
                       {.argument = "model.pipeline_model_parallel_size", .key = "strategy.pp", .unsaid = "1"},
                       {.argument = "model.context_parallel_size", .key = "strategy.cp", .unsaid = "1"},
                       {.argument = "model.expert_model_parallel_size", .key = "strategy.ep", .unsaid = "1"},
                       {.argument = "model.encoder_seq_length", .key = "training.seq_len", .required = true},
                       {.argument = "model.cross_entropy_loss_fusion",
                        .key = "training.kernels.loss",
                        .kind = Kind::word,
                        .words = {{"true", "fused"}, {"false", "unfused"}, {"True", "fused"}, {"False", "unfused"}},
                        .unsaid = "unfused"}}};
    const auto add = [](auto& target, auto more) { target.insert(target.end(), more.begin(), more.end()); };
    const std::vector<Rule> before{{.read = read_nemo_batch, .write = write_nemo_batch},
                                   {.read = read_nemo_length, .write = write_nemo_length},
                                   {.read = read_nemo_degrees, .write = write_nemo_degrees}};
    const std::vector<Rule> after{{.read = read_nemo_tensor, .write = write_nemo_tensor},
                                  {.read = read_nemo_stages, .write = write_nemo_stages},
                                  {.read = read_nemo_recompute, .write = write_nemo_recompute},
                                  {.read = read_nemo_attention, .write = write_nemo_attention},
                                  {.read = read_nemo_pointwise, .write = write_nemo_pointwise},
                                  {.read = [](Import& i) { i.experiment.put("training.framework", "megatron", {}); },
                                   .write = write_nemo_framework},
                                  {.read = [](Import& i) {  // the last: of what was read
                                    i.refuse_read("${", "cannot be resolved",
                                                  "write its value, or give it by --define NAME=VALUE");
                                  }}};
    add(all.rows, nemo_model_rows());
    add(all.rules, before);
    add(all.rules, nemo_model_rules());
    add(all.rules, nemo_dispatcher_rules());
    add(all.rules, nemo_data_rules());
    add(all.rules, after);
    add(all.fixed, nemo_model_fixed());
    all.fixed.push_back({"strategy.overlap.tp.chunks", "4"});
    return all;
  }();
  return table;
}

}  // namespace cairn::launch
