// The command line of `cairn`, command by command. What a command is declared as stands in arguments.cpp (commands on
// experiments, and the program's own) and arguments_tools.cpp (bounds, networks, schedules, files of other tools).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "cairn/launch/launch.h"
#include "declarations.h"
#include "known_words.h"

namespace cairn::cli {

template <class Launch>
std::vector<Launch> for_frameworks() {
  std::vector<Launch> result;
  for (const std::string& name : launch::frameworks()) result.emplace_back().framework = name;
  return result;
}

class Parser : private Declarations {
 public:
  Parser();

  Arguments parse(int argc, const char* const* argv);

 private:
  // What declares the options of a command.
  using Options = std::function<void(Parser&, CLI::App&)>;

  CLI::App& subcommand(CLI::App& parent, const std::string& name, const std::string& description, Options options);
  template <class Command>
  void command(CLI::App& parent, const std::string& name, const std::string& description, Command& target,
               Options options) {
    subcommand(parent, name, description, std::move(options)).callback([this, &target] { result_.command = target; });
  }
  // Commands below one word.
  CLI::App& group(const char* name, const char* description);
  void add_result(CLI::App& sub, ResultArguments& result);
  // A result that is also a table.
  void add_table(CLI::App& sub, ResultArguments& result);
  static void add_json(CLI::App& sub, ResultArguments& result) {
    sub.add_flag("--json", result.json, "one JSON document instead of text");
  }
  static void add_csv(CLI::App& sub, ResultArguments& result) {
    sub.add_flag("--csv", result.csv, "a table (RFC 4180) instead of text; its columns are the JSON's keys");
  }
  void set_experiment(CLI::App& sub, std::vector<std::string>& overrides);

  void common();
  void run(CLI::App& sub);
  void search(CLI::App& sub);
  void sweep(CLI::App& sub);
  void bound(CLI::App& sub);
  void config();
  void config_show(CLI::App& sub);
  void config_model(CLI::App& sub);
  void config_list(CLI::App& sub);
  void config_template(CLI::App& sub);
  void validate(CLI::App& sub);
  void calibrate(CLI::App& sub);
  void diff(CLI::App& sub);
  void topology(CLI::App& sub);
  void partition(CLI::App& sub);
  void attention(CLI::App& sub);
  void schedule(CLI::App& sub);
  static void swarm(CLI::App& sub, SwarmArguments& swarm);
  void import();
  void import_nccl(CLI::App& sub);
  void import_launch(CLI::App& sub, LaunchImportArguments& launch);
  void export_arguments();
  void export_launch(CLI::App& sub, LaunchExportArguments& launch);
  void schema(CLI::App& sub);
  void completion(CLI::App& sub);
  void help(CLI::App& sub);
  std::string help_on(const std::vector<std::string>& words);
  // Where a command was due and another word came.
  void refuse_unknown_command(const CLI::App* app) const;

  const std::vector<std::string> rules_{"rbw", "hk"};
  const std::vector<std::string> vocabularies_{"vocab-1", "vocab-2", "interlaced"};
  const std::vector<std::string> weight_gradients_{"last", "fill"};
  const std::vector<std::string> continuations_{"concatenate", "double-forward", "halve-backward"};
  const std::vector<std::string> sharings_{"max-min", "rtt-weighted"};
  const std::vector<std::string> collectives_ = collective_names();
  const std::vector<std::string> algorithms_ = algorithm_names();
  const std::vector<std::string> sharing_kernels_ = sharing_kernel_names();
  const std::vector<std::string> attentions_{"unfused", "fused_softmax", "flash2"};
  const std::vector<std::string> shells_{"bash", "zsh", "fish"};
  const std::map<std::string, ColorChoice> colors_{
      {"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}};
  const std::map<std::string, predict::Engine> engines_{
      {"analytic", predict::Engine::analytic}, {"event", predict::Engine::event}, {"both", predict::Engine::both}};
  const std::map<std::string, std::optional<predict::Engine>> compared_engines_{{"analytic", predict::Engine::analytic},
                                                                                {"event", predict::Engine::event}};
  static constexpr const char* k_terms = "terms";
  Arguments result_;
  RunArguments run_;
  SearchArguments search_;
  SweepArguments sweep_;
  BoundArguments bound_;
  ConfigShowArguments show_;
  ConfigModelArguments model_;
  ConfigListArguments list_;
  ConfigTemplateArguments template_;
  SchemaArguments schema_;
  ValidateArguments validate_;
  CalibrateArguments calibrate_;
  DiffArguments diff_;
  TopologyArguments topology_;
  PartitionArguments partition_;
  AttentionArguments attention_;
  ScheduleArguments schedule_;
  ImportArguments import_;
  std::vector<LaunchImportArguments> launch_imports_ = for_frameworks<LaunchImportArguments>();
  std::vector<LaunchExportArguments> launch_exports_ = for_frameworks<LaunchExportArguments>();
  CompletionArguments completion_;
  std::vector<std::string> help_words_;
  bool manual_ = false;
};

}  // namespace cairn::cli
