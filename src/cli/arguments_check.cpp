#include "arguments_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bound_request.h"
#include "cairn/core/diagnostics.h"
#include "cairn/splits/search.h"
#include "cairn/traffic/collective_run.h"
#include "known_words.h"

namespace cairn::cli {
namespace {

void check_form(const ResultArguments& result) {
  if (result.json && result.csv)
    throw core::ConfigurationError("--csv", "given beside --json",
                                   "a result is a document or a table: leave one of them out");
}

// Neither a page nor a document can be read where one follows the other.
void check_page(const std::string& page, const ResultArguments& result) {
  const auto shown = [](const std::string& file) { return file == k_standard_output; };
  if ((result.json || result.csv) && shown(page) && (result.output.empty() || shown(result.output)))
    throw core::ConfigurationError("--html", "the page and the result would both be on standard output",
                                   "name a file for one of them: --html FILE, or -o FILE");
}

template <class Command>
void check_one(const Command& /*every combination of its options*/) {}

void check_one(const ConfigShowArguments& show) {
  if (show.result.csv && !show.origin)
    throw core::ConfigurationError("--csv", "an experiment is no table", "add --origin, for one row a key");
}

void check_one(const ScheduleArguments& schedule) {
  const int asked = (schedule.kind.empty() ? 0 : 1) + (schedule.file.empty() ? 0 : 1) + (schedule.list ? 1 : 0) +
                    (schedule.compare ? 1 : 0);
  if (asked != 1)
    throw core::ConfigurationError("cairn schedule",
                                   asked == 0 ? "no schedule was named" : "several things were asked at once",
                                   "give one: a kind, --file FILE, --list or --compare");
  if (!schedule.fill.empty() && (schedule.list || schedule.compare))
    throw core::ConfigurationError("--fill", "the bubbles of one schedule are filled", "name a kind");
  if (schedule.list || !schedule.file.empty()) return;
  if (!schedule.experiment.empty()) {
    if (!schedule.compare)
      throw core::ConfigurationError("--experiment", "the stages of an experiment are for comparing kinds",
                                     "add --compare");
    if (schedule.stages != 0 || schedule.micro_batches != 0 || !schedule.forward.empty())
      throw core::ConfigurationError("--experiment", "stages, micro-batches and times are those of the experiment",
                                     "leave --stages, --micro-batches and times out, or set strategy.pp in the file");
    return;
  }
  if (schedule.stages == 0)
    throw core::ConfigurationError("--stages", "how many devices there are is missing", "add --stages 4");
  if (schedule.micro_batches == 0)
    throw core::ConfigurationError("--micro-batches", "how many micro-batches there are is missing",
                                   "add --micro-batches 8");
  if (schedule.compare && !schedule.svg.empty())
    throw core::ConfigurationError("--svg", "a picture shows one schedule", "draw it without --compare");
}

void check_one(const TopologyArguments& topology) {
  if (topology.name.empty() == topology.compare.empty())
    throw core::ConfigurationError(
        "cairn topology", topology.name.empty() ? "no network was named" : "both a network and --compare were given",
        "give one network, or --compare A B C");
  if (!topology.compare.empty() && !(topology.svg.empty() && topology.dot.empty()))
    throw core::ConfigurationError("--svg", "a picture shows one network", "draw it without --compare");
  if (topology.flows.empty() && topology.collective.empty() && topology.sharing != "max-min")
    throw core::ConfigurationError("--sharing", "there are no flows to share links",
                                   "give --flows FILE.csv or --collective NAME");
  if (topology.collective.empty() != topology.bytes.empty())
    throw core::ConfigurationError(topology.bytes.empty() ? "--bytes" : "--collective",
                                   topology.bytes.empty() ? "how large the collective's buffer is, is missing"
                                                          : "--bytes is the size of a collective, and none is named",
                                   topology.bytes.empty() ? "add --bytes 64MiB" : "add --collective all-reduce");
  if (topology.collective.empty() && (topology.ranks != 0 || topology.pieces != 1 || !topology.algorithm.empty()))
    throw core::ConfigurationError("--collective", "--ranks, --algorithm and --pieces are those of a collective",
                                   "add --collective all-reduce --bytes 64MiB");
  if (topology.pieces > traffic::k_most_messages)
    throw core::ConfigurationError(
        "--pieces", fmt::format("each is a message, and more than {} are not run one by one", traffic::k_most_messages),
        "give fewer pieces");
}

void check_one(const PartitionArguments& partition) {
  if (partition.file.empty() == partition.tasks.empty())
    throw core::ConfigurationError(
        "cairn partition",
        partition.file.empty() ? "nothing to share out was named" : "an experiment and --tasks were given",
        "give one: an experiment, or --tasks FILE.csv");
  if (!partition.tasks.empty()) {
    for (const auto& [option, given] : {std::pair("--devices", partition.devices != 0),
                                        std::pair("--memory-weight", !partition.memory_weight.empty()),
                                        std::pair("--set", !partition.overrides.empty())})
      if (given)
        throw core::ConfigurationError(option, "--devices, --memory-weight and --set are of an experiment's modules",
                                       "leave it out");
    if (partition.ranks == 0)
      throw core::ConfigurationError("--ranks", "how many ranks share the tasks is missing", "add --ranks 64");
    return;
  }
  if (partition.ranks != 0 || !partition.rule.empty())
    throw core::ConfigurationError(partition.ranks != 0 ? "--ranks" : "--rule", "--ranks and --rule are of tasks",
                                   "give --tasks FILE.csv, or leave it out: stages of a model are --devices");
}

void check_one(const AttentionArguments& attention) {
  if (attention.list) {
    if (!attention.cluster.empty() || !attention.sequence.empty())
      throw core::ConfigurationError("--list", "lists the schemes, and compares none", "leave other options out");
    return;
  }
  if (attention.cluster.empty())
    throw core::ConfigurationError("--cluster", "whose GPUs share the sequence is missing", "add --cluster dgx-h100");
  if (!attention.lengths.empty()) {
    if (!attention.sequence.empty() || !attention.scheme.empty() || attention.prove || !attention.plot.empty())
      throw core::ConfigurationError("--lengths", "a batch of mixed lengths is shared out, and no schemes compared",
                                     "leave --seq, --scheme, --prove and --plot out");
    if (attention.tokens_per_gpu == 0)
      throw core::ConfigurationError("--tokens-per-gpu", "how many tokens a GPU has memory for is missing",
                                     "add --tokens-per-gpu 32768");
  } else if (attention.sequence.empty())
    throw core::ConfigurationError("--seq", "how long sequences are is missing", "add --seq 128Ki");
  if (attention.heads == 0)
    throw core::ConfigurationError("--heads", "how many heads there are is missing", "add --heads 32");
}

void check_one(const BoundArguments& bound) {
  const std::string example =
      "for example 'matmul m=1024 n=1024 k=1024', einsum 'ik,kj->ij', --cdag FILE, --trace FILE or --model NAME";
  const int sources = (bound.operation.empty() ? 0 : 1) + (bound.cdag.empty() ? 0 : 1) + (bound.trace.empty() ? 0 : 1) +
                      (bound.model.empty() ? 0 : 1);
  if (sources != 1)
    throw core::ConfigurationError("cairn bound",
                                   sources == 0 ? "nothing to bound was named" : "several things to bound were named",
                                   "give one: " + example);
  const bool einsum = !bound.operation.empty() && bound.operation.front() == "einsum";
  if (!bound.sizes.empty() && !einsum)
    throw core::ConfigurationError("--sizes", "only an einsum takes its sizes so",
                                   "write operator sizes behind the operator's name");
  if (!bound.model.empty() && (bound.rules != "rbw" || bound.slide || bound.exact))
    throw core::ConfigurationError("--model", "layers are bounded in the game in which every value is computed once",
                                   "leave --game, --slide and --exact out");
  if (bound.model.empty() && (bound.layer || bound.backward || bound.sequence > 0))
    throw core::ConfigurationError("--layer", "there is no model to take it from", "give --model NAME");
  if (bound.locality && bound.trace.empty())
    throw core::ConfigurationError("--locality", "needs an execution to reorder", "give --trace FILE");
  if (bound.devices > 0 && !bound.model.empty())
    throw core::ConfigurationError("--devices", "layers of a model are bounded as on one device",
                                   "give an operator, an einsum or a graph");
  if (!bound.cluster.empty() && bound.devices == 0 && !names_exchange(bound))
    throw core::ConfigurationError("--cluster", "its links join several devices, and there is one", "give --devices N");
  if (!bound.overrides.empty() && bound.cluster.empty())
    throw core::ConfigurationError("--set", "keys of a cluster, and none was named", "add --cluster NAME");
  if (bound.states > 0 && !bound.exact)
    throw core::ConfigurationError("--states", "limits the exact search, which was not asked for", "add --exact");
  const bool graph = !bound.cdag.empty() || !bound.trace.empty();
  if (!(bound.moves.empty() && bound.write_moves.empty()) && !graph)
    throw core::ConfigurationError(bound.moves.empty() ? "--write-moves" : "--moves",
                                   "moves are of the values of a graph", "give --cdag FILE or --trace FILE");
}

void check_one(const DiffArguments& diff) {
  if (!diff.trace.empty()) {
    if (diff.runs.size() != 1)
      throw core::ConfigurationError("cairn diff", fmt::format("{} runs beside a trace", diff.runs.size()),
                                     "a trace is held against one experiment or result");
    if (diff.engine)
      throw core::ConfigurationError("--engine", "a trace is held against a simulated step", "leave it out");
    return;
  }
  if (diff.runs.size() != 2)
    throw core::ConfigurationError(
        "cairn diff",
        diff.runs.size() == 1 ? "what the run is compared with is missing"
                              : fmt::format("{} runs, and two are compared", diff.runs.size()),
        "give two experiments or results, or one and a trace of PyTorch's profiler: --trace rank0.pt.trace.json.gz");
  for (const auto& [option, given] :
       {std::pair("--step", !diff.step.empty()), std::pair("--stage", diff.stage.has_value())})
    if (given)
      throw core::ConfigurationError(option, "is of a trace, and none was given", "add --trace FILE, or leave it out");
}

void check_one(const RunArguments& run) {
  if (!run.strategy_file.empty()) {
    if (!run.file.empty() || !run.batch.empty())
      throw core::ConfigurationError("--strategy-file", "says what runs, and an experiment was named, too",
                                     "leave one of them out");
    if (run.engine != RunArguments{}.engine || !run.trace.empty() || !run.memory_svg.empty() || !run.html.empty() ||
        !run.measured.empty() || !run.overrides.empty() || run.threads != 0 || run.result.csv)
      throw core::ConfigurationError(
          "--strategy-file",
          "--engine, --trace, --memory-svg, --html, --measured, --set, --threads and --csv are of experiments",
          "leave them out; of an experiment's layers the file changes it: experiment: {extends: NAME, KEY: VALUE}");
    return;
  }
  if (run.file.empty() == run.batch.empty())
    throw core::ConfigurationError(
        "cairn run", run.file.empty() ? "no experiment was named" : "both an experiment and --batch were given",
        "give a file, a name of `cairn config list experiments`, or --batch FILE.jsonl");
  if (run.threads != 0 && run.batch.empty())
    throw core::ConfigurationError("--threads", "lines of a batch are run at once, and there is no batch",
                                   "add --batch FILE.jsonl, or leave it out");
  if (!run.trace.empty() && !run.batch.empty())
    throw core::ConfigurationError("--trace", "a trace shows one experiment", "run it without --batch");
  if (!run.memory_svg.empty() && !run.batch.empty())
    throw core::ConfigurationError("--memory-svg", "a picture shows one experiment", "run it without --batch");
  if (!run.html.empty() && !run.batch.empty())
    throw core::ConfigurationError("--html", "a page shows one experiment", "run it without --batch");
  if (!run.measured.empty() && !run.batch.empty())
    throw core::ConfigurationError("--measured", "a measured step is of one experiment", "run it without --batch");
  if (!run.trace.empty() && run.engine == predict::Engine::analytic)
    throw core::ConfigurationError("--trace", "the analytic engine keeps no timeline", "use --engine event or both");
}

// What is wrong with the costs of splitting a graph.
void check_costs(const SearchArguments& search) {
  const bool staged = search.method == k_stage_method;
  const bool calibrated = staged || search.cost_model == k_calibrated_costs;
  if (!staged && (search.micro_batches != 0 || search.layers != 0))
    throw core::ConfigurationError(search.micro_batches != 0 ? "--micro-batches" : "--layers",
                                   "--micro-batches and --layers are of a pipeline",
                                   "add --method alpa, or leave them out");
  if (staged && (!search.cost_model.empty() && search.cost_model != k_calibrated_costs))
    throw core::ConfigurationError("--cost-model", "stages are priced on a cluster", "use --cost-model cairn");
  if (staged && (search.devices != 0 || !search.axes.empty() || search.seed != 0))
    throw core::ConfigurationError("--method", "alpa shares out every accelerator over submeshes that it chooses",
                                   "leave --devices, --axes and --seed out; --nodes says how many there are");
  if (!calibrated) {
    for (const auto& [option, given] :
         {std::pair("--cluster", !search.cluster.empty()), std::pair("--nodes", search.nodes != 0),
          std::pair("--axes", !search.axes.empty()), std::pair("--format", !search.format.empty())})
      if (given)
        throw core::ConfigurationError(option, "--cluster, --nodes, --axes and --format are of calibrated costs",
                                       "add --cost-model cairn, or leave them out");
    if (search.devices == 0)
      throw core::ConfigurationError("--devices", "how many devices operators are split over is missing",
                                     "add --devices 32");
    return;
  }
  if (search.cluster.empty())
    throw core::ConfigurationError("--cluster", "whose accelerators share the network is missing",
                                   "add --cluster dgx-a100");
  if (search.least_extent != 0)
    throw core::ConfigurationError("--least-extent", "is of --cost-model pase", "leave it out");
  if (search.devices != 0 && !search.axes.empty())
    throw core::ConfigurationError("--devices", "the axes of --axes say how many", "leave one of them out");
}

bool asks_for_splits(const SearchArguments& search) {
  return !search.graph.empty() || search.devices != 0 || search.batch != 0 || search.least_extent != 0 ||
         search.seed != 0 || !search.cost_model.empty() || !search.cluster.empty() || search.nodes != 0 ||
         !search.axes.empty() || !search.format.empty() || search.micro_batches != 0 || search.layers != 0;
}

// The given options that are of layouts of all layers together, with their verb, as "--top and --html are"; empty where
// none was given. `set`: --set is one of them.
std::string layout_options(const SearchArguments& search, bool set = false) {
  std::vector<std::string> given;
  const auto add = [&](const char* option, bool there) {
    if (there) given.emplace_back(option);
  };
  add("--threads", search.threads != SearchArguments{}.threads);
  add("--top", search.top != SearchArguments{}.top);
  add("--objective", !search.objective.empty());
  add("--space", !search.space.empty());
  add("--print-space", search.print_space);
  add("--time-limit", !search.time_limit.empty());
  add("--resume", !search.resume.empty());
  add("--exhaustive", search.exhaustive);
  add("--html", !search.html.empty());
  add("--set", set);
  if (given.empty()) return {};
  if (given.size() == 1) return given.front() + " is";
  const std::string last = given.back();
  given.pop_back();
  return fmt::format("{} and {} are", fmt::join(given, ", "), last);
}

void check_layer_method(const SearchArguments& search) {
  if (search.file.empty())
    throw core::ConfigurationError(
        "--method", fmt::format("{} shares out an experiment, and none was named", search.method),
        search.method == k_shares_method
            ? std::string("name one that is data-parallel alone, on a cluster with cluster.groups")
            : fmt::format("name one: cairn search llama3-70b-64xdgx-h100 --method {}", search.method));
  if (asks_for_splits(search))
    throw core::ConfigurationError(
        "--method",
        fmt::format("{} is of an experiment; --graph, --devices, --batch, --least-extent, --seed, --cost-model, "
                    "--cluster, --nodes, --axes, --format, --micro-batches and --layers are of the splits of a graph",
                    search.method),
        "leave them out; --set changes the experiment");
  if (const std::string asked = layout_options(search); !asked.empty())
    throw core::ConfigurationError(
        "--method",
        fmt::format("{} has a space of its own; {} of layouts of all layers together", search.method, asked),
        "leave them out");
}

void check_one(const SearchArguments& search) {
  if (search.method.empty()) {
    if (search.file.empty())
      throw core::ConfigurationError("cairn search", "no experiment was named",
                                     "name one, or split a graph: --method pase --graph alexnet --devices 32");
    if (asks_for_splits(search))
      throw core::ConfigurationError(
          "--method",
          "--graph, --devices, --batch, --least-extent, --seed, --cost-model, --cluster, "
          "--nodes, --axes, --format, --micro-batches and --layers are of the splits of a graph",
          "add --method pase and name no experiment, or leave them out");
    if (search.print_space && !search.html.empty())
      throw core::ConfigurationError("--html", "a page shows what a search found, and none is made",
                                     "leave --print-space or --html out");
    return;
  }
  const std::vector<std::string> layered = layer_method_names();
  if (std::find(layered.begin(), layered.end(), search.method) != layered.end()) return check_layer_method(search);
  if (!search.file.empty())
    throw core::ConfigurationError("--method", "splits the operators of a graph, and an experiment was named, too",
                                   "leave the experiment or --method out");
  if (search.graph.empty())
    throw core::ConfigurationError("--graph", "the network whose operators are split is missing",
                                   "add --graph alexnet");
  check_costs(search);
  constexpr std::int64_t k_most = 1 << 20;  // more than any cluster has; sizes of tensors stay far below 2^63
  if (search.devices > k_most || search.batch > k_most)
    throw core::ConfigurationError(search.devices > k_most ? "--devices" : "--batch",
                                   fmt::format("more than {} are not split", k_most), "give fewer");
  if (search.seed != 0 && search.method == splits::name(splits::Method::pase))
    throw core::ConfigurationError("--seed", "the exact search draws nothing", "leave it out");
  if (const std::string asked = layout_options(search, !search.overrides.empty()); !asked.empty())
    throw core::ConfigurationError("--method", asked + " of an experiment's layouts", "leave them out");
}

void check_one(const SweepArguments& sweep) {
  if (!sweep.space.empty() && !sweep.search)
    throw core::ConfigurationError("--space", "layouts are searched with --search alone", "add --search");
}

void check_one(const ValidateArguments& validate) {
  if (!validate.intervals.empty() && !validate.names.empty())
    throw core::ConfigurationError("--write-intervals", "intervals are those of all tables together", "name no family");
  if (!validate.intervals.empty() && validate.ideal)
    throw core::ConfigurationError("--write-intervals", "no run is held against what --ideal predicts",
                                   "leave one of them out");
}

}  // namespace

void check(const CommandArguments& command) {
  std::visit(
      [](const auto& arguments) {
        if constexpr (requires { arguments.result; }) check_form(arguments.result);
        if constexpr (requires { arguments.html; }) check_page(arguments.html, arguments.result);
        check_one(arguments);
      },
      command);
}

}  // namespace cairn::cli
