#include "command_help.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"

namespace cairn::cli {

std::string_view program_help() {
  return "Example: cairn run llama3-70b-64xdgx-h100 --set strategy.pp=8 --set strategy.dp=8\n\n"
         "Exit codes:\n"
         "  0 ok                        1 it ran and the answer is no: does not fit, beyond the band\n"
         "  2 command line, files       3 writing failed, or reading stopped half-way\n"
         "  4 not in this build         70 a bug of Cairn        130 interrupted\n\n"
         "Environment:\n"
         "  CAIRN_CONFIGS               a folder of configurations, asked before those that came with cairn\n"
         "  CAIRN_DATA                  a folder of further tables for cairn validate\n"
         "  NO_COLOR                    no colour, whatever reads the output\n\n"
         "A file may be -: standard input where it is read, standard output where it is written.\n"
         "cairn help COMMAND            the options of a command\n"
         "cairn help terms              what the words of reports mean\n"
         "cairn help --man              the manual page\n"
         "cairn schema                  every file and document, key by key";
}

std::vector<CLI::App*> commands_of(const CLI::App* app) {
  return const_cast<CLI::App*>(app)->get_subcommands([](CLI::App*) { return true; });
}

std::vector<std::string> command_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* each : commands_of(app)) names.push_back(each->get_name());
  return names;
}

std::string full_name(const CLI::App* app) {
  std::string name;
  for (; app != nullptr; app = app->get_parent()) name = name.empty() ? app->get_name() : app->get_name() + " " + name;
  return name;
}

std::string help_text(const CLI::App* app) {
  // CLI::App::help() would turn to the command that was given.
  return app->get_formatter()->make_help(app, full_name(app), CLI::AppFormatMode::Normal);
}

void refuse_command(const CLI::App* app, const std::string& word) {
  const std::vector<std::string> names = core::nearest_first(word, command_names(app));
  const std::string near = core::nearest(word, names);
  throw core::ConfigurationError(
      full_name(app), fmt::format("no command is called {}", core::quoted(word)),
      fmt::format("{}there are: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                  fmt::join(names, ", ")));
}

}  // namespace cairn::cli
