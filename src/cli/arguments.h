// What was typed, as structures. The options of a command stand beside their descriptions in arguments.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cairn/predict/prediction.h"
#include "command_tree.h"
#include "output.h"

namespace cairn::cli {

enum class ColorChoice : std::uint8_t { automatic, always, never };

// Options of every command.
struct CommonArguments {
  bool quiet = false;
  bool verbose = false;
  bool stats = false;
  ColorChoice color = ColorChoice::automatic;
};

struct ResultArguments {
  bool json = false;
  bool csv = false;    // neither: text
  std::string output;  // a file; empty: standard output
};

struct RunArguments {
  std::string file;
  std::string batch;
  predict::Engine engine = predict::Engine::both;
  std::string trace;
  std::string memory_svg;
  std::string html;
  std::string measured;       // the time of a step; empty: none
  std::string strategy_file;  // of a network's operators, in place of an experiment; empty: none
  std::vector<std::string> overrides;
  std::int64_t threads = 0;  // of a batch; 0: as many as the machine runs at once
  bool full = false;
  ResultArguments result;
};

struct SearchArguments {
  std::string file;
  std::string method;  // of splitting a graph's operators; empty: layouts of the experiment are searched
  std::string graph;
  std::int64_t devices = 0;        // 0: not given
  std::int64_t batch = 0;          // 0: the graph's own
  std::int64_t least_extent = 0;   // 0: the graph's own
  std::int64_t seed = 0;           // 0: not given
  std::string cost_model;          // empty: pase
  std::string cluster;             // of the calibrated costs; empty: none
  std::int64_t nodes = 0;          // 0: as the cluster says
  std::string axes;                // devices along each axis; empty: by level of the network
  std::string format;              // empty: the strategy's default
  std::int64_t micro_batches = 0;  // of a pipeline; 0: not given
  std::int64_t layers = 0;         // that stages are made of; 0: not given
  std::string space;               // a file; empty: the default space
  bool print_space = false;
  std::string objective;  // empty: as the space says, or the step time
  std::int64_t top = 5;
  std::string time_limit;  // empty: none
  std::string resume;      // a file; empty: none
  bool exhaustive = false;
  std::string html;          // empty: none
  std::int64_t threads = 0;  // 0: as many as the machine runs at once
  std::vector<std::string> overrides;
  bool full = false;
  ResultArguments result;
};

struct SweepArguments {
  std::string file;
  std::vector<std::string> vary;
  bool search = false;
  std::string space;         // a file; empty: the default space of each row
  std::string objective;     // empty: as the space says, or the step time
  std::string time_limit;    // empty: none
  std::int64_t threads = 0;  // 0: as many as the machine runs at once
  std::string plot;
  std::string html;
  std::vector<std::string> overrides;
  bool full = false;
  ResultArguments result;
};

struct BoundArguments {
  std::vector<std::string> operation;  // its words; "einsum" and an expression; empty: a file
  std::string operation_text() const;
  std::string sizes;  // of an einsum's letters
  std::string fast;   // bytes with a unit, else words; empty: all on-chip memory of the accelerator
  std::string format = "bf16";
  std::string rules = "rbw";
  bool slide = false;
  bool exact = false;
  std::uint64_t states = 0;  // of the exact search; 0: the default
  std::string cdag;
  std::string trace;
  std::string moves;        // a play to verify
  std::string write_moves;  // where the cheapest play found goes
  bool locality = false;
  std::string accelerator;
  std::int64_t devices = 0;            // that share the work; 0: one
  std::string cluster;                 // whose links join them
  std::vector<std::string> overrides;  // of its keys
  std::string model;
  std::optional<std::int64_t> layer;  // 1: the first block, 0: the embedding; none: every class once
  std::int64_t sequence = 0;          // tokens; 0: 2048 or as many positions as the model has
  std::int64_t batch = 1;             // sequences
  bool backward = false;
  std::string attention;  // empty: unfused, or the only one that latent attention has
  ResultArguments result;
};

struct ConfigShowArguments {
  std::string experiment;
  std::vector<std::string> overrides;
  bool origin = false;
  ResultArguments result;
};

struct ConfigModelArguments {
  std::string name;
  ResultArguments result;
};

struct ConfigListArguments {
  std::string kind;  // empty: all
  ResultArguments result;
};

struct ConfigTemplateArguments {
  std::string kind;
  std::string output;
};

struct SchemaArguments {
  std::string name;  // empty: the list of names
  std::string output;
};

struct CompletionArguments {
  std::string shell;
};

struct ValidateArguments {
  std::vector<std::string> names;
  std::string data;       // empty: as the environment says
  std::string plot;       // a picture of predicted against measured times
  std::string intervals;  // the file of intervals that these rows make
  bool ideal = false;     // predict software without overheads
  ResultArguments result;
};

struct CalibrateArguments {
  std::vector<std::string> files;
  std::string output;  // the calibration file; empty: none is written
  std::string gpu;
  std::string base;
  std::string collective;  // of nccl-tests output that does not say it
  ResultArguments result;  // goes to standard output
};

struct DiffArguments {
  std::vector<std::string> runs;  // experiments or results of `cairn run`: one beside a trace, else two
  std::string trace;
  std::string step;                       // empty: the median
  std::optional<std::int64_t> stage;      // none: that of the rank that was traced
  std::optional<predict::Engine> engine;  // of two runs; none: analytic
  std::vector<std::string> overrides;
  bool full = false;
  ResultArguments result;
};

struct TopologyArguments {
  std::string name;
  std::vector<std::string> compare;  // several in place of one
  std::vector<std::string> overrides;
  std::string prices = "hammingmesh-2022";
  std::string flows;
  std::string collective;
  std::string algorithm;   // empty: every one
  std::string bytes;       // of the collective
  std::int64_t ranks = 0;  // 0: every endpoint
  std::int64_t pieces = 1;
  std::string sharing = "max-min";
  std::string svg;
  std::string dot;
  ResultArguments result;
};

struct PartitionArguments {
  std::string file;           // an experiment, whose modules are shared out over devices
  std::int64_t devices = 0;   // 0: not given
  std::string memory_weight;  // empty: the default
  std::string tasks;          // a file of tasks in place of the experiment
  std::int64_t ranks = 0;     // 0: not given
  std::string rule;           // empty: all
  std::vector<std::string> overrides;
  bool full = false;
  ResultArguments result;
};

struct AttentionArguments {
  std::string cluster;
  std::string nodes;                   // counts; empty: as the cluster says
  std::vector<std::string> overrides;  // of its keys
  std::string sequence;                // lengths in tokens
  std::string lengths;                 // a file of lengths in place of one
  std::int64_t tokens_per_gpu = 0;     // of those: that a GPU has memory for
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 128;
  std::int64_t batch = 1;
  std::int64_t tp = 1;
  std::string scheme;            // empty: every one
  std::string grid;              // rows x columns; empty: any
  std::int64_t heads_split = 0;  // 0: any, as of the next two
  std::int64_t ring = 0;
  std::int64_t window = 0;
  bool causal = false;  // said, though it is the default
  bool full_mask = false;
  bool fp32_gradients = false;
  bool eager_joins = false;
  bool forward = false;
  std::string kernel;  // empty: the default framework's
  bool list = false;
  bool prove = false;
  std::string plot;
  bool full = false;
  ResultArguments result;
};

struct SwarmArguments {  // of the kind swarm alone
  std::string peers;     // empty: one per stage
  std::string failures;
  std::string joins;
  std::string mean_life, repair, rebalance, migration;
  std::int32_t in_flight = 0;  // 0: two per peer
  std::optional<std::uint64_t> seed;
};

struct ScheduleArguments {
  std::vector<std::string> given;  // long names of the options on the command line
  std::string kind;
  std::string file;  // a schedule of the user's own in place of a kind
  bool list = false;
  bool compare = false;
  std::int32_t stages = 0;  // 0: not given
  std::int32_t micro_batches = 0;
  std::int32_t chunks = 0;
  std::int32_t waves = 0;
  std::int32_t pipelines = 0;
  std::int32_t group = 0;
  std::optional<std::int32_t> memory_limit;
  std::string weight_gradients;
  std::string continuation;
  bool no_reorder = false;
  std::string vocabulary;  // empty: whole
  std::string vocabulary_forward, vocabulary_backward, optimizer, communication, copy;
  std::string forward, input_gradient, weight_gradient, forward_backward, p2p;  // empty: the default
  SwarmArguments swarm;
  std::string fill;        // work for the bubbles
  std::string experiment;  // whose stages' costs stand in place of times
  std::string svg;
  ResultArguments result;
};

struct ImportArguments {
  std::string file;
  std::string output;
};

// Arguments of a training framework as an experiment, and back.
struct LaunchImportArguments {
  std::string framework;
  std::string file;
  std::string cluster;
  std::int64_t nodes = 0;  // 0: as the file says
  std::vector<std::string> definitions;
  std::vector<std::string> overrides;
  std::string output;
};

struct LaunchExportArguments {
  std::string framework;
  std::string experiment;
  std::vector<std::string> overrides;
  std::string output;
};

using CommandArguments =
    std::variant<std::monostate, RunArguments, SearchArguments, SweepArguments, BoundArguments, ConfigShowArguments,
                 ConfigModelArguments, ConfigListArguments, ConfigTemplateArguments, ValidateArguments,
                 CalibrateArguments, DiffArguments, TopologyArguments, PartitionArguments, AttentionArguments,
                 ScheduleArguments, ImportArguments, LaunchImportArguments, LaunchExportArguments, SchemaArguments,
                 CompletionArguments>;

struct Arguments {
  CommonArguments common;
  CommandArguments command;
  NamedFiles files;                 // values that name files, or may
  CommandTree tree;                 // filled for `completion` only
  std::optional<std::string> help;  // help or version was asked for: print this and end well
};

// Throws core::ConfigurationError for a command line that cannot be understood.
Arguments parse(int argc, const char* const* argv);

}  // namespace cairn::cli
