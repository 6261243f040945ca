#include "arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "argument_parser.h"
#include "arguments_check.h"
#include "cairn/core/diagnostics.h"
#include "cairn/models/onnx.h"
#include "cairn/numerics/format_names.h"
#include "command_help.h"
#include "config_template.h"
#include "context.h"
#include "glossary_text.h"
#include "known_words.h"
#include "manual.h"
#include "schemas.h"

namespace cairn::cli {

Parser::Parser() : Declarations("How long one training step takes, whether it fits, and what holds it back.", "cairn") {
  app_.set_version_flag("--version", std::string("cairn ") + CAIRN_VERSION, "print the version");
  app_.set_help_flag("-h,--help", "print this help");
  app_.require_subcommand(1);
  app_.fallthrough();
  common();
  command(app_, "run", "predict one training step of an experiment", run_, &Parser::run);
  command(app_, "search", "the best layout of an experiment, and why none is better", search_, &Parser::search);
  command(app_, "sweep", "an experiment with some keys varied, and what its machine's figures are worth", sweep_,
          &Parser::sweep);
  command(app_, "bound", "what is provably the least data movement of a computation", bound_, &Parser::bound);
  config();
  command(app_, "validate", "hold predictions against published and measured runs", validate_, &Parser::validate);
  command(app_, "calibrate", "fit the prices of kernels and transfers to measurements of one accelerator", calibrate_,
          &Parser::calibrate);
  command(app_, "diff", "why one step is longer than another: of two experiments, or a measured one", diff_,
          &Parser::diff);
  command(app_, "topology", "what a network can carry and what it costs; flows over it", topology_, &Parser::topology);
  command(app_, "partition", "work shared out beforehand: a model's modules over devices, tasks over ranks", partition_,
          &Parser::partition);
  command(app_, "attention", "how ranks share the attention of long sequences: schemes side by side", attention_,
          &Parser::attention);
  command(app_, "schedule", "a pipeline schedule: its bubble, its memory, who does what when", schedule_,
          &Parser::schedule);
  import();
  export_arguments();
  command(app_, "schema", "JSON Schema of a file that Cairn reads or writes; without a name, the names", schema_,
          &Parser::schema);
  command(app_, "completion", "a completion script for a shell", completion_, &Parser::completion);
  subcommand(app_, "help", "the help of cairn or of a command, as with --help; the words of its reports",
             &Parser::help);
  app_.footer(std::string(program_help()));
}

CLI::App& Parser::subcommand(CLI::App& parent, const std::string& name, const std::string& description,
                             Options options) {
  CLI::App& sub = *parent.add_subcommand(name, description);
  declare_when_asked(sub, [this, &sub, options = std::move(options)] { options(*this, sub); });
  return sub;
}

CLI::App& Parser::group(const char* name, const char* description) {
  CLI::App& sub = *app_.add_subcommand(name, description);
  sub.require_subcommand(1);
  return sub;
}

Arguments Parser::parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    result_.help = help_text(asked_command());
  } catch (const CLI::CallForVersion& version) {
    result_.help = std::string(version.what()) + "\n";
  } catch (const CLI::ParseError& error) {
    refuse_unknown_command(asked_command());
    throw core::ConfigurationError("", error.what(), "see " + full_name(asked_command()) + " --help");
  }
  if (!result_.help) check(result_.command);
  result_.files = named_files();
  if (std::holds_alternative<CompletionArguments>(result_.command)) result_.tree = tree();
  return std::move(result_);
}

void Parser::add_result(CLI::App& sub, ResultArguments& result) {
  add_json(sub, result);
  add_output(sub, "-o,--output", result.output, "write the result to a file");
}

void Parser::add_table(CLI::App& sub, ResultArguments& result) {
  add_result(sub, result);
  add_csv(sub, result);
}

void Parser::set_experiment(CLI::App& sub, std::vector<std::string>& overrides) {
  add_overrides(sub, overrides, {"experiment"}, "override a key, as in strategy.tp=4; may be repeated");
}

