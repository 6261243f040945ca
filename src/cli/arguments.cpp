#include "arguments.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "arguments_check.h"
#include "cairn/core/diagnostics.h"
#include "cairn/launch/launch.h"
#include "cairn/measure/read.h"
#include "cairn/numerics/format_names.h"
#include "command_help.h"
#include "config_template.h"
#include "context.h"
#include "declarations.h"
#include "glossary_text.h"
#include "known_words.h"
#include "manual.h"
#include "schemas.h"

namespace cairn::cli {
namespace {

template <class Launch>
std::vector<Launch> for_frameworks() {
  std::vector<Launch> result;
  for (const std::string& name : launch::frameworks()) result.emplace_back().framework = name;
  return result;
}

class Parser : private Declarations {
 public:
  Parser() : Declarations("How long one training step takes, whether it fits, and what holds it back.", "cairn") {
    app_.set_version_flag("--version", std::string("cairn ") + CAIRN_VERSION, "print the version");
    app_.set_help_flag("-h,--help", "print this help");
    app_.require_subcommand(1);
    app_.fallthrough();
    common();
    run();
    search();
    sweep();
    bound();
    config();
    validate();
    calibrate();
    diff();
    topology();
    schedule();
    import();
    export_arguments();
    schema();
    completion();
    help();
    app_.footer(std::string(program_help()));
    read_dashes();
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
    if (!result_.help) check(result_.command);
    result_.files = named_files();
    if (std::holds_alternative<CompletionArguments>(result_.command)) result_.tree = tree();
    return std::move(result_);
  }

 private:
  template <class Command>
  CLI::App* command(CLI::App& parent, const char* name, const char* description, Command& target) {
    CLI::App* sub = parent.add_subcommand(name, description);
    sub->callback([this, &target] { result_.command = target; });
    return sub;
  }
  void add_result(CLI::App& sub, ResultArguments& result) {
    add_json(sub, result);
    add_output(sub, "-o,--output", result.output, "write the result to a file");
  }
  // A result that is also a table.
  void add_table(CLI::App& sub, ResultArguments& result) {
    add_result(sub, result);
    add_csv(sub, result);
  }
  static void add_json(CLI::App& sub, ResultArguments& result) {
    sub.add_flag("--json", result.json, "one JSON document instead of text");
  }
  static void add_csv(CLI::App& sub, ResultArguments& result) {
    sub.add_flag("--csv", result.csv, "a table (RFC 4180) instead of text; its columns are the JSON's keys");
  }
  void set_experiment(CLI::App& sub, std::vector<std::string>& overrides) {
    add_overrides(sub, overrides, {"experiment"}, "override a key, as in strategy.tp=4; may be repeated");
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
    name_of(
        sub->add_option("experiment", run_.file, "an experiment: a file, or a name of `cairn config list experiments`"),
        {"experiments"})
        ->type_name(k_file);
    choose(*sub, "--engine", run_.engine, engines_, "analytic, event, or both (default)")->type_name("ENGINE");
    set_experiment(*sub, run_.overrides);
    sub->add_option("--batch", run_.batch,
                    "many experiments, one JSON object a line, with one line of JSON each as the result; with -o these "
                    "gather in FILE.tmp.PROCESS, which becomes FILE at the end")
        ->type_name(k_file);
    sub->add_flag("--full", run_.full, "all there is to say, instead of one screen");
    add_output(*sub, "--trace", run_.trace,
               "write a timeline, for https://ui.perfetto.dev: passes of micro-batches, operators, memory over time; "
               "FILE.gz is compressed");
    add_output(*sub, "--memory-svg", run_.memory_svg, "draw the memory of each stage at its peak, and what takes it");
    sub->add_option("--measured", run_.measured,
                    "the time that a step was measured to take, as in 11.2s: how far it is from the predicted one, and "
                    "which single fact would explain that")
        ->type_name("TIME");
    add_table(*sub, run_.result);
    example(*sub, "cairn run llama3-8b-fsdp-dgx-h100 --set training.seq_len=4096 --set strategy.recompute=full",
            "A line of a batch is a whole experiment, which may extend another, or {\"file\": NAME, \"set\": "
            "{\"strategy.tp\": 4}}; one that\n"
            "cannot be run is answered by an error with its number. Exit codes: 0 it fits, 1 it does not, 2 refused, 3 "
            "reading or\n"
            "writing failed; of a batch the greatest that a line would have ended with. Results can be run again: "
            "cairn run result.json");
  }

