// What every command needs, and the commands.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"
#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/report/run.h"
#include "output.h"

namespace cairn::cli {

struct Context {
  CommonArguments common;
  const config::Sources& read;  // what the loader has read
  config::Loader loader;
  report::Tool tool;
  CommandTree tree;  // for completion

  // Whether a report for `output` is coloured; its colours then pass.
  bool color(Output& output) const;
};

// The folders that hold configs/<kind>/<name>, in the order they are asked: CAIRN_CONFIGS, the installed ones beside
// this program, those of the source tree it was built from.
std::vector<std::filesystem::path> search_folders();

// accelerators, calibration, ...: the folders below them.
std::vector<std::string> configuration_kinds();

// Remarks on standard error.
void set_verbosity(const CommonArguments& common);
void say(const std::string& text);   // with -v
void note(const std::string& text);  // unless -q
void warn(const std::string& text);  // likewise, as a warning
// A line, always. What is not printable in it is escaped. A remark that cannot be written is lost: it is no reason to
// fail.
void remark(std::string_view line);

// Each returns the exit code.
int command(const RunArguments& arguments, Context& context);
int command(const SearchArguments& arguments, Context& context);
int command(const SweepArguments& arguments, Context& context);
int command(const BoundArguments& arguments, Context& context);
int command(const ConfigShowArguments& arguments, Context& context);
int command(const ConfigModelArguments& arguments, Context& context);
int command(const ConfigListArguments& arguments, Context& context);
int command(const ConfigTemplateArguments& arguments, Context& context);
int command(const ValidateArguments& arguments, Context& context);
int command(const CalibrateArguments& arguments, Context& context);
int command(const DiffArguments& arguments, Context& context);
int command(const TopologyArguments& arguments, Context& context);
int command(const PartitionArguments& arguments, Context& context);
int command(const AttentionArguments& arguments, Context& context);
int command(const ScheduleArguments& arguments, Context& context);
int command(const ImportArguments& arguments, Context& context);
int command(const LaunchImportArguments& arguments, Context& context);
int command(const LaunchExportArguments& arguments, Context& context);
int command(const SchemaArguments& arguments, Context& context);
int command(const CompletionArguments& arguments, Context& context);

}  // namespace cairn::cli
