#include "megatron_file.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/units.h"
#include "cairn/core/printable.h"
#include "megatron.h"
#include "numbers.h"

namespace cairn::launch {
namespace {

constexpr std::string_view k_dashes = "--";

// --name value value, --name=value.
std::vector<Argument> arguments_of(const std::vector<Word>& words, core::Diagnostics& problems) {
  std::vector<Argument> result;
  for (const Word& word : words) {
    if (word.text.starts_with(k_dashes) && word.text.size() > k_dashes.size()) {
      const std::size_t equals = std::min(word.text.find('='), word.text.size());
      result.push_back({.name = word.text.substr(0, equals), .place = word.place});
      if (equals < word.text.size())
        result.back().values.push_back({.text = word.text.substr(equals + 1), .place = word.place});
    } else if (!result.empty()) {
      result.back().values.push_back(word);
    } else {
      problems.add(config::error_at(word.place, {}, fmt::format("{} where an argument is due", core::quoted(word.text)),
                                    "begin with one, as in --num-layers 32"));
    }
  }
  return result;
}

std::optional<std::int64_t> rank_count(const std::string& text) {
  constexpr std::int64_t k_most = 1 << 24;
  const auto value = config::parse_whole(text);
  return value && *value >= 1 && *value <= k_most ? value : std::nullopt;
}

std::optional<std::int64_t> launcher_number(const std::vector<Argument>& launcher,
                                            std::initializer_list<const char*> names) {
  for (const Argument& each : launcher)
    for (const char* name : names)
      if (each.name == name && each.values.size() == 1) return rank_count(each.values.front().text);
  return std::nullopt;
}

}  // namespace

Import read_megatron(std::string_view text, const std::string& file_name, const Given& given) {
  const Script script = read_script(text, file_name, given.definitions);
  core::Diagnostics problems;
  if (script.arguments.empty())
    throw core::ConfigurationError({core::Diagnostic::at_line(
        file_name, 1, "no arguments: neither a launched program nor a variable that begins with --",
        "name a script that launches pretrain_gpt.py, or write the arguments alone")});
  std::vector<Argument> arguments = arguments_of(script.arguments, problems);
  problems.raise_if_errors();
  std::vector<Word> launcher_words = script.launcher;
  launcher_words.erase(launcher_words.begin(),
                       std::find_if(launcher_words.begin(), launcher_words.end(),
                                    [](const Word& each) { return each.text.starts_with(k_dashes); }));
  std::vector<Argument> launcher = arguments_of(launcher_words, problems);
  const auto is_launchers = [](const Argument& each) {
    return each.name.starts_with("--nproc") || each.name.starts_with("--nnodes") || each.name.starts_with("--master") ||
           each.name.starts_with("--node_rank");
  };
  for (const Argument& each : arguments)
    if (is_launchers(each)) launcher.push_back(each);
  std::erase_if(arguments, is_launchers);

  Import import(std::move(arguments), given);
  import.unset = script.unset;
  const auto nodes = launcher_number(launcher, {"--nnodes"}),
             each = launcher_number(launcher, {"--nproc_per_node", "--nproc-per-node"});
  if (each) import.ranks = nodes.value_or(1) * *each;
  const auto world = script.variables.find("WORLD_SIZE");
  if (!import.ranks && world != script.variables.end()) import.ranks = rank_count(world->second);
  if (!script.taken_from.empty())
    import.notes.push_back(
        fmt::format("Nothing is launched in the file: its arguments are taken from {}.", script.taken_from));
  if (script.assumes_files) import.notes.emplace_back("Files that the script asks for are taken to be there.");
  if (!script.unset.empty())
    import.notes.push_back(fmt::format("Variables that the script leaves unset are empty, as in a shell: {}.",
                                       fmt::join(script.unset, ", ")));
  return import;
}

std::string megatron_text(const Export& exported) {
  std::string text = fmt::format("WORLD_SIZE={}\nMEGATRON_ARGS=(\n", exported.job.gpus());
  for (const Argument& each : exported.arguments) {
    text += "  " + each.name;
    for (const Word& value : each.values) {
      constexpr std::string_view k_safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:/+-";
      const bool plain = value.text.find_first_not_of(k_safe) == std::string::npos;
      text += plain ? " " + value.text : " '" + value.text + "'";
    }
    text += "\n";
  }
  return text + ")\n";
}

const Table& megatron() {
  static const Table table = [] {
    Table all{.framework = "Megatron-LM"};
    const auto add = [](auto& target, auto more) { target.insert(target.end(), more.begin(), more.end()); };
    add(all.rows, megatron_model_rows());
    add(all.rows, megatron_strategy_rows());
    add(all.rows, megatron_training_rows());
    add(all.rules, megatron_model_rules());
    add(all.rules, megatron_dispatcher_rules());
    add(all.rules, megatron_training_rules());
    add(all.rules, megatron_strategy_rules());
    add(all.rules, megatron_stage_rules());
    add(all.fixed, megatron_model_fixed());
    add(all.fixed, megatron_training_fixed());
    add(all.fixed, megatron_strategy_fixed());
    return all;
  }();
  return table;
}

}  // namespace cairn::launch