  void search() {
    CLI::App* sub = command(app_, "search", "the best layout of an experiment, and why none is better", search_);
    name_of(sub->add_option("experiment", search_.file,
                            "an experiment: a file, or a name of `cairn config list experiments`; its strategy is "
                            "searched"),
            {"experiments"})
        ->required()
        ->type_name(k_file);
    choose(sub->add_option("--objective", search_.objective,
                           "what the best has most or least of; on one cluster each has the plan of the shortest step"),
           objective_names())
        ->type_name("OBJECTIVE");
    sub->add_option("--space", search_.space,
                    "keys of the strategy with the values to try, and conditions (YAML); see `cairn schema space`")
        ->type_name(k_file);
    sub->add_flag("--print-space", search_.print_space, "print the space that is searched without --space, as a file");
    sub->add_option("--top", search_.top, "kinds of plans to show")
        ->check(at_least(1))
        ->type_name("K")
        ->capture_default_str();
    sub->add_option("--time-limit", search_.time_limit,
                    "end after this long, as in 30s, with what was found and what of it is proven")
        ->type_name("TIME");
    sub->add_flag("--exhaustive", search_.exhaustive, "compute every plan, also those that bounds rule out");
    set_experiment(*sub, search_.overrides);
    sub->add_flag("--full", search_.full, "all there is to say, instead of one screen");
    add_result(*sub, search_.result);
    example(
        *sub, "cairn search llama3-70b-64xdgx-h100 --top 10",
        "Model, cluster, batch, precision and framework are those of the experiment. Exit codes: 0 found, 1 no plan "
        "fits, 130\n"
        "interrupted, which leaves what was found so far.");
  }

  void sweep() {
    CLI::App* sub =
        command(app_, "sweep", "an experiment with some keys varied, and what its machine's figures are worth", sweep_);
    name_of(sub->add_option("experiment", sweep_.file,
                            "an experiment: a file, or a name of `cairn config list experiments`"),
            {"experiments"})
        ->required()
        ->type_name(k_file);
    add_keys(*sub, "--vary", sweep_.vary, {"experiment"},
             "a key with its values: a,b,c, a range 1..8, doublings 8..4096*2; several make every combination, the "
             "first varying slowest")
        ->required()
        ->type_name("KEY=LIST");
    sub->add_flag("--search", sweep_.search, "search the best layout of each row, in place of the one written");
    sub->add_option("--space", sweep_.space,
                    "with --search: keys of the strategy with the values to try (YAML); see `cairn schema space`")
        ->type_name(k_file);
    choose(sub->add_option("--objective", sweep_.objective, "what the best row has most or least of"),
           objective_names())
        ->type_name("OBJECTIVE");
    add_output(*sub, "--plot", sweep_.plot,
               "draw tokens per second over the first key, a line for each combination of the others, beside ideal "
               "scaling");
    sub->add_option("--time-limit", sweep_.time_limit, "end after this long, as in 30s, with the rows that are done")
        ->type_name("TIME");
    sub->add_option("--threads", sweep_.threads, "rows worked on at once; the answer is the same for any number")
        ->check(at_least(1))
        ->type_name("N");
    set_experiment(*sub, sweep_.overrides);
    sub->add_flag("--full", sweep_.full, "all rows and all figures");
    add_table(*sub, sweep_.result);
    example(*sub,
            "cairn sweep llama3-70b-64xdgx-h100 --set strategy.dp=null --vary cluster.nodes=16..512*2 --plot "
            "scaling.svg",
            "Rows are evaluated as `cairn run --engine analytic` does; a row that cannot be planned is a row with its "
            "error. Exit codes:\n"
            "0 a row fits, 1 none does, 130 interrupted, which leaves the rows that were done.");
  }

