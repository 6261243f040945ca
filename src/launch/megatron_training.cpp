// The training: batch, formats, optimizer, kernels.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/software/files.h"
#include "megatron.h"
#include "numbers.h"

namespace cairn::launch {
namespace {

// arguments.py: micro-batch x data-parallel ranks where it is not said.
void read_batch(Import& i) {
  if (i.said("--global-batch-size")) return;
  const std::int64_t model = i.degree("strategy.tp") * i.degree("strategy.pp") * i.degree("strategy.cp");
  if (i.ranks && *i.ranks % model == 0)
    return i.experiment.put("training.global_batch",
                            std::to_string(i.degree("strategy.micro_batch") * (*i.ranks / model)), {});
  const bool set = std::any_of(i.given.overrides.begin(), i.given.overrides.end(),
                               [](const std::string& each) { return each.starts_with("training.global_batch="); });
  if (!set)
    i.error({}, "--global-batch-size",
            "is missing, and the number of ranks, from which Megatron-LM takes it, is not said",
            "say it, or give --set training.global_batch=N");
}

// --train-samples, or --train-iters steps.
void read_length(Import& i) {
  const auto seq = i.experiment.count("training.seq_len"), batch = i.experiment.count("training.global_batch");
  const auto samples = i.count("--train-samples"), steps = i.count("--train-iters");
  if (samples && steps)
    return i.error(i.take("--train-iters")->place, "--train-iters", "beside --train-samples", "keep one of the two");
  if (!seq || (!samples && !steps) || (steps && !batch)) return;
  const double count =
      samples ? static_cast<double>(*samples) : static_cast<double>(*steps) * static_cast<double>(*batch);
  if (count <= 0.0) return;
  i.experiment.put("training.tokens", fmt::format("{}", count * static_cast<double>(*seq)), {});
}
void write_length(Export& e) {
  const auto& tokens = e.job.experiment().training.tokens;
  if (!tokens) return;
  const double samples = tokens->tokens / static_cast<double>(e.job.experiment().training.seq_len);
  const std::optional<std::int64_t> whole = whole_number(samples, k_most_exact);
  if (!whole) return e.unsaid("training.tokens", "no whole number of sequences");
  e.keys.take("training.tokens");
  e.say("--train-samples", *whole);
}

// optimizer_config.py: adam decays weights apart from the gradient unless it is told not to.
void read_optimizer(Import& i) {
  const Word* word = i.word("--optimizer");
  const std::string name = word != nullptr ? word->text : "adam";
  const config::Place place = word != nullptr ? word->place : config::Place{};
  const bool coupled = i.flag("--no-decoupled-weight-decay");
  if (name == "adam") return i.experiment.put("training.optimizer", coupled ? "adam" : "adamw", place);
  if (name == "sgd") return i.experiment.put("training.optimizer", "sgd", place);
  i.error(place, "--optimizer", fmt::format("{} has no counterpart in Cairn", config::quote(name)), "use adam or sgd");
}
void write_optimizer(Export& e) {
  using experiment::Optimizer;
  const Optimizer kind = e.job.experiment().training.optimizer.kind;
  if (kind != Optimizer::adam && kind != Optimizer::adamw && kind != Optimizer::sgd)
    return e.unsaid("training.optimizer", "Megatron-LM has adam and sgd of these");
  e.keys.take("training.optimizer");
  e.say("--optimizer", kind == Optimizer::sgd ? "sgd" : "adam");
  if (kind == Optimizer::adam) e.say("--no-decoupled-weight-decay");
}

// Arguments that name a precision recipe. All combinations are tried on the way back.
struct Formats {
  const char* arguments[2];  // the format, and that of gradients; "": none
  const char* recipe;
};
constexpr Formats k_formats[] = {{{"", ""}, "fp32"},
                                 {{"--fp16", ""}, "fp16"},
                                 {{"--fp16", "--accumulate-allreduce-grads-in-fp32"}, "fp16-fp32-gradients"},
                                 {{"--bf16", ""}, "bf16"},
                                 {{"--bf16", "--grad-reduce-in-bf16"}, "bf16-bf16-gradients"}};
struct Narrow {
  const char* format_argument;
  const char* format;  // as exported
  const char* recipe_argument;
  const char* theirs;
  const char* ours;
  const char* weights;  // the format of weights that are kept narrow alone
  const char* keeps;    // the argument that does so
};
constexpr Narrow k_narrow[] = {
    {"--fp8-format", "hybrid", "--fp8-recipe", "delayed", "fp8-delayed", "fp8_e4m3", "--fp8-param-gather"},
    {"--fp8-format", "hybrid", "--fp8-recipe", "tensorwise", "fp8-current", "fp8_e4m3", "--fp8-param-gather"},
    {"--fp8-format", "e4m3", "--fp8-recipe", "blockwise", "fp8-blockwise", "fp8_block_2d", "--fp8-param-gather"},
    {"--fp8-format", "e4m3", "--fp8-recipe", "mxfp8", "mxfp8", "mxfp8", "--fp8-param-gather"},
    {"--fp4-format", "e2m1", "--fp4-recipe", "nvfp4", "nvfp4", "nvfp4", "--fp4-param-gather"}};

config::Node recipe_node(const Formats& formats, const Narrow* narrow, bool keeps) {
  if (narrow == nullptr) return config::make_scalar(formats.recipe, {});
  config::Node map = config::make_node(config::NodeKind::map, {});
  const auto put = [&](const char* key, const char* value) { map.put(key, config::make_scalar(value, {})); };
  put("recipe", narrow->ours);
  if (*formats.arguments[1] != '\0') {
    put("gradients", "bf16");
    put("reduce", "bf16");
  }
  if (keeps) {
    put("parameters", narrow->weights);
    put("dp_gather_wire", narrow->weights);
  }
  return map.entries.size() == 1 ? config::make_scalar(narrow->ours, {}) : map;
}

const Narrow* read_narrow(Import& i) {
  const Word* fp8 = i.word("--fp8-format");
  const Word* fp4 = i.word("--fp4-format");
  if (fp8 != nullptr && fp4 != nullptr) {
    i.error(fp4->place, "--fp4-format", "beside --fp8-format", "keep one of the two");
    return nullptr;
  }
  if (fp8 == nullptr) {
    for (const char* name : {"--fp8-recipe", "--fp8-param-gather"}) i.no_effect(name, "without --fp8-format");
    if (fp4 == nullptr) return nullptr;
  }
  const Word* word = i.word(fp8 != nullptr ? "--fp8-recipe" : "--fp4-recipe");
  const std::string recipe = word != nullptr ? word->text : fp8 != nullptr ? "delayed" : "nvfp4";
  const Word& format = fp8 != nullptr ? *fp8 : *fp4;
  for (const Narrow& each : k_narrow) {
    if (recipe != each.theirs) continue;
    const bool hybrid = std::string_view(each.format) == "hybrid";
    if (format.text == each.format) return &each;
    if (!hybrid && format.text == "hybrid") {
      i.remark(*i.take("--fp8-format"), fmt::format("gradients are those of Cairn's {}, E4M3", each.ours));
      return &each;
    }
    i.error(format.place, each.format_argument,
            fmt::format("{} has no counterpart with the recipe {}", config::quote(format.text), recipe),
            fmt::format("use {}", each.format));
    return nullptr;
  }
  i.error(word != nullptr ? word->place : format.place, "--fp8-recipe",
          fmt::format("{} has no counterpart in Cairn", config::quote(recipe)),
          "use delayed, tensorwise, blockwise or mxfp8");
  return nullptr;
}

void read_precision(Import& i) {
  const bool fp16 = i.flag("--fp16"), bf16 = i.flag("--bf16");
  if (fp16 && bf16) return i.error(i.take("--fp16")->place, "--fp16", "beside --bf16", "keep one of the two");
  const Narrow* narrow = read_narrow(i);
  if (narrow != nullptr && !bf16)
    return i.error(i.take(narrow->format_argument)->place, narrow->format_argument,
                   "without --bf16, beside which Cairn has recipes for it", "say --bf16");
  const char* base = fp16 ? "--fp16" : bf16 ? "--bf16" : "";
  const Formats* formats = nullptr;
  for (const Formats& each : k_formats)
    if (std::string_view(each.arguments[0]) == base && (*each.arguments[1] == '\0' || i.said(each.arguments[1])))
      formats = &each;
  if (*formats->arguments[1] != '\0') i.flag(formats->arguments[1]);
  i.no_effect("--accumulate-allreduce-grads-in-fp32", "gradients are fp32 without it");
  i.no_effect("--grad-reduce-in-bf16", "without --bf16");
  const bool keeps = narrow != nullptr && i.flag(narrow->keeps);
  i.experiment.put("training.precision", recipe_node(*formats, narrow, keeps));
}

void write_precision(Export& e) {
  for (const Formats& formats : k_formats)
    for (std::size_t n = 0; n <= std::size(k_narrow); ++n)
      for (const bool keeps : {false, true}) {
        const Narrow* narrow = n > 0 ? &k_narrow[n - 1] : nullptr;
        const bool bf16 = std::string_view(formats.arguments[0]) == "--bf16";
        if (narrow == nullptr ? keeps : !bf16) continue;
        core::Diagnostics problems;
        const auto recipe =
            software::read_precision(e.loader, recipe_node(formats, narrow, keeps), "training.precision", problems);
        if (problems.has_errors() || !e.has_formats_of(recipe.value)) continue;
        e.keys.take("training.precision");
        for (const char* argument : formats.arguments)
          if (*argument != '\0') e.say(argument);
        if (narrow == nullptr) return;
        e.say(narrow->format_argument, narrow->format);
        e.say(narrow->recipe_argument, narrow->theirs);
        if (keeps) e.say(narrow->keeps);
        return;
      }
  e.precision_unsaid = true;
  e.unsaid("training.precision", "no combination of Megatron-LM's formats is this recipe");
}

// transformer_config.py, attention_backend; core/fusions/fused_softmax.py for scores that are kept.
void read_attention(Import& i) {
  const Word* backend = i.word("--attention-backend");
  const bool old_flag = i.said("--use-flash-attn");
  std::string kernel;
  config::Place place;
  if (backend != nullptr) {
    place = backend->place;
    if (backend->text == "fused") kernel = "cudnn";
    if (backend->text == "unfused" || backend->text == "local")
      kernel = i.said("--no-masked-softmax-fusion") ? "unfused" : "fused-softmax";
    if (backend->text == "flash") kernel = "flash2";
    if (kernel.empty() && backend->text != "auto")
      return i.error(place, "--attention-backend", fmt::format("{} is no backend", config::quote(backend->text)),
                     "use auto, flash, fused, unfused or local");
    i.no_effect("--use-flash-attn", "--attention-backend decides");
  } else if (old_flag) {
    place = i.take("--use-flash-attn")->place;
    kernel = "flash2";
  }
  if (const auto version = i.count("--flash-attention-version")) {
    if (*version != 2 && *version != 3)
      i.error(i.take("--flash-attention-version")->place, "--flash-attention-version", "has no counterpart in Cairn",
              "use 2 or 3");
    if (kernel.empty() || kernel == "flash2") kernel = fmt::format("flash{}", *version);
  }
  if (kernel == "unfused") i.flag("--no-masked-softmax-fusion");
  i.no_effect("--no-masked-softmax-fusion", "the attention kernel does not keep scores");
  if (!kernel.empty()) i.experiment.put("training.kernels.attention", kernel, place);
}
void write_attention(Export& e) {
  const std::string kernel = e.keys.text("training.kernels.attention");
  const bool flash = kernel == "flash2" || kernel == "flash3";
  const bool keeps_scores = kernel == "unfused" || kernel == "fused-softmax";
  if (!flash && !keeps_scores && kernel != "cudnn")
    return e.unsaid("training.kernels.attention",
                    "Megatron-LM chooses between FlashAttention 2 and 3, cuDNN's and kept scores");
  e.keys.take("training.kernels.attention");
  e.say("--attention-backend", flash ? "flash" : keeps_scores ? "unfused" : "fused");
  if (flash) e.say("--flash-attention-version", kernel == "flash2" ? "2" : "3");
  if (kernel == "unfused") e.say("--no-masked-softmax-fusion");
}

constexpr const char* k_unfused[] = {"--no-bias-gelu-fusion", "--no-bias-swiglu-fusion"};
void read_pointwise(Import& i) {
  const char* mlp = i.said("--swiglu") ? k_unfused[1] : k_unfused[0];
  const char* other = i.said("--swiglu") ? k_unfused[0] : k_unfused[1];
  i.no_effect(other, "the MLP has another activation");
  if (i.said(mlp) && i.said("--no-bias-dropout-fusion")) {
    i.experiment.put("training.kernels.pointwise", "eager", i.take(mlp)->place);
    i.take("--no-bias-dropout-fusion");
    return;
  }
  const std::string reason =
      "one setting of Cairn, kernels.pointwise, stands for the activation's kernels and the dropout's; it stays fused";
  i.no_effect(mlp, reason);
  i.no_effect("--no-bias-dropout-fusion", reason);
}
void write_pointwise(Export& e) {
  if (e.keys.take("training.kernels.pointwise") != "eager") return;
  const models::TransformerConfig& model = e.job.parts().model;
  const bool swiglu = model.gated_mlp && model.activation_function() == models::Activation::silu;
  e.say(k_unfused[swiglu ? 1 : 0]);
  e.say("--no-bias-dropout-fusion");
}

void write_framework(Export& e) {
  const std::string name = e.keys.text("training.framework");
  if (name != "megatron") e.unsaid("training.framework", "Megatron-LM has kernels and habits of its own");
}

}  // namespace

std::vector<Row> megatron_training_rows() {
  return {
      {.argument = "--seq-length", .key = "training.seq_len", .required = true},
      {.argument = "--global-batch-size", .key = "training.global_batch"},
      {.argument = "--cross-entropy-loss-fusion",
       .key = "training.kernels.loss",
       .kind = Kind::flag,
       .words = {{"", "fused"}},
       .unsaid = "unfused"},
  };
}

std::vector<Rule> megatron_training_rules() {
  return {
      {.read = read_batch},
      {.read = read_length, .write = write_length},
      {.read = read_optimizer, .write = write_optimizer},
      {.read = read_precision, .write = write_precision},
      {.read = read_attention, .write = write_attention},
      {.read = read_pointwise, .write = write_pointwise},
      {.read = [](Import& i) { i.experiment.put("training.framework", "megatron", {}); }, .write = write_framework}};
}

std::vector<Fixed> megatron_training_fixed() {
  return {
      {"training.framework", "megatron"}, {"training.kernels.norm", "fused"}, {"training.kernels.compiled", "false"}};
}

}  // namespace cairn::launch
