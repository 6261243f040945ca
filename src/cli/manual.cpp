#include "manual.h"

#include <fmt/format.h>

namespace cairn::cli {
namespace {

// Text that roff prints as it stands.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool starts_line = result.empty() || result.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string slanted(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

// Lines as they were broken.
std::string as_written(std::string_view text) { return ".nf\n" + plain(text) + "\n.fi\n"; }

std::string entry(const OptionWords& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
  const bool is_argument = option.names.size() == 1 && !option.names.front().starts_with('-');
  if (option.takes_value()) names = is_argument ? slanted(option.value) : names + " " + slanted(option.value);
  std::string choices;
  for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : ", ") + plain(choice);
  return fmt::format(".TP\n{}\n{}{}\n", names, plain(option.description),
                     choices.empty() ? "" : fmt::format("\n.br\nKnown: {}.", choices));
}

void add_command(const CommandTree& command, const std::string& above, std::string& page) {
  const std::string name = above + " " + command.name;
  for (const CommandTree& below : command.commands) add_command(below, name, page);
  if (!command.commands.empty()) return;
  const std::string argument = command.argument.names.empty() ? "" : " " + slanted(command.argument.value);
  page += fmt::format(".SS \"{}\"\n{} [options]{}\n.PP\n{}.\n", plain(name), bold(name), argument,
                      plain(command.description));
  if (!command.argument.names.empty()) page += entry(command.argument);
  for (const OptionWords& option : command.options) page += entry(option);
  page += ".PP\n" + as_written(command.remarks);
}

}  // namespace

std::string manual(const CommandTree& tree, std::string_view remarks) {
  std::string page = fmt::format(".TH CAIRN 1 \"\" \"cairn {}\" \"User Commands\"\n", CAIRN_VERSION);
  page += fmt::format(".SH NAME\n{} \\- {}\n", tree.name, plain(tree.description));
  page += ".SH SYNOPSIS\n" + bold(tree.name) + " " + slanted("command") + " [options] [argument]\n";
  page += ".SH OPTIONS OF EVERY COMMAND\n";
  for (const OptionWords& option : tree.options) page += entry(option);
  page += ".SH COMMANDS\n";
  for (const CommandTree& command : tree.commands) add_command(command, tree.name, page);
  return page + ".SH NOTES\n" + as_written(remarks);
}

}  // namespace cairn::cli