  void bound() {
    CLI::App* sub = command(app_, "bound", "what is provably the least data movement of a computation", bound_);
    suggest(sub->add_option("operation", bound_.operation,
                            "an operator with its sizes, as in 'matmul m=8192 n=8192 k=8192', or: einsum 'ik,kj->ij'"),
            operator_names())
        ->type_name("OPERATION");
    sub->add_option("--sizes", bound_.sizes, "sizes of an einsum's letters, as in i=64,j=64,k=64")->type_name("SIZES");
    sub->add_option("--fast", bound_.fast, "fast memory: 228KiB, or a bare number of words")->type_name("AMOUNT");
    suggest(sub->add_option("--dtype", bound_.format, "number format of a word"), numerics::format_names())
        ->type_name("FORMAT")
        ->capture_default_str();
    choose(sub->add_option("--game", bound_.rules, "rbw: every value computed once; hk: recomputation allowed"), rules_)
        ->type_name("GAME")
        ->capture_default_str();
    sub->add_flag("--slide", bound_.slide, "a result may take the place of one of its operands");
    sub->add_flag("--exact", bound_.exact, "search the cheapest play of all; at most 64 vertices");
    sub->add_option("--states", bound_.states, "states the exact search may look at")
        ->check(at_least(1))
        ->type_name("N");
    sub->add_option("--cdag", bound_.cdag, "a graph: lines 'v ID [in] [out]' and 'e FROM TO'")->type_name(k_file);
    sub->add_option("--trace", bound_.trace,
                    "an execution: lines 'r ADDR', 'w ADDR', 'op', as below, or its binary form")
        ->type_name(k_file);
    sub->add_option("--moves", bound_.moves,
                    "verify a play of the graph: lines 'load V', 'store V', 'compute V', 'slide FROM -> V', 'erase V', "
                    "'forget V'")
        ->type_name(k_file);
    add_output(*sub, "--write-moves", bound_.write_moves, "write the cheapest play found, as --moves reads it");
    sub->add_flag("--locality", bound_.locality,
                  "of a trace: what the best order found moves, for memories of many sizes");
    name_of(sub->add_option("--accelerator", bound_.accelerator,
                            "compare with its memory; its on-chip memory is the default of --fast"),
            {"accelerators"})
        ->type_name("NAME");
    sub->add_option("--devices", bound_.devices, "what so many must exchange: products, attention, graphs of any kind")
        ->check(at_least(1))
        ->type_name("P");
    name_of(sub->add_option("--cluster", bound_.cluster, "of several devices: least time over its links"), {"clusters"})
        ->type_name("NAME");
    add_overrides(*sub, bound_.overrides, {"cluster"}, "override a key of the cluster, as in nodes=2; may be repeated");
    name_of(
        sub->add_option("--model", bound_.model, "the operators of a model's layers instead, whole, as on one device"),
        {"models"})
        ->type_name("NAME");
    sub->add_option("--layer", bound_.layer,
                    "one layer of the model: 1 is the first block, 0 the embedding; default: every class once")
        ->check(at_least(0))
        ->type_name("N");
    sub->add_option("--seq", bound_.sequence, "tokens per sequence")
        ->check(at_least(1))
        ->type_name("TOKENS")
        ->capture_default_str();
    sub->add_option("--batch", bound_.batch, "sequences")->check(at_least(1))->type_name("N")->capture_default_str();
    sub->add_flag("--backward", bound_.backward, "the backward pass as well");
    choose(sub->add_option("--attention", bound_.attention,
                           "unfused (default; latent attention: flash2), fused_softmax or flash2"),
           attentions_)
        ->type_name("KERNEL")
        ->capture_default_str();
    add_table(*sub, bound_.result);
    example(*sub, "cairn bound 'matmul m=8192 n=8192 k=8192' --fast 228KiB",
            operators_text() +
                "An execution (--trace): of every operation what it reads, 'r ADDR', then what it writes, 'w ADDR', "
                "then 'op', which\n"
                "ends it. One that reads nothing places inputs. a = x + y, line by line: w 0, w 8, op, r 0, r 8, w 16, "
                "op\n");
  }

