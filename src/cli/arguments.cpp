#include "arguments.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "cairn/measure/read.h"
#include "command_help.h"
#include "context.h"
#include "exchange_bound.h"
#include "known_words.h"
#include "schemas.h"

namespace cairn::cli {
namespace {

constexpr const char* k_file = "FILE";

// A whole number from `least` on; CLI11's own ranges are said in 300 digits.
CLI::Validator at_least(std::int64_t least) {
  return {[least](std::string& text) -> std::string {
            std::int64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size())
              return fmt::format("{} is no whole number", core::quoted(text));
            return value < least ? fmt::format("{} is less than {}", value, least) : std::string();
          },
          ""};
}

// One of a few words. CLI11's own checks show enumerations by their bytes.
CLI::Validator one_of(const std::vector<std::string>& words) {
  return {[words](std::string& text) -> std::string {
            if (std::find(words.begin(), words.end(), text) != words.end()) return {};
            return fmt::format("{} is not one of {}", core::quoted(text), fmt::join(words, ", "));
          },
          ""};
}

class Parser {
 public:
  Parser() : app_("How long one training step takes, whether it fits, and what holds it back.", "cairn") {
    app_.set_version_flag("--version", std::string("cairn ") + CAIRN_VERSION, "print the version");
    app_.set_help_flag("-h,--help", "print this help");
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.footer("Options of every command: -q, -v, --stats, --color WHEN; see cairn --help.");
    common();
    run();
    bound();
    config();
    validate();
    calibrate();
    topology();
    schedule();
    import();
    schema();
    completion();
    help();
    app_.footer(std::string(program_help()));
  }

  Arguments parse(int argc, const char* const* argv) {
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
    if (!result_.help) check();
    result_.files = named_files();
    if (std::holds_alternative<CompletionArguments>(result_.command)) result_.tree = tree(app_);
    return std::move(result_);
  }

 private:
  template <class Command>
  CLI::App* command(CLI::App& parent, const char* name, const char* description, Command& target) {
    CLI::App* sub = parent.add_subcommand(name, description);
    sub->callback([this, &target] { result_.command = target; });
    return sub;
  }
  // A file that the command writes.
  void add_output(CLI::App& sub, const char* names, std::string& target, const char* description) {
    outputs_.insert(sub.add_option(names, target, description)->type_name(k_file));
  }
  // The option takes one of these words and completes them.
  CLI::Option* choose(CLI::Option* option, const std::vector<std::string>& words) {
    words_[option] = words;
    return option->check(one_of(words));
  }
  template <class Value>
  CLI::Option* choose(CLI::App& sub, const char* name, Value& target, const std::map<std::string, Value>& values,
                      const char* description) {
    std::vector<std::string> words;
    for (const auto& [word, value] : values) words.push_back(word);
    const auto take = [&target, &values](const std::string& word) { target = values.at(word); };
    return choose(sub.add_option_function<std::string>(name, take, description), words);
  }
  // The option completes the names of these kinds of configuration files.
  CLI::Option* name_of(CLI::Option* option, std::vector<std::string> kinds) {
    kinds_[option] = std::move(kinds);
    return option;
  }
  void add_result(CLI::App& sub, ResultArguments& result) {
    sub.add_flag("--json", result.json, "one JSON document instead of text");
    add_output(sub, "-o,--output", result.output, "write the result to a file");
  }
  static void add_overrides(CLI::App& sub, std::vector<std::string>& overrides) {
    sub.add_option("--set", overrides, "override a key, as in strategy.tp=4; may be repeated")
        ->allow_extra_args(false)
        ->type_name("KEY=VALUE");
  }

  void common() {
    app_.add_flag("-q,--quiet", result_.common.quiet, "no remarks on standard error, errors only");
    app_.add_flag("-v,--verbose", result_.common.verbose, "say what is being done on standard error");
    app_.add_flag("--stats", result_.common.stats, "wall time, events and memory on standard error");
    choose(app_, "--color", result_.common.color, colors_, "colour: auto (when a terminal reads it), always, never")
        ->type_name("WHEN");
  }

