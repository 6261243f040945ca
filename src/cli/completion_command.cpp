#include "completion.h"
#include "context.h"
#include "exit_code.h"
#include "override_words.h"

namespace cairn::cli {
namespace {

// Names become words of a script: those that a shell would read otherwise are left out.
bool is_word(const std::string& text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-=") ==
         std::string::npos;
}

// Names of files beside the words that are known without them.
void add_names(CommandTree& tree, const config::Loader& loader) {
  const auto add = [&](const std::vector<std::string>& kinds, std::vector<std::string>& words) {
    for (const std::string& kind : kinds)
      for (const std::string& name : loader.names(kind)) words.push_back(name);
    std::erase_if(words, [](const std::string& word) { return !is_word(word); });
  };
  add(tree.names_of, tree.words);
  for (OptionWords& option : tree.options) {
    if (option.sets_keys) option.choices = override_words(loader);
    add(option.names_of, option.choices);
  }
  for (CommandTree& command : tree.commands) add_names(command, loader);
}

}  // namespace

int command(const CompletionArguments& arguments, Context& context) {
  CommandTree tree = context.tree;
  add_names(tree, context.loader);
  Output output("");
  if (arguments.shell == "bash") output.write(bash_completion(tree));
  if (arguments.shell == "zsh") output.write(zsh_completion(tree));
  if (arguments.shell == "fish") output.write(fish_completion(tree));
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