  void config() {
    CLI::App* group = app_.add_subcommand("config", "look at configuration files");
    group->require_subcommand(1);
    CLI::App* show = command(*group, "show", "an experiment with everything it names, resolved", show_);
    name_of(show->add_option("experiment", show_.experiment, "an experiment file or name"), {"experiments"})
        ->required()
        ->type_name(k_file);
    show->add_flag("--origin", show_.origin, "where each value comes from");
    set_experiment(*show, show_.overrides);
    add_table(*show, show_.result);
    example(*show, "cairn config show llama3-8b-fsdp-dgx-h100 --origin");
    CLI::App* model = command(*group, "model", "size and shape of a model", model_);
    name_of(model->add_option("model", model_.name, "a model file, a Hugging Face config.json, or a name"), {"models"})
        ->required()
        ->type_name("NAME");
    add_result(*model, model_.result);
    example(*model, "cairn config model llama-3.1-8b");
    CLI::App* list = command(*group, "list", "the names that configurations can refer to", list_);
    suggest(list->add_option("kind", list_.kind, "one kind only, such as clusters"), configuration_kinds())
        ->type_name("KIND");
    add_result(*list, list_.result);
    example(*list, "cairn config list clusters");
    CLI::App* blank = command(*group, "template",
                              "a file to fill in: every key with what it means, and values to begin with", template_);
    choose(blank->add_option("kind", template_.kind, "what the file shall describe"), template_kinds())
        ->required()
        ->type_name("KIND");
    add_output(*blank, "-o,--output", template_.output, "write it to a file");
    example(*blank, "cairn config template cluster",
            "Keys that may be left out are comments, with their defaults where they have one.");
  }

  void validate() {
    CLI::App* sub = command(app_, "validate", "hold predictions against published and measured runs", validate_);
    name_of(sub->add_option("family", validate_.names, "families of measurements; default: all"), {k_families})
        ->type_name("NAME");
    sub->add_option("--data", validate_.data, "a folder of further tables (CSV); default: the variable CAIRN_DATA")
        ->type_name("DIR");
    add_output(*sub, "--plot", validate_.plot, "draw predicted against measured step times, each table in a colour");
    add_output(*sub, "--write-intervals", validate_.intervals,
               "write how far predictions are off by family, as configs/intervals.yaml; of all tables");
    add_table(*sub, validate_.result);
    example(*sub, "cairn validate korthikanti2022_table5");
  }

  void calibrate() {
    CLI::App* sub = command(app_, "calibrate",
                            "fit the prices of kernels and transfers to measurements of one accelerator", calibrate_);
    sub->add_option("files", calibrate_.files, "documents of cairn-probe, output or JSON of nccl-tests, tables (CSV)")
        ->required()
        ->type_name(k_file);
    add_output(*sub, "-o,--output", calibrate_.output,
               "write the calibration to a file; the report goes to standard output");
    name_of(sub->add_option("--gpu", calibrate_.gpu,
                            "the accelerator, a name of `cairn config list accelerators`; default: the one measured"),
            {"accelerators"})
        ->type_name("NAME");
    name_of(sub->add_option("--base", calibrate_.base,
                            "the calibration that supplies what is not measured; default: the accelerator's own"),
            {"calibration"})
        ->type_name("NAME");
    choose(sub->add_option("--collective", calibrate_.collective,
                           "which one nccl-tests timed, where its output does not say"),
           measure::collective_names())
        ->type_name("NAME");
    add_json(*sub, calibrate_.result);
    add_csv(*sub, calibrate_.result);
    example(*sub, "cairn calibrate probe.json all_reduce_perf.txt -o configs/calibration/h100-sxm5-80gb.yaml",
            "Errors are predicted / measured - 1, in sample and of whole groups that the fit did not see.");
  }