  void run() {
    CLI::App* sub = command(app_, "run", "predict one training step of an experiment", run_);
    name_of(sub->add_option("experiment", run_.file, "an experiment: a file, or a name of `cairn config list experiments`"), {"experiments"})->type_name(k_file);
    choose(*sub, "--engine", run_.engine, engines_, "analytic, event, or both (default)")->type_name("ENGINE");
    add_overrides(*sub, run_.overrides);
    sub->add_option("--batch", run_.batch, "many experiments, one JSON object a line, with one line of JSON each as the result; with -o these gather in FILE.tmp.PROCESS, which becomes FILE at the end")
        ->type_name(k_file);
    sub->add_flag("--full", run_.full, "all there is to say, instead of one screen");
    add_output(*sub, "--trace", run_.trace, "write a timeline, for https://ui.perfetto.dev: passes of micro-batches, operators, memory over time; FILE.gz is compressed");
    add_output(*sub, "--memory-svg", run_.memory_svg, "draw the memory of each stage at its peak, and what takes it");
    add_result(*sub, run_.result);
    sub->footer(
        "Example: cairn run llama3-8b-fsdp-dgx-h100 --set training.seq_len=4096 --set cluster.nodes=2\n"
        "A line of a batch is a whole experiment, or {\"file\": NAME, \"set\": {\"strategy.tp\": 4}}; one that cannot be run is answered\n"
        "by an error with its number. Exit codes: 0 it fits, 1 it does not, 2 refused, 3 reading or writing failed; of a batch the\n"
        "greatest that a line would have ended with. Results can be run again: cairn run result.json");
  }

  void bound() {
    CLI::App* sub = command(app_, "bound", "what is provably the least data movement of a computation", bound_);
    words_[sub->add_option("operation", bound_.operation,
                           "an operator with its sizes, as in 'matmul m=8192 n=8192 k=8192', or: einsum 'ik,kj->ij'")
               ->type_name("OPERATION")] = operator_names();
    sub->add_option("--sizes", bound_.sizes, "sizes of an einsum's letters, as in i=64,j=64,k=64")->type_name("SIZES");
    sub->add_option("--fast", bound_.fast, "fast memory: 228KiB, or a bare number of words")->type_name("AMOUNT");
    sub->add_option("--dtype", bound_.format, "number format of a word")->type_name("FORMAT")->capture_default_str();
    choose(sub->add_option("--game", bound_.rules, "rbw: every value computed once; hk: recomputation allowed"), rules_)
        ->type_name("GAME")
        ->capture_default_str();
    sub->add_flag("--slide", bound_.slide, "a result may take the place of one of its operands");
    sub->add_flag("--exact", bound_.exact, "search the cheapest play of all; at most 64 vertices");
    sub->add_option("--states", bound_.states, "states the exact search may look at")->check(at_least(1))->type_name("N");
    sub->add_option("--cdag", bound_.cdag, "a graph: lines 'v ID [in] [out]' and 'e FROM TO'")->type_name(k_file);
    sub->add_option("--trace", bound_.trace, "an execution: lines 'r ADDR', 'w ADDR', 'op', as below, or its binary form")->type_name(k_file);
    sub->add_option("--moves", bound_.moves, "verify a play of the graph: lines 'load V', 'store V', 'compute V', 'slide FROM -> V', 'erase V', 'forget V'")->type_name(k_file);
    add_output(*sub, "--write-moves", bound_.write_moves, "write the cheapest play found, as --moves reads it");
    sub->add_flag("--locality", bound_.locality, "of a trace: what the best order found moves, for memories of many sizes");
    name_of(sub->add_option("--accelerator", bound_.accelerator, "compare with its memory; its on-chip memory is the default of --fast"), {"accelerators"})
        ->type_name("NAME");
    sub->add_option("--devices", bound_.devices, "what so many must exchange: products, attention, graphs of any kind")
        ->check(at_least(1))
        ->type_name("P");
    name_of(sub->add_option("--cluster", bound_.cluster, "of several devices: least time over its links"), {"clusters"})->type_name("NAME");
    name_of(sub->add_option("--model", bound_.model, "the operators of a model's layers instead, whole, as on one device"), {"models"})->type_name("NAME");
    sub->add_option("--layer", bound_.layer, "one layer of the model: 1 is the first block, 0 the embedding; default: every class once")
        ->check(at_least(0))
        ->type_name("N");
    sub->add_option("--seq", bound_.sequence, "tokens per sequence")->check(at_least(1))->type_name("TOKENS")->capture_default_str();
    sub->add_option("--batch", bound_.batch, "sequences")->check(at_least(1))->type_name("N")->capture_default_str();
    sub->add_flag("--backward", bound_.backward, "the backward pass as well");
    choose(sub->add_option("--attention", bound_.attention, "unfused (default; latent attention: flash2), fused_softmax or flash2"), attentions_)
        ->type_name("KERNEL")
        ->capture_default_str();
    add_result(*sub, bound_.result);
    sub->footer(operators_text() +
                "An execution (--trace): of every operation what it reads, 'r ADDR', then what it writes, 'w ADDR', then 'op', which\n"
                "ends it. One that reads nothing places inputs. a = x + y, line by line: w 0, w 8, op, r 0, r 8, w 16, op\n");
  }

