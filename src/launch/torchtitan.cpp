// The table of torchtitan, and its training part.
#include "torchtitan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/config/units.h"
#include "cairn/core/printable.h"
#include "cairn/software/files.h"
#include "numbers.h"
#include "toml.h"

namespace cairn::launch {
namespace {

constexpr const char* k_local = "training.local_batch_size";
constexpr const char* k_global = "training.global_batch_size";
constexpr const char* k_piece = "parallelism.pipeline_parallel_microbatch_size";

std::optional<std::int64_t> data_ranks(const Import& i) {
  const std::int64_t model = i.degree("strategy.tp") * i.degree("strategy.pp") * i.degree("strategy.cp");
  if (!i.ranks || *i.ranks % model != 0) return std::nullopt;
  return *i.ranks / model;
}

// A data-parallel rank takes local_batch_size sequences at once, or in pieces through its pipeline; -1 as the global
// batch is one of these for each rank.
void read_titan_batch(Import& i) {
  constexpr std::int64_t k_local_default = 8;
  constexpr std::int64_t k_local_most = 1 << 20;
  const std::int64_t local = std::min(i.count(k_local).value_or(k_local_default), k_local_most);
  const bool pipelined = i.experiment.count("strategy.pp").value_or(1) > 1;
  const std::int64_t piece = i.said(k_piece) && pipelined ? i.count(k_piece).value_or(1) : 1;
  if (!pipelined) i.no_effect(k_piece, "without pipeline stages");
  i.experiment.put("strategy.micro_batch", std::to_string(pipelined ? piece : local), {});
  const Word* global = i.word(k_global);
  const std::optional<std::int64_t> ranks = data_ranks(i);
  if (global != nullptr && global->text != "-1") {
    if (!config::parse_whole(global->text))
      return i.error(global->place, k_global, fmt::format("{} is no count", core::quoted(global->text)),
                     "write a whole number, or -1");
    i.experiment.put("training.global_batch", global->text, global->place);
    if (pipelined && ranks && *config::parse_whole(global->text) != local * *ranks)
      i.remark(
          *i.take(k_global),
          "torchtitan empties the pipeline between local batches; Cairn keeps it full over all of the global batch");
  } else if (ranks) {
    i.experiment.put("training.global_batch", std::to_string(local * *ranks), {});
  } else {
    i.error({}, k_global, "follows from the number of ranks, which the degrees of parallelism do not divide",
            "choose others, or say --nodes N");
  }
}
void write_titan_batch(Export& e) {
  const plan::Strategy& s = e.job.strategy();
  e.keys.take("strategy.micro_batch");
  e.keys.take("training.global_batch");
  e.say(k_local, s.pipeline > 1 ? e.job.global_batch() / s.data : s.micro_batch);
  e.say(k_global, e.job.global_batch());
  if (s.pipeline > 1) e.say(k_piece, s.micro_batch);
}

void read_titan_steps(Import& i) {
  const auto steps = i.count("training.steps"), seq = i.experiment.count("training.seq_len"),
             batch = i.experiment.count("training.global_batch");
  if (steps && seq && batch && *steps > 0)
    i.experiment.put(
        "training.tokens",
        fmt::format("{}", static_cast<double>(*steps) * static_cast<double>(*seq) * static_cast<double>(*batch)), {});
}
void write_titan_steps(Export& e) { e.say_steps("training.steps"); }

// What is stored and computed in which format, by training.dtype, mixed_precision_param and the model's converters.
struct TitanFormats {
  const char* dtype;
  const char* mixed;
  const char* converter;  // "": none
  bool narrow_gather;     // quantize.linear.float8.enable_fsdp_float8_all_gather
  const char* recipe;     // as an experiment says it
};
constexpr TitanFormats k_titan_formats[] = {
    {"float32", "bfloat16", "", false, "bf16"},
    {"float32", "float32", "", false, "fp32"},
    {"bfloat16", "bfloat16", "", false, "{recipe: bf16, gradients: bf16, reduce: fp32, master: none, moments: bf16}"},
    {"float32", "bfloat16", "float8", false, "fp8-current"},
    {"float32", "bfloat16", "float8", true, "{recipe: fp8-current, dp_gather_wire: fp8_e4m3}"},
    {"float32", "bfloat16", "mx", false, "mxfp8"}};

// Names in it are those of configurations, whatever lies beside the file of arguments.
void forget_places(config::Node& node) {
  node.place = {};
  for (config::Entry& entry : node.entries) forget_places(entry.value);
}

config::Node titan_recipe(const TitanFormats& formats) {
  core::Diagnostics none;
  config::Node recipe = config::parse_text(formats.recipe, config::Syntax::yaml, {}, none);
  forget_places(recipe);
  return recipe;
}

void read_titan_precision(Import& i) {
  const auto text = [&](const char* name, const char* otherwise) {
    const Word* word = i.word(name);
    return word != nullptr ? word->text : std::string(otherwise);
  };
  const std::string dtype = text("training.dtype", "float32"),
                    mixed = text("training.mixed_precision_param", "bfloat16");
  i.word("training.mixed_precision_reduce");  // float32 alone
  std::string converter;
  if (const Argument* converters = i.take("model.converters"))
    for (const Word& each : converters->values) {
      const std::string name = each.text == "quantize.linear.float8" ? "float8"
                               : each.text == "quantize.linear.mx"   ? "mx"
                                                                     : each.text;
      if (name != "float8" && name != "mx")
        i.remark(*converters, fmt::format("{} has no counterpart", core::quoted(each.text)));
      else
        converter = name;
    }
  const std::string recipe = text("quantize.linear.float8.recipe_name", "tensorwise");
  if (converter == "float8" && recipe != "tensorwise")
    return i.error(i.take("quantize.linear.float8.recipe_name")->place, "quantize.linear.float8.recipe_name",
                   fmt::format("{} has no counterpart in Cairn", core::quoted(recipe)), "use tensorwise");
  const char* gather = "quantize.linear.float8.enable_fsdp_float8_all_gather";
  const bool narrow = text(gather, "false") == "true";
  if (narrow && converter != "float8") i.remark(*i.take(gather), "without the converter float8");
  for (const TitanFormats& each : k_titan_formats)
    if (dtype == each.dtype && (mixed == each.mixed || dtype == "bfloat16") && converter == each.converter &&
        (narrow && converter == "float8") == each.narrow_gather)
      return i.experiment.put("training.precision", titan_recipe(each));
  i.error({}, "training.dtype",
          fmt::format("{} with mixed_precision_param {} and converter '{}' is no recipe of Cairn", core::quoted(dtype),
                      core::quoted(mixed), converter),
          "use float32 with bfloat16");
}
void write_titan_precision(Export& e) {
  for (const TitanFormats& each : k_titan_formats) {
    core::Diagnostics problems;
    const auto recipe = software::read_precision(e.loader, titan_recipe(each), "training.precision", problems);
    if (problems.has_errors() || !e.has_formats_of(recipe.value)) continue;
    e.keys.take("training.precision");
    e.say("training.dtype", each.dtype);
    e.say("training.mixed_precision_param", each.mixed);
    if (*each.converter != '\0')
      e.arguments.push_back({.name = "model.converters", .values = {{.text = each.converter}}, .list = true});
    if (each.narrow_gather) e.say("quantize.linear.float8.enable_fsdp_float8_all_gather", "true");
    return;
  }
  e.unsaid("training.precision", "no combination of torchtitan's formats is this recipe");
}

void write_titan_optimizer(Export& e) {
  const experiment::Optimizer kind = e.job.experiment().training.optimizer.kind;
  if (kind != experiment::Optimizer::adam && kind != experiment::Optimizer::adamw)
    e.unsaid("training.optimizer", "torchtitan has Adam and AdamW");
}

void read_titan_compile(Import& i) {
  const Word* enable = i.word("compile.enable");
  const Argument* components = i.take("compile.components");
  const bool on = enable != nullptr && enable->text == "true";
  const auto has = [&](const char* name) {
    return components == nullptr || std::any_of(components->values.begin(), components->values.end(),
                                                [&](const Word& each) { return each.text == name; });
  };
  i.experiment.put("training.kernels.compiled", on && has("model") ? "true" : "false", {});
  if (on && has("model") && !has("loss")) i.remark(*components, "the loss is compiled where the model is, in Cairn");
  if (on && !has("model")) i.remark(*components, "of what is compiled Cairn knows the model, with its loss");
}
void write_titan_compile(Export& e) {
  e.say("compile.enable", e.keys.take("training.kernels.compiled") == "true" ? "true" : "false");
}

void write_titan_framework(Export& e) {
  if (e.keys.text("training.framework") == "torchtitan")
    e.keys.take("training.framework");
  else
    e.unsaid("training.framework", "torchtitan has kernels and habits of its own");
}

}  // namespace

Import read_torchtitan(std::string_view text, const std::string& file_name, const Given& given) {
  std::vector<Argument> arguments = read_toml(text, file_name);
  if (arguments.empty())
    throw core::ConfigurationError(
        {core::Diagnostic::at_line(file_name, 1, "no settings", "name a configuration of torchtitan")});
  return {std::move(arguments), given};
}

std::string torchtitan_text(const Export& exported) {
  std::map<std::string, std::string> tables;
  std::vector<std::string> order;
  for (const Argument& each : exported.arguments) {
    const std::size_t dot = each.name.rfind('.');
    const std::string table = each.name.substr(0, dot);
    if (tables.find(table) == tables.end()) order.push_back(table);
    std::string value;
    for (const Word& word : each.values) {
      const bool bare = word.text == "true" || word.text == "false" || decimal(word.text);
      value += (value.empty() ? "" : ", ") + (bare && !each.quoted ? word.text : "\"" + word.text + "\"");
    }
    tables[table] += each.name.substr(dot + 1) + " = " + (each.list ? "[" + value + "]" : value) + "\n";
  }
  std::string text;
  for (const std::string& table : order) text += "\n[" + table + "]\n" + tables[table];
  return text;
}

const Table& torchtitan() {
  static const Table table = [] {
    Table all{.framework = "torchtitan"};
    all.rows = {
        {.argument = "training.seq_len", .key = "training.seq_len", .unsaid = "2048"},
        {.argument = "optimizer.name",
         .key = "training.optimizer",
         .kind = Kind::word,
         .words = {{"AdamW", "adamw"}, {"Adam", "adam"}},
         .unsaid = "adamw"},
        {.argument = "parallelism.tensor_parallel_degree", .key = "strategy.tp", .unsaid = "1"},
        {.argument = "parallelism.pipeline_parallel_degree", .key = "strategy.pp", .unsaid = "1"},
        {.argument = "parallelism.context_parallel_degree", .key = "strategy.cp", .unsaid = "1"},
    };
    all.rules = torchtitan_model_rules();
    for (const Rule& rule : std::initializer_list<Rule>{
             {.read = read_titan_batch, .write = write_titan_batch},
             {.read = read_titan_steps, .write = write_titan_steps},
             {.read = read_titan_precision, .write = write_titan_precision},
             {.write = write_titan_optimizer},
             {.read = read_titan_compile, .write = write_titan_compile},
             {.read = [](Import& i) { i.experiment.put("training.framework", "torchtitan", {}); },
             .write = write_titan_framework}})
      all.rules.push_back(rule);
    for (const Rule& rule : torchtitan_strategy_rules()) all.rules.push_back(rule);
    all.fixed = {{"strategy.ep", "1"}, {"strategy.etp", "1"}};
    return all;
  }();
  return table;
}

}  // namespace cairn::launch