  void diff() {
    CLI::App* sub =
        command(app_, "diff", "why one step is longer than another: of two experiments, or a measured one", diff_);
    name_of(sub->add_option("run", diff_.runs,
                            "A and B, each an experiment or a result of cairn run --json; with --trace one of them"),
            {"experiments"})
        ->required()
        ->type_name(k_file);
    choose(*sub, "--engine", diff_.engine, compared_engines_, "of A and B: analytic (default) or event")
        ->type_name("ENGINE");
    sub->add_option("--trace", diff_.trace, "a trace of one rank by PyTorch's profiler (Kineto, JSON or .json.gz)")
        ->type_name(k_file);
    sub->add_option("--step", diff_.step, "the step to compare, as in 3 or ProfilerStep#3; default: the median")
        ->type_name("STEP");
    sub->add_option("--stage", diff_.stage, "of the pipeline that the rank is in; default: as the trace says")
        ->check(at_least(0))
        ->type_name("N");
    set_experiment(*sub, diff_.overrides);
    sub->add_flag("--full", diff_.full, "every part, and the kernels of each");
    add_table(*sub, diff_.result);
    example(
        *sub, "cairn diff qwen3-30b-16xdgx-h100 qwen3-30b-16xdgx-h100-two-levels",
        "Of two: the difference by what the time goes to, and by the settings that make it, each with its share over "
        "all orders of\n"
        "change. Of a trace, cairn diff --trace rank0.pt.trace.json.gz llama3-8b-fsdp-dgx-h100: kernels by class "
        "(matrix products,\n"
        "attention, all-reduce, ...), streams by what they do; of any size. Parts add up to the difference in both: "
        "no instant counts twice.");
  }

  void topology() {
    CLI::App* sub = command(app_, "topology", "what a network can carry and what it costs; flows over it", topology_);
    name_of(sub->add_option("network", topology_.name,
                            "a network, cluster or graph: a file, or a name of `cairn config list`"),
            {"topologies", "clusters"})
        ->type_name(k_file);
    name_of(sub->add_option("--compare", topology_.compare, "several networks side by side"),
            {"topologies", "clusters"})
        ->type_name("NAME ...");
    add_overrides(*sub, topology_.overrides, {"network", "cluster"},
                  "override a key, as in nodes=4 or dims=[8, 8]; may be repeated");
    name_of(sub->add_option("--prices", topology_.prices, "the price list, a name of `cairn config list prices`"),
            {"prices"})
        ->type_name("NAME")
        ->capture_default_str();
    sub->add_option("--flows", topology_.flows, "flows to run: a table (CSV) of src,dst,bytes,start_s,after")
        ->type_name(k_file);
    choose(sub->add_option("--collective", topology_.collective,
                           "a collective to run, message by message, by every algorithm: all-reduce, all-gather, ..."),
           collectives_)
        ->type_name("NAME");
    sub->add_option("--bytes", topology_.bytes, "its buffer, as nccl-tests counts it; with --collective")
        ->type_name("SIZE");
    sub->add_option("--ranks", topology_.ranks, "endpoints 0, 1, ... that take part (default: all)")
        ->check(at_least(2))
        ->type_name("N");
    choose(sub->add_option("--algorithm", topology_.algorithm, "one algorithm in place of all"), algorithms_)
        ->type_name("NAME");
    sub->add_option("--pieces", topology_.pieces, "that a chain of ranks cuts the buffer into")
        ->check(at_least(1))
        ->type_name("N")
        ->capture_default_str();
    choose(
        sub->add_option("--sharing", topology_.sharing, "how flows share links: max-min, or rtt-weighted by 1/latency"),
        sharings_)
        ->type_name("RULE")
        ->capture_default_str();
    add_output(*sub, "--svg", topology_.svg, "draw it (small networks)");
    add_output(*sub, "--dot", topology_.dot, "write it for Graphviz (small networks)");
    add_table(*sub, topology_.result);
    example(*sub, "cairn topology --compare hx2mesh-1024 fat-tree-1024 torus-1024",
            "Of flows, bytes and start_s may have a unit (2GB, 5ms), src and dst be names of a graph's nodes. after: "
            "rows that must\n"
            "have ended first, separated by ';' and counted from 1, or from 0 where row 0 is named.");
  }