  void config() {
    CLI::App* group = app_.add_subcommand("config", "look at configuration files");
    group->require_subcommand(1);
    CLI::App* show = command(*group, "show", "an experiment with everything it names, resolved", show_);
    name_of(show->add_option("experiment", show_.experiment, "an experiment file or name"), {"experiments"})->required()->type_name(k_file);
    show->add_flag("--origin", show_.origin, "where each value comes from");
    add_overrides(*show, show_.overrides);
    add_result(*show, show_.result);
    CLI::App* model = command(*group, "model", "size and shape of a model", model_);
    name_of(model->add_option("model", model_.name, "a model file, a Hugging Face config.json, or a name"), {"models"})->required()->type_name("NAME");
    add_result(*model, model_.result);
    CLI::App* list = command(*group, "list", "the names that configurations can refer to", list_);
    words_[list->add_option("kind", list_.kind, "one kind only, such as clusters")->type_name("KIND")] = configuration_kinds();
    add_result(*list, list_.result);
  }

  void validate() {
    CLI::App* sub = command(app_, "validate", "hold predictions against published and measured runs", validate_);
    sub->add_option("family", validate_.names, "families of measurements; default: all")->type_name("NAME");
    sub->add_option("--data", validate_.data, "a folder of further tables (CSV); default: the variable CAIRN_DATA")->type_name("DIR");
    add_result(*sub, validate_.result);
  }

  void calibrate() {
    CLI::App* sub = command(app_, "calibrate", "fit the prices of kernels and transfers to measurements of one accelerator",
                            calibrate_);
    sub->add_option("files", calibrate_.files, "documents of cairn-probe, output or JSON of nccl-tests, tables (CSV)")
        ->required()
        ->type_name(k_file);
    add_output(*sub, "-o,--output", calibrate_.output, "write the calibration to a file; the report goes to standard output");
    name_of(sub->add_option("--gpu", calibrate_.gpu, "the accelerator, a name of `cairn config list accelerators`; default: the one measured"), {"accelerators"})
        ->type_name("NAME");
    name_of(sub->add_option("--base", calibrate_.base,
                    "the calibration that supplies what is not measured; default: the accelerator's own"), {"calibration"})
        ->type_name("NAME");
    choose(sub->add_option("--collective", calibrate_.collective, "which one nccl-tests timed, where its output does not say"),
           measure::collective_names())
        ->type_name("NAME");
    sub->add_flag("--json", calibrate_.json, "one JSON document instead of text");
    sub->footer(
        "Example: cairn calibrate probe.json all_reduce_perf.txt -o configs/calibration/h100-sxm5-80gb.yaml\n"
        "Errors are predicted / measured - 1, in sample and of whole groups that the fit did not see.");
  }

  void topology() {
    CLI::App* sub = command(app_, "topology", "what a network can carry and what it costs; flows over it", topology_);
    name_of(sub->add_option("network", topology_.name, "a network, cluster or graph: a file, or a name of `cairn config list`"), {"topologies", "clusters"})
        ->type_name(k_file);
    name_of(sub->add_option("--compare", topology_.compare, "several networks side by side"), {"topologies", "clusters"})->type_name("NAME ...");
    add_overrides(*sub, topology_.overrides);
    name_of(sub->add_option("--prices", topology_.prices, "the price list, a name of `cairn config list prices`"), {"prices"})
        ->type_name("NAME")
        ->capture_default_str();
    sub->add_option("--flows", topology_.flows, "flows to run: a table (CSV) of src,dst,bytes,start_s,after")->type_name(k_file);
    choose(sub->add_option("--sharing", topology_.sharing, "how flows share links: max-min, or rtt-weighted by 1/latency"), sharings_)
        ->type_name("RULE")
        ->capture_default_str();
    add_output(*sub, "--svg", topology_.svg, "draw it (small networks)");
    add_output(*sub, "--dot", topology_.dot, "write it for Graphviz (small networks)");
    add_result(*sub, topology_.result);
    sub->footer(
        "after: rows that must have ended first, separated by ';' and counted from 1, or from 0 where row 0 is named.\n"
        "Example: cairn topology --compare hx2mesh-1024 fat-tree-1024 torus-1024");
  }