void Parser::common() {
  app_.add_flag("-q,--quiet", result_.common.quiet, "no remarks on standard error, errors only");
  app_.add_flag("-v,--verbose", result_.common.verbose, "say what is being done on standard error");
  app_.add_flag("--stats", result_.common.stats, "wall time, events and memory on standard error");
  choose(app_, "--color", result_.common.color, colors_, "colour: auto (when a terminal reads it), always, never")
      ->type_name("WHEN");
}

void Parser::run(CLI::App& sub) {
  name_of(
      sub.add_option("experiment", run_.file, "an experiment: a file, or a name of `cairn config list experiments`"),
      {"experiments"})
      ->type_name(k_file);
  choose(sub, "--engine", run_.engine, engines_, "analytic, event, or both (default)")->type_name("ENGINE");
  set_experiment(sub, run_.overrides);
  sub.add_option("--batch", run_.batch,
                 "many experiments, one JSON object a line, with one line of JSON each as the result; with -o these "
                 "gather in FILE.tmp.PROCESS, which becomes FILE at the end")
      ->type_name(k_file);
  sub.add_option("--threads", run_.threads,
                 "with --batch: lines run at once, as many as the machine has processors if left out; the answers are "
                 "the same for any number, and each line needs memory of its own")
      ->check(at_least(1))
      ->type_name("N");
  sub.add_flag("--full", run_.full, "all there is to say, instead of one screen");
  add_output(sub, "--trace", run_.trace,
             "write a timeline, for https://ui.perfetto.dev: passes of micro-batches, operators, memory over time; "
             "FILE.gz is compressed");
  add_output(sub, "--memory-svg", run_.memory_svg, "draw the memory of each stage at its peak, and what takes it");
  add_output(sub, "--html", run_.html,
             "write a page for a browser: where the time goes, the pipeline over the step, memory of the stages, lower "
             "bounds; one file that needs no network");
  sub.add_option(
         "--strategy-file", run_.strategy_file,
         "in place of an experiment: a network with the placements of its operators, or stages of them, as "
         "`cairn schema placements` describes, an experiment with the ways of its layers, `cairn schema layers`, "
         "or the JSON that `cairn search --method` answers for them")
      ->type_name(k_file);
  sub.add_option("--measured", run_.measured,
                 "the time that a step was measured to take, as in 11.2s: how far it is from the predicted one, and "
                 "which single fact would explain that")
      ->type_name("TIME");
  add_table(sub, run_.result);
  example(sub, "cairn run llama3-8b-fsdp-dgx-h100 --set training.seq_len=4096 --set strategy.recompute=full",
          "A line of a batch is a whole experiment, which may extend another, or {\"file\": NAME, \"set\": "
          "{\"strategy.tp\": 4}}; one that\n"
          "cannot be run is answered by an error with its number. Exit codes: 0 it fits, 1 it does not, 2 refused, 3 "
          "reading or\n"
          "writing failed; of a batch the greatest that a line would have ended with. Results can be run again: "
          "cairn run result.json");
}