  void schedule() {
    CLI::App* sub =
        command(app_, "schedule", "a pipeline schedule: its bubble, its memory, who does what when", schedule_);
    sub->callback([this, sub] {
      for (const CLI::Option* option : sub->get_options())
        if (option->count() > 0 && !option->get_positional()) schedule_.given.push_back(option->get_lnames().front());
      result_.command = schedule_;
    });
    suggest(sub->add_option("kind", schedule_.kind, "such as 1f1b; see --list"), schedule_kinds())->type_name("KIND");
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
    sub->add_option("--memory-limit", schedule_.memory_limit, "most micro-batches' activations on a device")
        ->type_name("N");
    choose(sub->add_option("--weight-grads", schedule_.weight_gradients,
                           "when split weight gradients run: last, or fill the gaps"),
           weight_gradients_)
        ->type_name("WHEN");
    choose(sub->add_option(
               "--continuation", schedule_.continuation,
               "how chimera takes more micro-batches than stages: concatenate, double-forward, halve-backward"),
           continuations_)
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
    choose(sub->add_option("--vocabulary", schedule_.vocabulary,
                           "the output layer over all devices: vocab-1, vocab-2, interlaced"),
           vocabularies_)
        ->type_name("HOW");
    time("--vocab-forward", schedule_.vocabulary_forward, "of a micro-batch on a device's share of the output layer");
    time("--vocab-backward", schedule_.vocabulary_backward, "likewise, of its gradients");
    time("--optimizer", schedule_.optimizer, "of an update");
    time("--communication", schedule_.communication, "of a gather or reduction beside the compute");
    time("--copy", schedule_.copy, "of a micro-batch's activations of a full stage to the host, or back");
    swarm(*sub, schedule_.swarm);
    name_of(sub->add_option("--experiment", schedule_.experiment,
                            "with --compare: what the stages of this model cost on its cluster, in place of times"),
            {"experiments"})
        ->type_name(k_file);
    sub->add_option("--fill", schedule_.fill,
                    "work for the bubbles (YAML): how often it is done, how full the devices are")
        ->type_name(k_file);
    sub->add_option("--file", schedule_.file, "a schedule of your own (YAML) in place of a kind")->type_name(k_file);
    add_output(*sub, "--svg", schedule_.svg, "draw it");
    add_table(*sub, schedule_.result);
    example(*sub, "cairn schedule zb-h1 --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1");
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
    sub.add_option("--seed", swarm.seed, "of what is drawn at random; default 1")
        ->type_name("N")
        ->group("Options of swarm");
  }

  void import() {
    CLI::App* group = app_.add_subcommand("import", "files of other tools as files of Cairn");
    group->require_subcommand(1);
    CLI::App* nccl = command(*group, "nccl-topo", "NCCL's topology (NCCL_TOPO_DUMP_FILE, XML) as a graph", import_);
    nccl->add_option("file", import_.file, "the XML file")->required()->type_name(k_file);
    add_output(*nccl, "-o,--output", import_.output, "write the result to a file");
    example(*nccl, "cairn import nccl-topo topo.xml -o node.yaml");
    for (LaunchImportArguments& each : launch_imports_) import_launch(*group, each);
  }
  void import_launch(CLI::App& group, LaunchImportArguments& launch) {
    const launch::FileForm form = launch::file_form(launch.framework);
    CLI::App* sub =
        command(group, launch.framework.c_str(), fmt::format("{} as an experiment", form.title).c_str(), launch);
    sub->add_option("file", launch.file, std::string(form.file))->required()->type_name(k_file);
    name_of(sub->add_option("--cluster", launch.cluster, "what it runs on, which arguments do not say")->required(),
            {"clusters"})
        ->type_name("NAME");
    sub->add_option("--nodes", launch.nodes, "nodes of it; default as the file says, else the cluster's own")
        ->check(at_least(1))
        ->type_name("N");
    sub->add_option("--define", launch.definitions,
                    "a variable that the file reads and does not set, as in TP=8; may be repeated")
        ->allow_extra_args(false)
        ->type_name("NAME=VALUE");
    set_experiment(*sub, launch.overrides);
    add_output(*sub, "-o,--output", launch.output, "write the result to a file");
    example(*sub, fmt::format("cairn import {} {} --cluster dgx-h100 -o mine.yaml", launch.framework, form.example),
            "What has no counterpart in Cairn stands in comments below the experiment, each with its line and its "
            "reason.");
  }

  void export_arguments() {
    CLI::App* group = app_.add_subcommand("export", "experiments as the arguments of training frameworks");
    group->require_subcommand(1);
    for (LaunchExportArguments& each : launch_exports_) {
      const launch::FileForm form = launch::file_form(each.framework);
      CLI::App* sub =
          command(*group, each.framework.c_str(), fmt::format("an experiment as {}", form.title).c_str(), each);
      name_of(sub->add_option("experiment", each.experiment, "an experiment file or name")->required(), {"experiments"})
          ->type_name(k_file);
      set_experiment(*sub, each.overrides);
      add_output(*sub, "-o,--output", each.output, "write the result to a file");
      example(*sub, fmt::format("cairn export {} llama3-70b-64xdgx-h100", each.framework),
              "What the framework has no argument for stands in comments, each with its reason.");
    }
  }

