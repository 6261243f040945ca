// Bounds, networks, schedules, calibration, and files of other tools.
#include "argument_parser.h"

#include <fmt/format.h>

#include "cairn/division/tasks.h"
#include "cairn/launch/launch.h"
#include "cairn/measure/read.h"
#include "cairn/numerics/format_names.h"
#include "cairn/sequence/scheme.h"
#include "known_words.h"

namespace cairn::cli {

void Parser::bound(CLI::App& sub) {
  suggest(sub.add_option("operation", bound_.operation,
                         "an operator with its sizes, as in 'matmul m=8192 n=8192 k=8192', or: einsum 'ik,kj->ij'"),
          operator_names())
      ->type_name("OPERATION");
  sub.add_option("--sizes", bound_.sizes, "sizes of an einsum's letters, as in i=64,j=64,k=64")->type_name("SIZES");
  sub.add_option("--fast", bound_.fast, "fast memory: 228KiB, or a bare number of words")->type_name("AMOUNT");
  suggest(sub.add_option("--dtype", bound_.format, "number format of a word"), numerics::format_names())
      ->type_name("FORMAT")
      ->capture_default_str();
  choose(sub.add_option("--game", bound_.rules, "rbw: every value computed once; hk: recomputation allowed"), rules_)
      ->type_name("GAME")
      ->capture_default_str();
  sub.add_flag("--slide", bound_.slide, "a result may take the place of one of its operands");
  sub.add_flag("--exact", bound_.exact, "search the cheapest play of all; at most 64 vertices");
  sub.add_option("--states", bound_.states, "states the exact search may look at")->check(at_least(1))->type_name("N");
  sub.add_option("--cdag", bound_.cdag, "a graph: lines 'v ID [in] [out]' and 'e FROM TO'")->type_name(k_file);
  sub.add_option("--trace", bound_.trace, "an execution: lines 'r ADDR', 'w ADDR', 'op', as below, or its binary form")
      ->type_name(k_file);
  sub.add_option("--moves", bound_.moves,
                 "verify a play of the graph: lines 'load V', 'store V', 'compute V', 'slide FROM -> V', 'erase V', "
                 "'forget V'")
      ->type_name(k_file);
  add_output(sub, "--write-moves", bound_.write_moves, "write the cheapest play found, as --moves reads it");
  sub.add_flag("--locality", bound_.locality,
               "of a trace: what the best order found moves, for memories of many sizes");
  name_of(sub.add_option("--accelerator", bound_.accelerator,
                         "compare with its memory; its on-chip memory is the default of --fast"),
          {"accelerators"})
      ->type_name("NAME");
  sub.add_option("--devices", bound_.devices, "what so many must exchange: products, attention, graphs of any kind")
      ->check(at_least(1))
      ->type_name("P");
  name_of(sub.add_option("--cluster", bound_.cluster, "of several devices: least time over its links"), {"clusters"})
      ->type_name("NAME");
  add_overrides(sub, bound_.overrides, {"cluster"}, "override a key of the cluster, as in nodes=2; may be repeated");
  name_of(sub.add_option("--model", bound_.model, "the operators of a model's layers instead, whole, as on one device"),
          {"models"})
      ->type_name("NAME");
  sub.add_option("--layer", bound_.layer,
                 "one layer of the model: 1 is the first block, 0 the embedding; default: every class once")
      ->check(at_least(0))
      ->type_name("N");
  sub.add_option("--seq", bound_.sequence, "tokens per sequence")
      ->check(at_least(1))
      ->type_name("TOKENS")
      ->capture_default_str();
  sub.add_option("--batch", bound_.batch, "sequences")->check(at_least(1))->type_name("N")->capture_default_str();
  sub.add_flag("--backward", bound_.backward, "the backward pass as well");
  choose(sub.add_option("--attention", bound_.attention,
                        "unfused (default; latent attention: flash2), fused_softmax or flash2"),
         attentions_)
      ->type_name("KERNEL")
      ->capture_default_str();
  add_table(sub, bound_.result);
  example(sub, "cairn bound 'matmul m=8192 n=8192 k=8192' --fast 228KiB",
          operators_text() +
              "An execution (--trace): of every operation what it reads, 'r ADDR', then what it writes, 'w ADDR', "
              "then 'op', which\n"
              "ends it. One that reads nothing places inputs. a = x + y, line by line: w 0, w 8, op, r 0, r 8, w 16, "
              "op\n");
}

void Parser::validate(CLI::App& sub) {
  name_of(sub.add_option("family", validate_.names, "families of measurements; default: all"), {k_families})
      ->type_name("NAME");
  sub.add_option("--data", validate_.data, "a folder of further tables (CSV); default: the variable CAIRN_DATA")
      ->type_name("DIR");
  sub.add_flag("--ideal", validate_.ideal,
               "predict software without overheads (framework ideal), by the fastest libraries that calibrations know; "
               "exit code 1 where a family's mean error is not below 0");
  add_output(sub, "--plot", validate_.plot, "draw predicted against measured step times, each table in a colour");
  add_output(sub, "--write-intervals", validate_.intervals,
             "write how far predictions are off by family, as configs/intervals.yaml; of all tables");
  add_table(sub, validate_.result);
  example(sub, "cairn validate korthikanti2022_table5");
}

void Parser::calibrate(CLI::App& sub) {
  sub.add_option("files", calibrate_.files, "documents of cairn-probe, output or JSON of nccl-tests, tables (CSV)")
      ->required()
      ->type_name(k_file);
  add_output(sub, "-o,--output", calibrate_.output,
             "write the calibration to a file; the report goes to standard output");
  name_of(sub.add_option("--gpu", calibrate_.gpu,
                         "the accelerator, a name of `cairn config list accelerators`; default: the one measured"),
          {"accelerators"})
      ->type_name("NAME");
  name_of(sub.add_option("--base", calibrate_.base,
                         "the calibration that supplies what is not measured; default: the accelerator's own"),
          {"calibration"})
      ->type_name("NAME");
  choose(sub.add_option("--collective", calibrate_.collective,
                        "which one nccl-tests timed, where its output does not say"),
         measure::collective_names())
      ->type_name("NAME");
  add_json(sub, calibrate_.result);
  add_csv(sub, calibrate_.result);
  example(sub, "cairn calibrate probe.json all_reduce_perf.txt -o configs/calibration/h100-sxm5-80gb.yaml",
          "Errors are predicted / measured - 1, in sample and of whole groups that the fit did not see.");
}

void Parser::topology(CLI::App& sub) {
  name_of(sub.add_option("network", topology_.name,
                         "a network, cluster or graph: a file, or a name of `cairn config list`"),
          {"topologies", "clusters"})
      ->type_name(k_file);
  name_of(sub.add_option("--compare", topology_.compare, "several networks side by side"), {"topologies", "clusters"})
      ->type_name("NAME ...");
  add_overrides(sub, topology_.overrides, {"network", "cluster"},
                "override a key, as in nodes=4 or dims=[8, 8]; may be repeated");
  name_of(sub.add_option("--prices", topology_.prices, "the price list, a name of `cairn config list prices`"),
          {"prices"})
      ->type_name("NAME")
      ->capture_default_str();
  sub.add_option("--flows", topology_.flows, "flows to run: a table (CSV) of src,dst,bytes,start_s,after")
      ->type_name(k_file);
  choose(sub.add_option("--collective", topology_.collective,
                        "a collective to run, message by message, by every algorithm: all-reduce, all-gather, ..."),
         collectives_)
      ->type_name("NAME");
  sub.add_option("--bytes", topology_.bytes, "its buffer, as nccl-tests counts it; with --collective")
      ->type_name("SIZE");
  sub.add_option("--ranks", topology_.ranks, "endpoints 0, 1, ... that take part (default: all)")
      ->check(at_least(2))
      ->type_name("N");
  choose(sub.add_option("--algorithm", topology_.algorithm, "one algorithm in place of all"), algorithms_)
      ->type_name("NAME");
  sub.add_option("--pieces", topology_.pieces, "that a chain of ranks cuts the buffer into")
      ->check(at_least(1))
      ->type_name("N")
      ->capture_default_str();
  choose(sub.add_option("--sharing", topology_.sharing, "how flows share links: max-min, or rtt-weighted by 1/latency"),
         sharings_)
      ->type_name("RULE")
      ->capture_default_str();
  add_output(sub, "--svg", topology_.svg, "draw it (small networks)");
  add_output(sub, "--dot", topology_.dot, "write it for Graphviz (small networks)");
  add_table(sub, topology_.result);
  example(sub, "cairn topology --compare hx2mesh-1024 fat-tree-1024 torus-1024",
          "Of flows, bytes and start_s may have a unit (2GB, 5ms), src and dst be names of a graph's nodes. after: "
          "rows that must\n"
          "have ended first, separated by ';' and counted from 1, or from 0 where row 0 is named.");
}

void Parser::partition(CLI::App& sub) {
  name_of(sub.add_option("experiment", partition_.file,
                         "an experiment: a file, or a name of `cairn config list experiments`; its model's modules "
                         "become stages of a pipeline"),
          {"experiments"})
      ->type_name(k_file);
  sub.add_option("--devices", partition_.devices, "of the experiment: stages; as many as its strategy has if left out")
      ->check(at_least(1))
      ->type_name("D");
  sub.add_option("--memory-weight", partition_.memory_weight,
                 "of the experiment: how much memory counts beside time, 0 to 1; 0.2 if left out")
      ->type_name("W");
  sub.add_option("--tasks", partition_.tasks,
                 "in place of an experiment: a table (CSV) of tasks, name,cost, to share out over --ranks")
      ->type_name(k_file);
  sub.add_option("--ranks", partition_.ranks, "with --tasks: equal ranks")->check(at_least(1))->type_name("N");
  choose(sub.add_option("--rule", partition_.rule,
                        "with --tasks: by one rule, with what each rank has; all side by side if left out. blocks and "
                        "cyclic share out by number, least-blocks is the best of all consecutive blocks, longest-first "
                        "takes the longest task that is left, optimal searches"),
         division::task_rule_names())
      ->type_name("RULE");
  set_experiment(sub, partition_.overrides);
  sub.add_flag("--full", partition_.full, "all rows");
  add_table(sub, partition_.result);
  example(sub, "cairn partition llama3-70b-64xdgx-h100 --devices 8",
          "Modules by the method of SageMaker's auto-partition, a tree of them cut in proportion to time and memory, "
          "beside the best of\n"
          "all consecutive cuts. Costs of tasks are whole numbers in any unit: cairn partition --tasks shells.csv "
          "--ranks 64");
}

void Parser::attention(CLI::App& sub) {
  const auto count = [&](const char* names, std::int64_t& target, const char* description) {
    return sub.add_option(names, target, description)->check(at_least(1))->type_name("N");
  };
  name_of(sub.add_option("--cluster", attention_.cluster, "whose GPUs share each sequence"), {"clusters"})
      ->type_name("NAME");
  sub.add_option("--nodes", attention_.nodes, "nodes of it: one number, a list, or a range as in 1..64*2")
      ->type_name("NODES");
  add_overrides(sub, attention_.overrides, {"cluster"}, "override a key of the cluster; may be repeated");
  sub.add_option("--seq", attention_.sequence, "tokens of a sequence: 131072, a list, or 128Ki..2Mi, which doubles")
      ->type_name("TOKENS");
  sub.add_option("--lengths", attention_.lengths,
                 "a batch of mixed lengths, a number of tokens a line: which ranks compute which")
      ->type_name(k_file);
  count("--tokens-per-gpu", attention_.tokens_per_gpu, "with --lengths: tokens that a GPU has memory for");
  count("--heads", attention_.heads, "heads of queries");
  count("--kv-heads", attention_.kv_heads, "heads of keys and values; default as many");
  count("--head-dim", attention_.head_dim, "elements of a head")->capture_default_str();
  count("--batch", attention_.batch, "sequences at once")->capture_default_str();
  count("--tp", attention_.tp, "neighbouring ranks that split heads for a whole layer; the others share the sequence")
      ->capture_default_str();
  suggest(sub.add_option("--scheme", attention_.scheme, "one scheme in all its grids; see --list"),
          sequence::scheme_names())
      ->type_name("NAME");
  sub.add_option("--grid", attention_.grid, "rows x columns of ranks that share tokens, as in 8x8")->type_name("RxC");
  count("--heads-split,--ulysses", attention_.heads_split, "ranks that split heads around a scheme");
  count("--ring", attention_.ring, "ranks that share tokens");
  count("--window", attention_.window, "ranks of the inner ring of a double ring");
  CLI::Option* causal = sub.add_flag("--causal", attention_.causal, "no query sees a later key: the default");
  sub.add_flag("--full-mask", attention_.full_mask, "every query sees every key")->excludes(causal);
  choose(sub.add_option("--kernel", attention_.kernel, "that computes attention; default as `cairn run` takes it"),
         sharing_kernels_)
      ->type_name("KERNEL");
  CLI::Option* forward = sub.add_flag("--forward", attention_.forward, "the forward pass alone");
  sub.add_flag("--fp32-gradients", attention_.fp32_gradients, "dQ, dK and dV travel in fp32, not in 16 bits")
      ->excludes(forward);
  sub.add_flag("--eager-joins", attention_.eager_joins,
               "tiles are joined by a kernel for each operation, as PyTorch does; default: one pass, as Megatron-LM");
  sub.add_flag("--list", attention_.list, "every scheme, what it does and where it comes from");
  sub.add_flag("--prove", attention_.prove,
               "run the lists of what is shown on numbers, in small, against dense attention");
  add_output(sub, "--plot", attention_.plot, "draw times over the sequence length and the GPUs");
  sub.add_flag("--full", attention_.full, "all rows, all reasons and assumptions");
  add_table(sub, attention_.result);
  example(sub, "cairn attention --cluster dgx-h100 --nodes 8 --seq 128Ki..2Mi --heads 64 --kv-heads 8 --plot long.svg");
}

void Parser::schedule(CLI::App& sub) {
  sub.callback([this, &sub] {
    for (const CLI::Option* option : sub.get_options())
      if (option->count() > 0 && !option->get_positional()) schedule_.given.push_back(option->get_lnames().front());
    result_.command = schedule_;
  });
  suggest(sub.add_option("kind", schedule_.kind, "such as 1f1b; see --list"), schedule_kinds())->type_name("KIND");
  sub.add_flag("--list", schedule_.list, "every kind, what it takes and where it comes from");
  sub.add_flag("--compare", schedule_.compare, "every kind that takes these stages and micro-batches, side by side");
  const auto count = [&](const char* option, std::int32_t& target, const char* description) {
    sub.add_option(option, target, description)->check(at_least(1))->type_name("N");
  };
  count("--stages", schedule_.stages, "devices in the pipeline");
  count("--micro-batches", schedule_.micro_batches, "of one iteration, over all directions");
  count("--chunks", schedule_.chunks, "virtual stages per device");
  count("--waves", schedule_.waves, "times a micro-batch sweeps down and up");
  count("--pipelines", schedule_.pipelines, "pipelines in both directions together");
  count("--group", schedule_.group, "micro-batches taken together");
  sub.add_option("--memory-limit", schedule_.memory_limit, "most micro-batches' activations on a device")
      ->type_name("N");
  choose(sub.add_option("--weight-grads", schedule_.weight_gradients,
                        "when split weight gradients run: last, or fill the gaps"),
         weight_gradients_)
      ->type_name("WHEN");
  choose(
      sub.add_option("--continuation", schedule_.continuation,
                     "how chimera takes more micro-batches than stages: concatenate, double-forward, halve-backward"),
      continuations_)
      ->type_name("HOW");
  sub.add_flag("--no-reorder", schedule_.no_reorder, "the repeated building block as it is");
  const auto time = [&](const char* option, std::string& target, const char* description) {
    sub.add_option(option, target, description)->type_name("TIME");
  };
  time("--forward", schedule_.forward, "of a micro-batch on a full stage: 1, 0.5, 2/3 or 3ms");
  time("--input-grad", schedule_.input_gradient, "likewise, of the input gradient");
  time("--weight-grad", schedule_.weight_gradient, "likewise, of the weight gradient");
  time("--forward-backward", schedule_.forward_backward, "of a forward joined with a backward; default their sum");
  time("--p2p", schedule_.p2p, "of a message between neighbours");
  choose(sub.add_option("--vocabulary", schedule_.vocabulary,
                        "the output layer over all devices: vocab-1, vocab-2, interlaced"),
         vocabularies_)
      ->type_name("HOW");
  time("--vocab-forward", schedule_.vocabulary_forward, "of a micro-batch on a device's share of the output layer");
  time("--vocab-backward", schedule_.vocabulary_backward, "likewise, of its gradients");
  time("--optimizer", schedule_.optimizer, "of an update");
  time("--communication", schedule_.communication, "of a gather or reduction beside the compute");
  time("--copy", schedule_.copy, "of a micro-batch's activations of a full stage to the host, or back");
  swarm(sub, schedule_.swarm);
  name_of(sub.add_option("--experiment", schedule_.experiment,
                         "with --compare: what the stages of this model cost on its cluster, in place of times"),
          {"experiments"})
      ->type_name(k_file);
  sub.add_option("--fill", schedule_.fill,
                 "work for the bubbles (YAML): how often it is done, how full the devices are")
      ->type_name(k_file);
  sub.add_option("--file", schedule_.file, "a schedule of your own (YAML) in place of a kind")->type_name(k_file);
  add_output(sub, "--svg", schedule_.svg, "draw it");
  add_table(sub, schedule_.result);
  example(sub, "cairn schedule zb-h1 --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1");
}

void Parser::swarm(CLI::App& sub, SwarmArguments& swarm) {
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

void Parser::import() {
  CLI::App& sub = group("import", "files of other tools as files of Cairn");
  command(sub, "nccl-topo", "NCCL's topology (NCCL_TOPO_DUMP_FILE, XML) as a graph", import_, &Parser::import_nccl);
  for (LaunchImportArguments& each : launch_imports_)
    command(sub, each.framework, fmt::format("{} as an experiment", launch::file_form(each.framework).title), each,
            [&each](Parser& parser, CLI::App& launch) { parser.import_launch(launch, each); });
}

void Parser::import_nccl(CLI::App& sub) {
  sub.add_option("file", import_.file, "the XML file")->required()->type_name(k_file);
  add_output(sub, "-o,--output", import_.output, "write the result to a file");
  example(sub, "cairn import nccl-topo topo.xml -o node.yaml");
}

void Parser::import_launch(CLI::App& sub, LaunchImportArguments& launch) {
  const launch::FileForm form = launch::file_form(launch.framework);
  sub.add_option("file", launch.file, std::string(form.file))->required()->type_name(k_file);
  name_of(sub.add_option("--cluster", launch.cluster, "what it runs on, which arguments do not say")->required(),
          {"clusters"})
      ->type_name("NAME");
  sub.add_option("--nodes", launch.nodes, "nodes of it; default as the file says, else the cluster's own")
      ->check(at_least(1))
      ->type_name("N");
  sub.add_option("--define", launch.definitions,
                 "a variable that the file reads and does not set, as in TP=8; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  set_experiment(sub, launch.overrides);
  add_output(sub, "-o,--output", launch.output, "write the result to a file");
  example(sub, fmt::format("cairn import {} {} --cluster dgx-h100 -o mine.yaml", launch.framework, form.example),
          "What has no counterpart in Cairn stands in comments below the experiment, each with its line and its "
          "reason.");
}

void Parser::export_arguments() {
  CLI::App& sub = group("export", "experiments as the arguments of training frameworks");
  for (LaunchExportArguments& each : launch_exports_)
    command(sub, each.framework, fmt::format("an experiment as {}", launch::file_form(each.framework).title), each,
            [&each](Parser& parser, CLI::App& launch) { parser.export_launch(launch, each); });
}

void Parser::export_launch(CLI::App& sub, LaunchExportArguments& launch) {
  name_of(sub.add_option("experiment", launch.experiment, "an experiment file or name")->required(), {"experiments"})
      ->type_name(k_file);
  set_experiment(sub, launch.overrides);
  add_output(sub, "-o,--output", launch.output, "write the result to a file");
  example(sub, fmt::format("cairn export {} llama3-70b-64xdgx-h100", launch.framework),
          "What the framework has no argument for stands in comments, each with its reason.");
}

}  // namespace cairn::cli