void Parser::search(CLI::App& sub) {
  name_of(sub.add_option("experiment", search_.file,
                         "an experiment: a file, or a name of `cairn config list experiments`; its strategy is "
                         "searched"),
          {"experiments"})
      ->type_name(k_file);
  choose(
      sub.add_option("--method", search_.method,
                     "in place of an experiment: split each operator of --graph over --devices. pase is exact; "
                     "autoddl descends from random splits, flexflow walks at random; alpa makes stages of a pipeline, "
                     "with --cluster. Of an experiment: galvatron shares each layer in its own way, pangu "
                     "chooses five degrees, cephalo shares sequences and state out over unlike accelerators"),
      search_method_names())
      ->type_name("METHOD");
  choose_or_file(sub.add_option("--graph", search_.graph,
                                "with --method: the network whose operators are split, or an ONNX file of one"),
                 network_names(), models::k_onnx_suffix)
      ->type_name("NAME");
  sub.add_option("--devices", search_.devices,
                 "with --method: how many devices operators are split over; with --cluster the first so many, or all")
      ->check(at_least(1))
      ->type_name("P");
  sub.add_option("--batch", search_.batch, "with --method: samples of a step, in place of the network's own")
      ->check(at_least(1))
      ->type_name("B");
  sub.add_option("--least-extent", search_.least_extent,
                 "with --method: no part is shorter along a dimension that is split")
      ->check(at_least(1))
      ->type_name("N");
  sub.add_option("--seed", search_.seed, "with --method autoddl or flexflow: of their random choices; 1 if left out")
      ->check(at_least(1))
      ->type_name("N");
  choose(sub.add_option("--cost-model", search_.cost_model,
                        "with --method: pase (default), FLOPs as its prototype counts them, or cairn, seconds by the "
                        "calibrated prices of --cluster"),
         cost_model_names())
      ->type_name("MODEL");
  name_of(sub.add_option("--cluster", search_.cluster, "with --cost-model cairn: whose accelerators share the network"),
          {"clusters"})
      ->type_name("NAME");
  sub.add_option("--nodes", search_.nodes, "with --cluster: of so many nodes")->check(at_least(1))->type_name("N");
  sub.add_option(
         "--axes", search_.axes,
         "with --cluster: accelerators along each axis, outermost first, as in 4x2x4; default: an axis for each "
         "level of the network")
      ->type_name("AxB");
  choose(sub.add_option("--format", search_.format, "with --cluster: of values, parameters and gradients; bf16"),
         numerics::floating_format_names())
      ->type_name("FORMAT");
  sub.add_option("--micro-batches", search_.micro_batches, "with --method alpa: of the batch, through the stages; 1")
      ->check(at_least(1))
      ->type_name("N");
  sub.add_option("--layers", search_.layers, "with --method alpa: clusters of operators that stages are made of; 8")
      ->check(at_least(1))
      ->type_name("N");
  choose(sub.add_option(
             "--objective", search_.objective,
             "what the best has most or least of; on one cluster each has the plan of the shortest step. "
             "fewest-gpus and longest-sequence ask how small or long the experiment may be for a layout to fit"),
         objective_names())
      ->type_name("OBJECTIVE");
  sub.add_option("--space", search_.space,
                 "keys of the strategy with the values to try, and conditions (YAML); see `cairn schema space`")
      ->type_name(k_file);
  sub.add_flag("--print-space", search_.print_space, "print the space that is searched without --space, as a file");
  sub.add_option("--top", search_.top, "kinds of plans to show")
      ->check(at_least(1))
      ->type_name("K")
      ->capture_default_str();
  sub.add_option("--time-limit", search_.time_limit,
                 "end after this long, as in 30s, with what was found and what of it is proven")
      ->type_name("TIME");
  add_output(sub, "--resume", search_.resume,
             "go on from what this file has of the same search, and add to it what is found; made where there is none");
  sub.add_flag("--exhaustive", search_.exhaustive, "compute every plan, also those that bounds rule out");
  add_output(sub, "--html", search_.html,
             "write a page for a browser: the best layout, time against memory, the best of each kind, why points are "
             "no plans; one file that needs no network");
  sub.add_option("--threads", search_.threads, "boxes worked on at once; the answer is the same for any number")
      ->check(at_least(1))
      ->type_name("N");
  set_experiment(sub, search_.overrides);
  sub.add_flag("--full", search_.full, "all there is to say, instead of one screen");
  add_result(sub, search_.result);
  example(sub, "cairn search llama3-70b-64xdgx-h100 --top 10",
          "Model, cluster, batch, precision and framework are those of the experiment. Exit codes: 0 found, 1 no plan "
          "fits, 130\n"
          "interrupted, which leaves what was found so far. Any graph of operators, each split by itself:\n"
          "cairn search --method pase --graph alexnet --devices 32\n"
          "cairn search --method pase --graph vgg16 --cost-model cairn --cluster dgx-a100 --nodes 2\n"
          "Each layer of an experiment in its own way, under the memory of an accelerator:\n"
          "cairn search llama3-70b-64xdgx-h100 --method galvatron");
}

