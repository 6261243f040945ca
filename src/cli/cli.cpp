#include "cairn/cli/cli.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

#include "arguments.h"
#include "cairn/report/error.h"
#include "context.h"
#include "exit_code.h"
#include "failure.h"

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
  check_outputs(arguments.files);
  const std::vector<std::filesystem::path> folders = search_folders();
  for (const std::filesystem::path& folder : folders) say("configurations in " + folder.string());
  config::Sources read;
  Context context{.common = arguments.common,
                  .read = read,
                  .loader = config::Loader(folders).noting(read),
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

// With --json standard output gets one document, if no file does: the result, or what stood in its way.
bool wants_document(int argc, const char* const* argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  const auto given = [&](std::string_view option) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return word.starts_with(option); });
  };
  // What calibrate writes to a file is the calibration; its document goes to standard output all the same.
  return given("--json") && (given("calibrate") || (!given("-o") && !given("--output")));
}

// Tells what went wrong, to people and, where it is asked for, to programs. Gives the exit code.
int report_failure(const Failure& failure, bool document) {
  for (const std::string& line : failure.lines) remark(line);
  if (!document || failure.code == k_input_output) return failure.code;
  try {
    Output output("");
    output.write(report::error_json(failure.diagnostics, std::nullopt) + "\n");
    output.finish();
  } catch (const core::InputOutputError& error) {
    remark(std::string("cairn: ") + error.what());
    return k_input_output;
  }
  return failure.code;
}

}  // namespace

bool Context::color(Output& output) const {
  const char* refused = std::getenv("NO_COLOR");
  const bool wanted = common.color == ColorChoice::automatic
                          ? (refused == nullptr || *refused == '\0') && output.is_terminal()
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
  } catch (const std::exception&) {
    return report_failure(current_failure(), wants_document(argc, argv));
  }
}

}  // namespace cairn::cli
