#include "cairn/cli/cli.h"

#include <csignal>
#include <cstdlib>
#include <exception>

#include "arguments.h"
#include "context.h"
#include "exit_code.h"

namespace cairn::cli {
namespace {

extern "C" void end_interrupted(int /*signal*/) { std::_Exit(k_interrupted); }

int dispatch(Arguments& arguments) {
  if (arguments.help) {
    Output output("");
    output.write(*arguments.help);
    output.finish();
    return k_ok;
  }
  set_verbosity(arguments.common);
  const std::vector<std::filesystem::path> folders = search_folders();
  for (const std::filesystem::path& folder : folders) say("configurations in " + folder.string());
  Context context{.common = arguments.common,
                  .loader = config::Loader(folders),
                  .tool = {.version = CAIRN_VERSION, .build = CAIRN_BUILD},
                  .tree = std::move(arguments.tree)};
  return std::visit(
      [&](const auto& command_arguments) {
        using Command = std::decay_t<decltype(command_arguments)>;
        if constexpr (std::is_same_v<Command, std::monostate>)
          return static_cast<int>(k_usage);
        else
          return command(command_arguments, context);
      },
      arguments.command);
}

int report_bug(const char* what) {
  remark(std::string("cairn: internal error: ") + what);
  remark("cairn: this is a bug of Cairn, not of your input; please report it with the command line and the files");
  return k_bug;
}

}  // namespace

bool Context::color(Output& output) const {
  const char* refused = std::getenv("NO_COLOR");
  const bool wanted = common.color == ColorChoice::automatic ? (refused == nullptr || *refused == '\0') && output.is_terminal()
                                                             : common.color == ColorChoice::always;
  if (wanted) output.pass_colours();
  return wanted;
}

int run(int argc, const char* const* argv) {
  std::signal(SIGINT, end_interrupted);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is a failed write
  try {
    Arguments arguments = parse(argc, argv);
    return dispatch(arguments);
  } catch (const core::ConfigurationError& error) {
    print(error.diagnostics());
    return k_usage;
  } catch (const core::InputOutputError& error) {
    remark(std::string("cairn: ") + error.what());
    return k_input_output;
  } catch (const core::CapabilityError& error) {
    remark(std::string("cairn: ") + error.what());
    return k_capability;
  } catch (const std::exception& error) {
    return report_bug(error.what());
  }
}

}  // namespace cairn::cli