void Parser::sweep(CLI::App& sub) {
  name_of(
      sub.add_option("experiment", sweep_.file, "an experiment: a file, or a name of `cairn config list experiments`"),
      {"experiments"})
      ->required()
      ->type_name(k_file);
  add_keys(sub, "--vary", sweep_.vary, {"experiment"},
           "a key with its values: a,b,c, a range 1..8, doublings 8..4096*2; several make every combination, the "
           "first varying slowest")
      ->required()
      ->type_name("KEY=LIST");
  sub.add_flag("--search", sweep_.search, "search the best layout of each row, in place of the one written");
  sub.add_option("--space", sweep_.space,
                 "with --search: keys of the strategy with the values to try (YAML); see `cairn schema space`")
      ->type_name(k_file);
  choose(sub.add_option("--objective", sweep_.objective, "what the best row has most or least of"), objective_names())
      ->type_name("OBJECTIVE");
  add_output(sub, "--plot", sweep_.plot,
             "draw tokens per second over the first key, a line for each combination of the others, beside ideal "
             "scaling");
  add_output(sub, "--html", sweep_.html,
             "write a page for a browser: that picture, the elasticities, all rows; one file that needs no network");
  sub.add_option("--time-limit", sweep_.time_limit, "end after this long, as in 30s, with the rows that are done")
      ->type_name("TIME");
  sub.add_option("--threads", sweep_.threads, "rows worked on at once; the answer is the same for any number")
      ->check(at_least(1))
      ->type_name("N");
  set_experiment(sub, sweep_.overrides);
  sub.add_flag("--full", sweep_.full, "all rows and all figures");
  add_table(sub, sweep_.result);
  example(sub,
          "cairn sweep llama3-70b-64xdgx-h100 --set strategy.dp=null --vary cluster.nodes=16..512*2 --plot "
          "scaling.svg",
          "Rows are evaluated as `cairn run --engine analytic` does; a row that cannot be planned is a row with its "
          "error. Exit codes:\n"
          "0 a row fits, 1 none does, 130 interrupted, which leaves the rows that were done.");
}

void Parser::config() {
  CLI::App& sub = group("config", "look at configuration files");
  command(sub, "show", "an experiment with everything it names, resolved", show_, &Parser::config_show);
  command(sub, "model", "size and shape of a model", model_, &Parser::config_model);
  command(sub, "list", "the names that configurations can refer to", list_, &Parser::config_list);
  command(sub, "template", "a file to fill in: every key with what it means, and values to begin with", template_,
          &Parser::config_template);
}

void Parser::config_show(CLI::App& sub) {
  name_of(sub.add_option("experiment", show_.experiment, "an experiment file or name"), {"experiments"})
      ->required()
      ->type_name(k_file);
  sub.add_flag("--origin", show_.origin, "where each value comes from");
  set_experiment(sub, show_.overrides);
  add_table(sub, show_.result);
  example(sub, "cairn config show llama3-8b-fsdp-dgx-h100 --origin");
}

void Parser::config_model(CLI::App& sub) {
  name_of(sub.add_option("model", model_.name, "a model file, a Hugging Face config.json, or a name"), {"models"})
      ->required()
      ->type_name("NAME");
  add_result(sub, model_.result);
  example(sub, "cairn config model llama-3.1-8b");
}

void Parser::config_list(CLI::App& sub) {
  suggest(sub.add_option("kind", list_.kind, "one kind only, such as clusters"), configuration_kinds())
      ->type_name("KIND");
  add_result(sub, list_.result);
  example(sub, "cairn config list clusters");
}

void Parser::config_template(CLI::App& sub) {
  choose(sub.add_option("kind", template_.kind, "what the file shall describe"), template_kinds())
      ->required()
      ->type_name("KIND");
  add_output(sub, "-o,--output", template_.output, "write it to a file");
  example(sub, "cairn config template cluster",
          "Keys that may be left out are comments, with their defaults where they have one.");
}