  void schema() {
    CLI::App* sub =
        command(app_, "schema", "JSON Schema of a file that Cairn reads or writes; without a name, the names", schema_);
    suggest(sub->add_option("name", schema_.name, "such as experiment or cairn.run/1"), schema_names())
        ->type_name("NAME");
    add_output(*sub, "-o,--output", schema_.output, "write the result to a file");
    example(*sub, "cairn schema cairn.run/1");
  }

  void completion() {
    CLI::App* sub = command(app_, "completion", "a completion script for a shell", completion_);
    choose(sub->add_option("shell", completion_.shell, "bash, zsh or fish"), shells_)->required()->type_name("SHELL");
    example(*sub, "cairn completion bash",
            "For the shell that runs: source <(cairn completion bash). For all to come: cairn completion bash >> "
            "~/.bashrc");
  }

  void help() {
    CLI::App* sub =
        app_.add_subcommand("help", "the help of cairn or of a command, as with --help; the words of its reports");
    std::vector<std::string> topics = command_names(&app_);
    topics.emplace_back(k_terms);
    suggest(sub->add_option("topic", help_words_, "a command, such as run or config list; or terms, and any of them"),
            topics)
        ->type_name("TOPIC");
    sub->add_flag("--man", manual_, "the manual page of all commands (roff), as man reads it");
    example(*sub, "cairn help terms bubble mfu",
            "To read the manual where it is not installed: cairn help --man | man -l -");
    sub->callback([this] { result_.help = manual_ ? manual(tree(), program_help()) : help_on(help_words_); });
  }
  std::string help_on(const std::vector<std::string>& words) {
    if (!words.empty() && words.front() == k_terms) return glossary_text({words.begin() + 1, words.end()});
    CLI::App* asked = &app_;
    for (const std::string& word : words) {
      const std::vector<std::string> names = command_names(asked);
      const auto found = std::find(names.begin(), names.end(), word);
      if (found == names.end()) refuse_command(asked, word);
      asked = commands_of(asked)[static_cast<std::size_t>(found - names.begin())];
    }
    return help_text(asked);
  }
  // Where a command was due and another word came.
  void refuse_unknown_command(const CLI::App* app) const {
    if (commands_of(app).empty()) return;
    const std::vector<std::string> rest = app_.remaining(true);
    const auto word =
        std::find_if(rest.begin(), rest.end(), [](const std::string& each) { return !each.starts_with('-'); });
    if (word != rest.end()) refuse_command(app, *word);
    throw core::ConfigurationError(full_name(app), "a command is missing",
                                   fmt::format("there are: {}", fmt::join(command_names(app), ", ")));
  }

  const std::vector<std::string> rules_{"rbw", "hk"};
  const std::vector<std::string> vocabularies_{"vocab-1", "vocab-2", "interlaced"};
  const std::vector<std::string> weight_gradients_{"last", "fill"};
  const std::vector<std::string> continuations_{"concatenate", "double-forward", "halve-backward"};
  const std::vector<std::string> sharings_{"max-min", "rtt-weighted"};
  const std::vector<std::string> collectives_ = collective_names();
  const std::vector<std::string> algorithms_ = algorithm_names();
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
  ScheduleArguments schedule_;
  ImportArguments import_;
  std::vector<LaunchImportArguments> launch_imports_ = for_frameworks<LaunchImportArguments>();
  std::vector<LaunchExportArguments> launch_exports_ = for_frameworks<LaunchExportArguments>();
  CompletionArguments completion_;
  std::vector<std::string> help_words_;
  bool manual_ = false;
};

}  // namespace

std::string BoundArguments::operation_text() const { return fmt::format("{}", fmt::join(operation, " ")); }

Arguments parse(int argc, const char* const* argv) { return Parser().parse(argc, argv); }

}  // namespace cairn::cli
