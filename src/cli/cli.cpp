#include "cairn/cli/cli.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <sys/resource.h>

#include "arguments.h"
#include "cairn/core/format_units.h"
#include "cairn/core/quantity.h"
#include "cairn/report/error.h"
#include "context.h"
#include "exit_code.h"
#include "failure.h"
#include "stopwatch.h"

namespace cairn::cli {
namespace {

// What the whole command took.
void print_stats(const Stopwatch& watch) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr double k_unit = 1024.0;  // ru_maxrss is in KiB
  remark(fmt::format("cairn: {}, {} of memory", core::format(core::Seconds::from_base(watch.seconds())),
                     core::format(core::Bytes::from_base(k_unit * static_cast<double>(usage.ru_maxrss)))));
}

extern "C" void end_interrupted(int /*signal*/) { std::_Exit(k_interrupted); }

int dispatch(Arguments& arguments) {
  if (arguments.help) {
    Output output("");
    output.write(*arguments.help);
    output.finish();
    return k_ok;
  }
  const Stopwatch watch;
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
  const int code = std::visit(
      [&](const auto& command_arguments) {
        using Command = std::decay_t<decltype(command_arguments)>;
        if constexpr (std::is_same_v<Command, std::monostate>)
          return static_cast<int>(k_usage);
        else
          return command(command_arguments, context);
      },
      arguments.command);
  if (context.common.stats) print_stats(watch);
  return code;
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