void Parser::diff(CLI::App& sub) {
  name_of(sub.add_option("run", diff_.runs,
                         "A and B, each an experiment or a result of cairn run --json; with --trace one of them"),
          {"experiments"})
      ->required()
      ->type_name(k_file);
  choose(sub, "--engine", diff_.engine, compared_engines_, "of A and B: analytic (default) or event")
      ->type_name("ENGINE");
  sub.add_option("--trace", diff_.trace, "a trace of one rank by PyTorch's profiler (Kineto, JSON or .json.gz)")
      ->type_name(k_file);
  sub.add_option("--step", diff_.step, "the step to compare, as in 3 or ProfilerStep#3; default: the median")
      ->type_name("STEP");
  sub.add_option("--stage", diff_.stage, "of the pipeline that the rank is in; default: as the trace says")
      ->check(at_least(0))
      ->type_name("N");
  set_experiment(sub, diff_.overrides);
  sub.add_flag("--full", diff_.full, "every part, and the kernels of each");
  add_table(sub, diff_.result);
  example(sub, "cairn diff qwen3-30b-16xdgx-h100 qwen3-30b-16xdgx-h100-two-levels",
          "Of two: the difference by what the time goes to, and by the settings that make it, each with its share over "
          "all orders of\n"
          "change. Of a trace, cairn diff --trace rank0.pt.trace.json.gz llama3-8b-fsdp-dgx-h100: kernels by class "
          "(matrix products,\n"
          "attention, all-reduce, ...), streams by what they do; of any size. Parts add up to the difference in both: "
          "no instant counts twice.");
}

void Parser::schema(CLI::App& sub) {
  suggest(sub.add_option("name", schema_.name, "such as experiment or cairn.run/1"), schema_names())->type_name("NAME");
  add_output(sub, "-o,--output", schema_.output, "write the result to a file");
  example(sub, "cairn schema cairn.run/1");
}

void Parser::completion(CLI::App& sub) {
  choose(sub.add_option("shell", completion_.shell, "bash, zsh or fish"), shells_)->required()->type_name("SHELL");
  example(sub, "cairn completion bash",
          "For the shell that runs: source <(cairn completion bash). For all to come: cairn completion bash >> "
          "~/.bashrc");
}

void Parser::help(CLI::App& sub) {
  std::vector<std::string> topics = command_names(&app_);
  topics.emplace_back(k_terms);
  suggest(sub.add_option("topic", help_words_, "a command, such as run or config list; or terms, and any of them"),
          topics)
      ->type_name("TOPIC");
  sub.add_flag("--man", manual_, "the manual page of all commands (roff), as man reads it");
  example(sub, "cairn help terms bubble mfu",
          "To read the manual where it is not installed: cairn help --man | man -l -");
  sub.callback([this] { result_.help = manual_ ? manual(tree(), program_help()) : help_on(help_words_); });
}

std::string Parser::help_on(const std::vector<std::string>& words) {
  if (!words.empty() && words.front() == k_terms) return glossary_text({words.begin() + 1, words.end()});
  CLI::App* asked = &app_;
  for (const std::string& word : words) {
    const std::vector<std::string> names = command_names(asked);
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) refuse_command(asked, word);
    asked = commands_of(asked)[static_cast<std::size_t>(found - names.begin())];
  }
  declare(*asked);
  return help_text(asked);
}

void Parser::refuse_unknown_command(const CLI::App* app) const {
  if (commands_of(app).empty()) return;
  const std::vector<std::string> rest = app_.remaining(true);
  const auto word =
      std::find_if(rest.begin(), rest.end(), [](const std::string& each) { return !each.starts_with('-'); });
  if (word != rest.end()) refuse_command(app, *word);
  throw core::ConfigurationError(full_name(app), "a command is missing",
                                 fmt::format("there are: {}", fmt::join(command_names(app), ", ")));
}

std::string BoundArguments::operation_text() const { return fmt::format("{}", fmt::join(operation, " ")); }

Arguments parse(int argc, const char* const* argv) { return Parser().parse(argc, argv); }

}  // namespace cairn::cli