  void schedule() {
    CLI::App* sub = command(app_, "schedule", "a pipeline schedule: its bubble, its memory, who does what when", schedule_);
    sub->callback([this, sub] {
      for (const CLI::Option* option : sub->get_options())
        if (option->count() > 0 && !option->get_positional()) schedule_.given.push_back(option->get_lnames().front());
      result_.command = schedule_;
    });
    words_[sub->add_option("kind", schedule_.kind, "such as 1f1b; see --list")->type_name("KIND")] = schedule_kinds();
    sub->add_flag("--list", schedule_.list, "every kind, what it takes and where it comes from");
    sub->add_flag("--compare", schedule_.compare, "every kind that takes these stages and micro-batches, side by side");
    const auto count = [&](const char* option, std::int32_t& target, const char* description) {
      sub->add_option(option, target, description)->check(at_least(1))->type_name("N");
    };
    count("--stages", schedule_.stages, "devices in the pipeline");
    count("--micro-batches", schedule_.micro_batches, "of one iteration, over all directions");
    count("--chunks", schedule_.chunks, "virtual stages per device");
    count("--waves", schedule_.waves, "times a micro-batch sweeps down and up");
    count("--pipelines", schedule_.pipelines, "pipelines in both directions together");
    count("--group", schedule_.group, "micro-batches taken together");
    sub->add_option("--memory-limit", schedule_.memory_limit, "most micro-batches' activations on a device")->type_name("N");
    choose(sub->add_option("--weight-grads", schedule_.weight_gradients, "when split weight gradients run: last, or fill the gaps"), weight_gradients_)
        ->type_name("WHEN");
    choose(sub->add_option("--continuation", schedule_.continuation, "how chimera takes more micro-batches than stages: concatenate, double-forward, halve-backward"), continuations_)
        ->type_name("HOW");
    sub->add_flag("--no-reorder", schedule_.no_reorder, "the repeated building block as it is");
    const auto time = [&](const char* option, std::string& target, const char* description) {
      sub->add_option(option, target, description)->type_name("TIME");
    };
    time("--forward", schedule_.forward, "of a micro-batch on a full stage: 1, 0.5, 2/3 or 3ms");
    time("--input-grad", schedule_.input_gradient, "likewise, of the input gradient");
    time("--weight-grad", schedule_.weight_gradient, "likewise, of the weight gradient");
    time("--forward-backward", schedule_.forward_backward, "of a forward joined with a backward; default their sum");
    time("--p2p", schedule_.p2p, "of a message between neighbours");
    choose(sub->add_option("--vocabulary", schedule_.vocabulary, "the output layer over all devices: vocab-1, vocab-2, interlaced"), vocabularies_)
        ->type_name("HOW");
    time("--vocab-forward", schedule_.vocabulary_forward, "of a micro-batch on a device's share of the output layer");
    time("--vocab-backward", schedule_.vocabulary_backward, "likewise, of its gradients");
    time("--optimizer", schedule_.optimizer, "of an update");
    time("--communication", schedule_.communication, "of a gather or reduction beside the compute");
    time("--copy", schedule_.copy, "of a micro-batch's activations of a full stage to the host, or back");
    swarm(*sub, schedule_.swarm);
    name_of(sub->add_option("--experiment", schedule_.experiment, "with --compare: what the stages of this model cost on its cluster, in place of times"), {"experiments"})
        ->type_name(k_file);
    sub->add_option("--fill", schedule_.fill, "work for the bubbles (YAML): how often it is done, how full the devices are")->type_name(k_file);
    sub->add_option("--file", schedule_.file, "a schedule of your own (YAML) in place of a kind")->type_name(k_file);
    add_output(*sub, "--svg", schedule_.svg, "draw it");
    add_result(*sub, schedule_.result);
    sub->footer("Example: cairn schedule zb-h1 --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1");
  }

