// What an experiment sets beside the model, the machine and the software that it names: values that can be made without
// a file. The key, unit, range and meaning of each field are in the `describe` of its structure
// (src/experiment/experiment.cpp), and `cairn schema experiment` prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/core/quantity.h"
#include "cairn/models/kernels.h"
#include "cairn/pipeline/generators.h"
#include "cairn/software/framework.h"

namespace cairn::experiment {

// adamw takes weight decay from the parameter instead of adding it to the gradient (Loshchilov and Hutter, arXiv
// 1711.05101). Fused kernels do either while parameter, gradient and moments are at hand, so adamw holds adam's state
// and moves adam's bytes (PyTorch torch.optim.AdamW, Apex FusedAdam with adam_w_mode, 2025).
enum class Optimizer : std::uint8_t { adam, adamw, sgd, adafactor, adam8bit, sgd8bit };

// The 8-bit ones keep their moments as bytes, in blocks of `block` elements with one fp32 maximum each.
struct OptimizerChoice {
  Optimizer kind = Optimizer::adam;
  std::int64_t block = 256;  // 256 or 2048
};

inline constexpr std::int64_t k_longest_sequence = std::int64_t{1} << 26;  // tokens

// Sequences per optimizer step, or tokens: '4 Mi tokens'.
struct GlobalBatch {
  std::int64_t sequences = 0;  // 0: given in tokens
  double tokens = 0.0;
};

// Written as a number or with a unit: 15e12, '15 T tokens'.
struct TokenCount {
  double tokens = 0.0;
};

struct Training {
  std::int64_t seq_len = 0;
  GlobalBatch global_batch = {};
  std::optional<TokenCount> tokens = {};  // of the whole training, for how long it takes and what it costs
  OptimizerChoice optimizer = {};
  models::KernelChoice kernels = {};  // keys left out come from the framework
};

using software::StageRule;
struct Stages {
  StageRule rule = StageRule::even;
  std::string layout = {};                // as Megatron-LM writes it; empty: by counts or by the rule
  std::vector<std::int64_t> layers = {};  // one per virtual stage; empty: by the rule
};

enum class Place : std::uint8_t { host, nvme };
// Published offload systems; each sets defaults of the keys that are left out (resolve_zero.cpp has the list).
enum class OffloadPolicy : std::uint8_t { zero_offload, zero_infinity, patrickstar, interleaved, fuyou, superpipeline };

struct OffloadChoice {
  std::optional<OffloadPolicy> policy = {};
  std::optional<Place> optimizer = {};  // master copy and moments, updated by the host's cores
  std::optional<Place> parameters = {};
  std::optional<Place> activations = {};      // what body layers keep for their backward pass
  std::optional<std::int64_t> resident = {};  // layers whose parameters stay on the device all the same
  std::optional<double> subgroup = {};        // parameters that are updated together
  std::optional<std::int64_t> every = {};     // the device updates one subgroup of so many, the host the others
};

// Keys left out come from the framework.
struct Zero {
  std::int64_t stage = 0;
  std::optional<std::int64_t> shard = {};      // ranks that shard one copy (HSDP)
  std::optional<std::int64_t> replicate = {};  // number of copies; shard x replicate = dp
  std::optional<std::int64_t> prefetch = {};
  std::optional<bool> reshard_after_forward = {};
  std::optional<OffloadChoice> offload = {};
};

enum class RecomputeKind : std::uint8_t { none, attention, per_op, full };
enum class RecomputeMethod : std::uint8_t { uniform, block };
struct Recompute {
  RecomputeKind kind = RecomputeKind::none;
  std::optional<std::vector<std::string>> operators = {};  // by name or region, in place of a kind
  std::optional<std::vector<std::string>> layers =
      {};  // "3" or "0..39", counted from 0 through the model; default: all
  std::optional<RecomputeMethod> method = {};
  std::optional<std::int64_t> count = {};       // layers of a group (uniform) or of a virtual stage (block); default 1
  std::optional<bool> share_saved_inputs = {};  // default: the framework's
};

struct ScheduleChoice {
  std::string kind = "1f1b";
  std::int64_t chunks = 1;
  // What some kinds take besides; see pipeline::Settings.
  std::optional<std::int64_t> waves = {};
  std::optional<std::int64_t> pipelines = {};
  std::optional<std::int64_t> group = {};
  std::optional<std::int64_t> memory_limit = {};
  std::optional<pipeline::WeightGradients> weight_gradients = {};
  std::optional<bool> reorder = {};
  std::optional<pipeline::Continuation> continuation = {};
  std::optional<pipeline::Vocabulary> vocabulary = {};
};

struct DataOverlap {
  std::optional<bool> reduce = {};
  std::optional<bool> gather = {};
  std::optional<core::Bytes> bucket = {};
};
enum class TensorOverlapKind : std::uint8_t { chunked, t3, iso };
struct TensorOverlap {
  std::optional<bool> beside = {};  // transfers of the input gradient overlap the weight gradient
  std::optional<TensorOverlapKind> kind = {};
  std::optional<std::int64_t> chunks = {};  // chunked: pieces of each product; default 4
};
// What the token exchange of experts overlaps: nothing; the shared experts and all else that does not depend on it; the
// other half of the micro-batch.
enum class ExpertOverlapKind : std::uint8_t { none, shared, two_batch };
struct ExpertOverlap {
  ExpertOverlapKind kind = ExpertOverlapKind::none;
};
// Keys left out come from the framework.
struct Overlap {
  std::optional<DataOverlap> dp = {};
  std::optional<TensorOverlap> tp = {};
  std::optional<bool> pp = {};
  std::optional<ExpertOverlap> ep = {};
};

// How ranks of cp share attention, by a scheme of sequence/scheme.h. Keys left out: of the grids that the model's heads
// and the sequence allow, most ranks split heads, then the 2-d shape that exchanges least, then an inner ring as large as
// the domain of fast links.
struct AttentionChoice {
  std::string scheme = {};
  std::optional<std::int64_t> heads = {};   // ranks that split the heads
  std::vector<std::int64_t> grid = {};      // rows and columns of the ranks that share tokens; empty: any
  std::optional<std::int64_t> window = {};  // ranks of the inner ring of a double ring
  std::optional<bool> heads_inner = {};     // ranks that split heads are neighbours; else those that share tokens
  std::optional<bool> fp32_gradients = {};  // dQ, dK and dV travel in fp32; default: the framework's
};

struct StrategyChoice {
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::optional<AttentionChoice> attention = {};  // default: the framework's scheme
  std::int64_t pp = 1;
  std::optional<std::int64_t> dp = {};  // default: what the cluster leaves
  std::int64_t ep = 1;
  std::int64_t etp = 1;
  std::vector<std::string> order{"tp", "cp", "dp", "pp"};  // inner to outer
  std::vector<std::string> expert_order{"etp", "ep", "edp", "pp"};
  std::int64_t micro_batch = 1;
  std::optional<std::int64_t> micro_batches =
      {};  // of a step on one rank of dp; follows from the batch, and must agree
  bool sequence_parallel = false;
  std::optional<bool> vocab_parallel = {};  // default: tp > 1
  std::optional<Stages> stages = {};        // default: the framework's rule
  Zero zero = {};
  Recompute recompute = {};
  ScheduleChoice schedule = {};
  Overlap overlap = {};
};

struct Fault {
  std::int64_t rank = 0;
  double compute = 1.0;  // speed, 1 = as priced
  core::Seconds from{};
  std::optional<core::Seconds> until = {};
};
struct Jitter {
  std::string distribution = "lognormal";
  double sigma = 0.0;  // 0: none
};
struct Simulation {
  bool contention = false;
  bool interference = false;
  Jitter jitter = {};
  std::int64_t seed = 1;
  std::vector<Fault> faults = {};
  // Whether it asks for what only a run event by event has.
  bool asks_for_events() const { return contention || interference || jitter.sigma > 0.0 || !faults.empty(); }
};

struct Settings {
  Training training = {};
  StrategyChoice strategy = {};
  Simulation simulation = {};
};

}  // namespace cairn::experiment
