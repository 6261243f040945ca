#include "cairn/validation/validate.h"
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

std::vector<std::string> names_of(const std::string& kind, const config::Loader& loader) {
  return kind == k_families ? validation::family_names(loader, {}) : loader.names(kind);
}

// Names of files beside the words that are known without them.
void add_names(OptionWords& option, const config::Loader& loader) {
  for (const std::string& document : option.keys_of)
    for (std::string& word : override_words(loader, document)) option.choices.push_back(std::move(word));
  for (const std::string& kind : option.names_of)
    for (const std::string& name : names_of(kind, loader)) option.choices.push_back(name);
  std::erase_if(option.choices, [](const std::string& word) { return !is_word(word); });
}

void add_names(CommandTree& tree, const config::Loader& loader) {
  add_names(tree.argument, loader);
  for (OptionWords& option : tree.options) add_names(option, loader);
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