  static void swarm(CLI::App& sub, SwarmArguments& swarm) {
    const auto option = [&](const char* name, std::string& target, const char* description, const char* type) {
      sub.add_option(name, target, description)->type_name(type)->group("Options of swarm");
    };
    option("--peers", swarm.peers, "how many serve each stage, or their speeds stage by stage: 1,1/2,0.5", "PEERS");
    option("--fail", swarm.failures, "peers that fail and when: 0@10,3@12.5", "PEER@TIME");
    option("--join", swarm.joins, "speeds of peers that join and when: 1@20,0.5@30", "SPEED@TIME");
    option("--mtbf", swarm.mean_life, "mean time of a peer between failures at random; default never", "TIME");
    option("--repair", swarm.repair, "from a failure until the peer is back; default it stays away", "TIME");
    option("--rebalance", swarm.rebalance, "how often a peer goes to the stage loaded most; default never", "TIME");
    option("--migration", swarm.migration, "until a peer serves the stage that it goes to; default 0", "TIME");
    sub.add_option("--in-flight", swarm.in_flight, "most micro-batches under way; default two per peer")
        ->check(at_least(1))
        ->type_name("N")
        ->group("Options of swarm");
    sub.add_option("--seed", swarm.seed, "of what is drawn at random; default 1")->type_name("N")->group("Options of swarm");
  }

  void import() {
    CLI::App* group = app_.add_subcommand("import", "files of other tools as files of Cairn");
    group->require_subcommand(1);
    CLI::App* nccl = command(*group, "nccl-topo", "NCCL's topology (NCCL_TOPO_DUMP_FILE, XML) as a graph", import_);
    nccl->add_option("file", import_.file, "the XML file")->required()->type_name(k_file);
    add_output(*nccl, "-o,--output", import_.output, "write the result to a file");
  }

  void schema() {
    CLI::App* sub = command(app_, "schema", "JSON Schema of a file that Cairn reads or writes; without a name, the names", schema_);
    words_[sub->add_option("name", schema_.name, "such as experiment or cairn.run/1")->type_name("NAME")] = schema_names();
    add_output(*sub, "-o,--output", schema_.output, "write the result to a file");
  }

  void completion() {
    CLI::App* sub = command(app_, "completion", "a completion script for a shell", completion_);
    choose(sub->add_option("shell", completion_.shell, "bash, zsh or fish"), shells_)->required()->type_name("SHELL");
  }

