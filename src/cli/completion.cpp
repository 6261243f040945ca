#include "completion.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

namespace cairn::cli {
namespace {

using Path = std::vector<std::string>;

void for_each_command(const CommandTree& tree, const Path& path,
                      const std::function<void(const CommandTree&, const Path&)>& visit) {
  visit(tree, path);
  for (const CommandTree& command : tree.commands) {
    Path below = path;
    below.push_back(command.name);
    for_each_command(command, below, visit);
  }
}

// `text` inside single quotes of a shell.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

// Every word that may follow: commands, options, choices of the positional argument.
std::string words_of(const CommandTree& command, const CommandTree& root) {
  std::vector<std::string> words;
  for (const CommandTree& sub : command.commands) words.push_back(sub.name);
  words.insert(words.end(), command.argument.choices.begin(), command.argument.choices.end());
  for (const OptionWords& option : command.options) words.insert(words.end(), option.names.begin(), option.names.end());
  if (&command != &root)
    for (const OptionWords& option : root.options)
      for (const std::string& name : option.names)
        if (std::find(words.begin(), words.end(), name) == words.end()) words.push_back(name);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string commands_pattern(const CommandTree& tree) {
  std::vector<std::string> names;
  for_each_command(tree, {}, [&](const CommandTree& command, const Path& path) {
    if (!path.empty() && std::find(names.begin(), names.end(), command.name) == names.end())
      names.push_back(command.name);
  });
  return fmt::format("{}", fmt::join(names, "|"));
}

// A pattern of bash for the words of a command with one of the option's names behind them; options of the program
// itself stand behind any.
std::string after_option(const Path& path, const OptionWords& option) {
  std::string pattern;
  for (const std::string& name : option.names)
    pattern += fmt::format("{}{}' {}{}{}'", pattern.empty() ? "" : "|", path.empty() ? "*" : "", fmt::join(path, " "),
                           path.empty() ? "" : " ", name);
  return pattern;
}

}  // namespace

std::string bash_completion(const CommandTree& tree) {
  std::string text = "# bash completion of cairn: source <(cairn completion bash)\n_cairn() {\n";
  text += "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} asked= assigned= i\n";
  // bash cuts words at '=': what stands before it is put in front again while an assignment is looked up.
  text += "  if [[ $current == = ]]; then assigned=$previous= current= previous=${COMP_WORDS[COMP_CWORD-2]}\n";
  text +=
      "  elif [[ $previous == = ]]; then assigned=${COMP_WORDS[COMP_CWORD-2]}= previous=${COMP_WORDS[COMP_CWORD-3]}; "
      "fi\n";
  text += "  for ((i = 1; i < COMP_CWORD; ++i)); do\n";
  text += fmt::format(
      "    case ${{COMP_WORDS[i]}} in\n      {}) asked=\"$asked ${{COMP_WORDS[i]}}\" ;;\n    esac\n  done\n",
      commands_pattern(tree));
  text += "  case \"$asked $previous\" in\n";
  for_each_command(tree, {}, [&](const CommandTree& command, const Path& path) {
    for (const OptionWords& option : command.options) {
      if (!option.takes_value()) continue;
      const std::string names = after_option(path, option);
      if (!option.choices.empty())
        text += fmt::format(
            "    {}) COMPREPLY=($(compgen -W '{}' -- \"$assigned$current\")); "
            "COMPREPLY=(\"${{COMPREPLY[@]#\"$assigned\"}}\"{})\n"
            "      [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2> /dev/null; return ;;\n",
            names, fmt::join(option.choices, " "), option.takes_file ? " $(compgen -f -- \"$current\")" : "");
      else if (option.takes_file)
        text += fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", names);
      else
        text += fmt::format("    {}) COMPREPLY=(); return ;;\n", names);
    }
  });
  text += "  esac\n  case $asked in\n";
  for_each_command(tree, {}, [&](const CommandTree& command, const Path& path) {
    const std::string key = path.empty() ? "''" : fmt::format("' {}'", fmt::join(path, " "));
    const std::string files = command.argument.takes_file ? "$(compgen -f -- \"$current\")" : "";
    text += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$current\"){}) ;;\n", key, words_of(command, tree),
                        files.empty() ? "" : " " + files);
  });
  return text + "  esac\n}\ncomplete -o filenames -F _cairn cairn\n";
}

// zsh runs the functions of bash.
std::string zsh_completion(const CommandTree& tree) {
  return "#compdef cairn\n# zsh completion of cairn: source <(cairn completion zsh)\nautoload -U +X bashcompinit && "
         "bashcompinit\n" +
         bash_completion(tree);
}

std::string fish_completion(const CommandTree& tree) {
  std::string text = "# fish completion of cairn: cairn completion fish | source\ncomplete -c cairn -f\n";
  for_each_command(tree, {}, [&](const CommandTree& command, const Path& path) {
    std::string condition;
    for (const std::string& name : path)
      condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ", name);
    if (path.empty()) condition = "__fish_use_subcommand";
    for (const CommandTree& sub : command.commands)
      text += fmt::format("complete -c cairn -n '{}' -a {} -d '{}'\n", condition, sub.name, escaped(sub.description));
    for (const std::string& word : command.argument.choices)
      text += fmt::format("complete -c cairn -n '{}' -a '{}'\n", condition, word);
    if (command.argument.takes_file) text += fmt::format("complete -c cairn -n '{}' -F\n", condition);
    for (const OptionWords& option : command.options) {
      std::string line = path.empty() ? "complete -c cairn" : fmt::format("complete -c cairn -n '{}'", condition);
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
      if (!option.choices.empty())
        line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
      else if (option.takes_value())
        line += option.takes_file ? " -r -F" : " -x";
      text += fmt::format("{} -d '{}'\n", line, escaped(option.description));
    }
  });
  return text;
}

}  // namespace cairn::cli