  // What single options cannot say.
  void check() const {
    check_run();
    if (const auto* bound = std::get_if<BoundArguments>(&result_.command)) check_bound(*bound);
    if (const auto* topology = std::get_if<TopologyArguments>(&result_.command)) check_topology(*topology);
    if (const auto* schedule = std::get_if<ScheduleArguments>(&result_.command)) check_schedule(*schedule);
  }
  static void check_schedule(const ScheduleArguments& schedule) {
    const int asked = (schedule.kind.empty() ? 0 : 1) + (schedule.file.empty() ? 0 : 1) + (schedule.list ? 1 : 0) + (schedule.compare ? 1 : 0);
    if (asked != 1)
      throw core::ConfigurationError("cairn schedule", asked == 0 ? "no schedule was named" : "several things were asked at once",
                                     "give one: a kind, --file FILE, --list or --compare");
    if (!schedule.fill.empty() && (schedule.list || schedule.compare))
      throw core::ConfigurationError("--fill", "the bubbles of one schedule are filled", "name a kind");
    if (schedule.list || !schedule.file.empty()) return;
    if (!schedule.experiment.empty()) {
      if (!schedule.compare)
        throw core::ConfigurationError("--experiment", "the stages of an experiment are for comparing kinds", "add --compare");
      if (schedule.stages != 0 || schedule.micro_batches != 0 || !schedule.forward.empty())
        throw core::ConfigurationError("--experiment", "stages, micro-batches and times are those of the experiment",
                                       "leave --stages, --micro-batches and times out, or set strategy.pp in the file");
      return;
    }
    if (schedule.stages == 0) throw core::ConfigurationError("--stages", "how many devices there are is missing", "add --stages 4");
    if (schedule.micro_batches == 0)
      throw core::ConfigurationError("--micro-batches", "how many micro-batches there are is missing", "add --micro-batches 8");
    if (schedule.compare && !schedule.svg.empty())
      throw core::ConfigurationError("--svg", "a picture shows one schedule", "draw it without --compare");
  }
  static void check_topology(const TopologyArguments& topology) {
    if (topology.name.empty() == topology.compare.empty())
      throw core::ConfigurationError("cairn topology", topology.name.empty() ? "no network was named" : "both a network and --compare were given",
                                     "give one network, or --compare A B C");
    if (!topology.compare.empty() && !(topology.svg.empty() && topology.dot.empty()))
      throw core::ConfigurationError("--svg", "a picture shows one network", "draw it without --compare");
    if (topology.flows.empty() && topology.sharing != "max-min")
      throw core::ConfigurationError("--sharing", "there are no flows to share links", "give --flows FILE.csv");
  }
  static void check_bound(const BoundArguments& bound) {
    const std::string example = "for example 'matmul m=1024 n=1024 k=1024', einsum 'ik,kj->ij', --cdag FILE, --trace FILE or --model NAME";
    const int sources = (bound.operation.empty() ? 0 : 1) + (bound.cdag.empty() ? 0 : 1) + (bound.trace.empty() ? 0 : 1) + (bound.model.empty() ? 0 : 1);
    if (sources != 1)
      throw core::ConfigurationError("cairn bound", sources == 0 ? "nothing to bound was named" : "several things to bound were named",
                                     "give one: " + example);
    const bool einsum = !bound.operation.empty() && bound.operation.front() == "einsum";
    if (!bound.sizes.empty() && !einsum)
      throw core::ConfigurationError("--sizes", "only an einsum takes its sizes so", "write operator sizes behind the operator's name");
    if (!bound.model.empty() && (bound.rules != "rbw" || bound.slide || bound.exact))
      throw core::ConfigurationError("--model", "layers are bounded in the game in which every value is computed once", "leave --game, --slide and --exact out");
    if (bound.model.empty() && (bound.layer || bound.backward || bound.sequence > 0))
      throw core::ConfigurationError("--layer", "there is no model to take it from", "give --model NAME");
    if (bound.locality && bound.trace.empty())
      throw core::ConfigurationError("--locality", "needs an execution to reorder", "give --trace FILE");
    if (bound.devices > 0 && !bound.model.empty())
      throw core::ConfigurationError("--devices", "layers of a model are bounded as on one device", "give an operator, an einsum or a graph");
    if (!bound.cluster.empty() && bound.devices == 0 && !names_exchange(bound))
      throw core::ConfigurationError("--cluster", "its links join several devices, and there is one", "give --devices N");
    if (bound.states > 0 && !bound.exact)
      throw core::ConfigurationError("--states", "limits the exact search, which was not asked for", "add --exact");
    const bool graph = !bound.cdag.empty() || !bound.trace.empty();
    if (!(bound.moves.empty() && bound.write_moves.empty()) && !graph)
      throw core::ConfigurationError(bound.moves.empty() ? "--write-moves" : "--moves", "moves are of the values of a graph", "give --cdag FILE or --trace FILE");
  }
  void check_run() const {
    const auto* run = std::get_if<RunArguments>(&result_.command);
    if (run == nullptr) return;
    if (run->file.empty() == run->batch.empty())
      throw core::ConfigurationError("cairn run", run->file.empty() ? "no experiment was named" : "both an experiment and --batch were given",
                                     "give a file, a name of `cairn config list experiments`, or --batch FILE.jsonl");
    if (!run->trace.empty() && !run->batch.empty())
      throw core::ConfigurationError("--trace", "a trace shows one experiment", "run it without --batch");
    if (!run->memory_svg.empty() && !run->batch.empty())
      throw core::ConfigurationError("--memory-svg", "a picture shows one experiment", "run it without --batch");
    if (!run->trace.empty() && run->engine == predict::Engine::analytic)
      throw core::ConfigurationError("--trace", "the analytic engine keeps no timeline", "use --engine event or both");
  }

  // Whatever a value is for, a file of that name is safe from being written.
  NamedFiles named_files() const {
    NamedFiles files;
    for (const CLI::Option* option : asked_command()->get_options()) {
      std::vector<std::string>& names = outputs_.contains(option) ? files.written : files.read;
      names.insert(names.end(), option->results().begin(), option->results().end());
    }
    return files;
  }
  void help() {
    CLI::App* sub = app_.add_subcommand("help", "the help of cairn or of a command, as with --help");
    CLI::Option* words = sub->add_option("command", help_words_, "a command, such as run or config list")->type_name("COMMAND");
    words_[words] = command_names(&app_);
    sub->callback([this] {
      CLI::App* asked = &app_;
      for (const std::string& word : help_words_) {
        const std::vector<std::string> names = command_names(asked);
        const auto found = std::find(names.begin(), names.end(), word);
        if (found == names.end()) refuse_command(asked, word);
        asked = commands_of(asked)[static_cast<std::size_t>(found - names.begin())];
      }
      result_.help = help_text(asked);
    });
  }
  // Where a command was due and another word came.
  void refuse_unknown_command(const CLI::App* app) const {
    if (commands_of(app).empty()) return;
    const std::vector<std::string> rest = app_.remaining(true);
    const auto word = std::find_if(rest.begin(), rest.end(), [](const std::string& each) { return !each.starts_with('-'); });
    if (word != rest.end()) refuse_command(app, *word);
    throw core::ConfigurationError(full_name(app), "a command is missing",
                                   fmt::format("there are: {}", fmt::join(command_names(app), ", ")));
  }

  const CLI::App* asked_command() const {
    const CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return app;
  }
  using WordsOfOptions = std::map<const CLI::Option*, std::vector<std::string>>;
  static std::vector<std::string> known(const WordsOfOptions& all, const CLI::Option* option) {
    const auto found = all.find(option);
    return found == all.end() ? std::vector<std::string>{} : found->second;
  }
  CommandTree tree(CLI::App& app) const {
    CommandTree result{.name = app.get_name(), .description = app.get_description(), .options = {}, .words = {}, .names_of = {}, .takes_file = false, .commands = {}};
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) {
        result.takes_file = option->get_type_name() == k_file;
        result.words = known(words_, option);
        result.names_of = known(kinds_, option);
        continue;
      }
      OptionWords words{.names = {},
                        .choices = known(words_, option),
                        .names_of = known(kinds_, option),
                        .sets_keys = option->check_lname("set"),
                        .description = option->get_description(),
                        .takes_value = option->get_items_expected_max() > 0,
                        .takes_file = option->get_type_name() == k_file};
      for (const std::string& name : option->get_lnames()) words.names.push_back("--" + name);
      for (const std::string& name : option->get_snames()) words.names.push_back("-" + name);
      result.options.push_back(std::move(words));
    }
    for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) result.commands.push_back(tree(*sub));
    return result;
  }

  const std::vector<std::string> rules_{"rbw", "hk"};
  const std::vector<std::string> vocabularies_{"vocab-1", "vocab-2", "interlaced"};
  const std::vector<std::string> weight_gradients_{"last", "fill"};
  const std::vector<std::string> continuations_{"concatenate", "double-forward", "halve-backward"};
  const std::vector<std::string> sharings_{"max-min", "rtt-weighted"};
  const std::vector<std::string> attentions_{"unfused", "fused_softmax", "flash2"};
  const std::vector<std::string> shells_{"bash", "zsh", "fish"};
  const std::map<std::string, ColorChoice> colors_{
      {"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}};
  const std::map<std::string, predict::Engine> engines_{
      {"analytic", predict::Engine::analytic}, {"event", predict::Engine::event}, {"both", predict::Engine::both}};
  WordsOfOptions words_, kinds_;
  CLI::App app_;
  std::set<const CLI::Option*> outputs_;
  Arguments result_;
  RunArguments run_;
  BoundArguments bound_;
  ConfigShowArguments show_;
  ConfigModelArguments model_;
  ConfigListArguments list_;
  SchemaArguments schema_;
  ValidateArguments validate_;
  CalibrateArguments calibrate_;
  TopologyArguments topology_;
  ScheduleArguments schedule_;
  ImportArguments import_;
  CompletionArguments completion_;
  std::vector<std::string> help_words_;
};

}  // namespace

std::string BoundArguments::operation_text() const { return fmt::format("{}", fmt::join(operation, " ")); }

Arguments parse(int argc, const char* const* argv) { return Parser().parse(argc, argv); }

}  // namespace cairn::cli
