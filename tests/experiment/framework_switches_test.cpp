// Switches of framework profiles: what each adds, to the byte, the kernel and the picosecond.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/framework_step.h"
#include "support/passes.h"
#include "support/transfers.h"

using namespace cairn;

namespace {

constexpr double k_tokens = 512, k_layers = 2, k_hidden = 256, k_heads = 4, k_kv_heads = 2, k_head_dim = 64,
                 k_ffn = 512, k_vocab = 1024;

const std::string k_switched = R"(
model: {kind: transformer, layers: 2, hidden: 256, heads: 4, kv_heads: 2, ffn: 512, gated_mlp: true, vocab: 1024,
        tied_embeddings: false, norm: rmsnorm, position: rope, bias: false}
cluster: dgx-a100
training: {seq_len: 512, global_batch: 24, framework: FRAMEWORK}
strategy: {tp: 1}
)";

// The ideal framework, one kernel per place, with `keys` laid over it.
struct Case {
  std::string kernels = "";  // of the kernels block
  std::string keys = "";     // other blocks
  std::vector<std::string> overrides = {};
};

std::string with(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

class Under : public cairn::testing::FrameworkStep {
 public:
  explicit Under(const Case& each)
      : FrameworkStep(k_switched, "compiled: false" + each.kernels, each.keys, each.overrides) {}
};

struct Work {
  int kernels = 0;
  double bytes = 0.0;  // moved by kernels
  double kept = 0.0;   // activations left behind
};

Work of(const program::Block& block) {
  Work result;
  for (const program::Work& work : block.works)
    if (const auto* shard = std::get_if<ir::Shard>(&work)) {
      ++result.kernels;
      result.bytes += ir::bytes(*shard);
    }
  for (const program::MemoryEvent& event : block.memory)
    if (event.category == program::Category::activations) result.kept += event.bytes;
  return result;
}

// What a block does more in the second case than in the first.
Work added(const Under& without, const Under& under, const std::string& block) {
  const Work a = of(without.block(block)), b = of(under.block(block));
  return {.kernels = b.kernels - a.kernels, .bytes = b.bytes - a.bytes, .kept = b.kept - a.kept};
}

void check(const Work& found, const Work& expected) {
  CHECK(found.kernels == expected.kernels);
  CHECK(found.bytes == expected.bytes);
  CHECK(found.kept == expected.kept);
}

}  // namespace

TEST_CASE("eager pointwise kernels: rotation in four passes, the gate apart from its product") {
  const Under fused({.kernels = ", pointwise: fused"}), eager({.kernels = ", pointwise: eager"});
  // bf16 elements: queries and keys; the projection with its values; one half of the MLP's input.
  const double turned = 2 * k_tokens * (k_heads + k_kv_heads) * k_head_dim;
  const double projected = 2 * k_tokens * (k_heads + 2 * k_kv_heads) * k_head_dim;
  const double half = 2 * k_tokens * k_ffn;
  // Rotation: read, write -> half copied 2, times sine 2, times cosine 2, sum 3. Gate: both halves in, one out ->
  // activation 2, product 3; the activation's result is kept for the product's derivative.
  check(added(fused, eager, "block forward"),
        {.kernels = 3 + 1, .bytes = (9 - 2) * turned + (5 - 3) * half, .kept = half});
  // Backward: rotation 2 -> 2 for each of the three factors (a sum passes its gradient on), then the two gradients of
  // the projection added, 3. Gate: gradient, both halves, their gradient 5 -> product 5, activation 3, and the
  // gradients of both halves added, 3 x 2. What forward kept is let go.
  check(added(fused, eager, "block backward"),
        {.kernels = 3 + 2, .bytes = (6 - 2) * turned + 3 * projected + (14 - 5) * half, .kept = -half});
  CHECK(eager.prediction().time > fused.prediction().time);
}

TEST_CASE("wide scores: scaled and masked in fp32 instead of 16 bits") {
  const std::string unfused = ", pointwise: fused, attention: unfused";
  const Under narrow({.kernels = unfused + ", wide_scores: false"}), wide({.kernels = unfused + ", wide_scores: true"});
  const double scores = k_heads * k_tokens * k_tokens;
  // Bytes per score, forward: scale 2+2, mask 2+2, softmax 2+4, cast 4+2 -> widen 2+4, scale 4+4, mask 4+4, softmax
  // 4+4, cast 4+2. The fp32 probabilities are kept either way.
  check(added(narrow, wide, "block forward"), {.kernels = 1, .bytes = (36 - 20) * scores, .kept = 0});
  // Backward: cast 2+4, softmax 4+4+2, scale 2+2 (the mask passes its gradient on) -> cast 2+4, softmax 4+4+4, mask
  // 4+4, scale 4+4, widening 4+2.
  check(added(narrow, wide, "block backward"), {.kernels = 2, .bytes = (40 - 20) * scores, .kept = 0});
}

TEST_CASE("gathered logits: every rank computes the whole loss") {
  const std::string unfused = ", pointwise: fused, loss: unfused";
  const std::vector<std::string> two{"strategy.tp=2"};
  const Under split({.kernels = unfused + ", gathers_logits: false", .overrides = two});
  const Under gathered({.kernels = unfused + ", gathers_logits: true", .overrides = two});
  using testing::Sent;
  // A row's maximum and sum, fp32, over both ranks; or all logits, bf16, once.
  const Sent per_row{{program::Collective::all_reduce, 4 * k_tokens}, {program::Collective::all_reduce, 4 * k_tokens}};
  const Sent logits{{program::Collective::all_gather, 2 * k_tokens * k_vocab}};
  CHECK(testing::transfers(split.block("head forward")) == per_row);
  CHECK(testing::transfers(gathered.block("head forward")) == logits);
  CHECK(testing::transfers(split.block("head backward")) == testing::transfers(gathered.block("head backward")));
  // The other rank's half of the logits. Forward: cast 2+4, maximum 4, subtract 4+4, exponential 4+4, sum 4, divide
  // 4+4; its probabilities are kept in fp32. Backward: probabilities 4+4, cast 4+2.
  const double others = k_tokens * k_vocab / 2;
  check(added(split, gathered, "head forward"), {.kernels = 0, .bytes = 38 * others, .kept = 4 * others});
  check(added(split, gathered, "head backward"), {.kernels = 0, .bytes = 14 * others, .kept = -4 * others});
}

TEST_CASE("gathered logits: the whole loss under sequence parallelism too") {
  const Under gathered({.kernels = ", pointwise: fused, loss: unfused, gathers_logits: true",
                        .overrides = {"strategy.tp=2", "strategy.sequence_parallel=true"}});
  // The last norm's shares, then the logits; every rank keeps fp32 probabilities of all tokens.
  CHECK(testing::transfers(gathered.block("head forward")) ==
        testing::Sent{{program::Collective::all_gather, 2 * k_tokens * k_hidden},
                      {program::Collective::all_gather, 2 * k_tokens * k_vocab}});
  const auto& memory = gathered.block("head forward").memory;
  CHECK(std::any_of(memory.begin(), memory.end(), [](const program::MemoryEvent& event) {
    return event.category == program::Category::activations && event.bytes == 4 * k_tokens * k_vocab;
  }));
}

TEST_CASE("gathered inputs of products that are kept: one gather and one reduce-scatter of each") {
  const std::string keeps = "tensor_parallel: {value: {keeps_gathered_inputs: true}}\n";
  const auto under = [&](const std::string& kernels, const std::string& keys, const std::string& recompute,
                         const char* sequence_parallel = "true") {
    return Under({.kernels = ", pointwise: fused, " + kernels,
                  .keys = keys,
                  .overrides = {"strategy.tp=2", std::string("strategy.sequence_parallel=") + sequence_parallel,
                                "strategy.recompute=" + recompute}});
  };
  using testing::Sent;
  constexpr auto k_gather = program::Collective::all_gather;
  constexpr auto k_scatter = program::Collective::reduce_scatter;
  constexpr auto k_reduce = program::Collective::all_reduce;
  const double stream = 2 * k_tokens * k_hidden;
  const auto gathers = [&](int count) { return Sent(static_cast<std::size_t>(count), {k_gather, stream}); };
  const auto scatters = [&](int count) { return Sent(static_cast<std::size_t>(count), {k_scatter, stream}); };
  const auto sorted = [](Sent sent) {
    std::sort(sent.begin(), sent.end());
    return sent;
  };
  const auto both = [&](int gathered, int scattered) {
    Sent all = gathers(gathered);
    const Sent rest = scatters(scattered);
    all.insert(all.end(), rest.begin(), rest.end());
    return sorted(std::move(all));
  };
  const std::string apart = "separate_gate: true, separate_qkv: true";
  for (const char* recompute : {"none", "selective", "full"}) {
    INFO(recompute);
    const Under shards = under(apart, "", recompute), kept = under(apart, keeps, recompute);
    CHECK(testing::transfers(kept.block("block forward")) == testing::transfers(shards.block("block forward")));
    // Gradients of both outputs gathered; norms' outputs also, and a reduce-scatter of each of three and two products.
    // Kept: none again, and one for each norm. Full recomputation repeats two gathers and two reduce-scatters.
    const int again = recompute == std::string("full") ? 2 : 0;
    CHECK(sorted(testing::transfers(shards.block("block backward"))) == both(2 + 2 + again, 3 + 2 + again));
    CHECK(sorted(testing::transfers(kept.block("block backward"))) == both(2 + again, 2 + again));
    // Sums of whole gradients, 3 + 1 and 2 + 1 of them, in place of shards. Both norms' outputs are kept whole.
    const double sums = (4 + 3) * (stream - stream / 2);
    const double whole = again > 0 ? 0.0 : 2 * (stream - stream / 2);
    check(added(shards, kept, "block forward"), {.kernels = 0, .bytes = 0, .kept = whole});
    check(added(shards, kept, "block backward"), {.kernels = 0, .bytes = sums, .kept = -whole});
  }
  // One product for both halves, and one for queries, keys and values: nothing to add up.
  const Under joined = under("separate_gate: false", keeps, "none");
  CHECK(sorted(testing::transfers(joined.block("block backward"))) == both(2, 2));
  check(added(under("separate_gate: false", "", "none"), joined, "block backward"),
        {.kernels = 0, .bytes = 0, .kept = -stream});
  // Without sequence parallelism each product's input gradient is summed by itself, three and two of them.
  const Under plain = under(apart, keeps, "none", "false");
  CHECK(testing::transfers(plain.block("block backward")) == Sent(5, {k_reduce, stream}));
  CHECK(plain.prediction().time == under(apart, "", "none", "false").prediction().time);
}

TEST_CASE("what the loss holds: the logits, widened, copied, or of a few tokens at a time") {
  const auto head = [](const std::string& loss) {
    const Under under({.kernels = ", loss: " + loss});
    return std::pair(under.block("head forward").profile, under.block("head backward").profile);
  };
  const double logits = 2 * k_tokens * k_vocab, stream = 2 * k_tokens * k_hidden;
  const auto [forward, backward] = head("unfused");
  // The gradient lies in the probabilities, held since the forward pass: only its narrowed copy is new.
  CHECK(backward.peak == logits);
  // Beside the narrow logits their widened copy; or that, the copy of which the maximum is subtracted, and the maxima,
  // 4 bytes a row.
  CHECK(head("unfused, copies_logits: true").first.peak - forward.peak ==
        (4 + 4) * logits / 2 + 4 * k_tokens - (2 + 4) * logits / 2);
  CHECK(head("unfused, copies_logits: true").second.peak == backward.peak);
  // One kernel keeps the logits and makes their gradient beside them.
  const auto fused = head("fused");
  CHECK(fused.second.peak == logits);
  // Vocabulary over width: 4 pieces of 128 tokens. The gradient overwrites them, and what is new is that of the norm's
  // output, when the losses of the rows, 4 bytes each, have gone.
  const auto linear = head("fused-linear");
  CHECK(fused.first.delta - linear.first.delta == logits * 3 / 4);
  CHECK(linear.second.peak == stream - 4 * k_tokens);
  CHECK(linear.second.delta - fused.second.delta == logits * 3 / 4);
}

TEST_CASE("libraries hold workspaces as large as the architecture asks, and experts further ones") {
  const auto allocated = [](const std::string& keys, const std::string& cluster) {
    const Under under({.keys = keys, .overrides = {"cluster=" + cluster}});
    return under.prediction().memory.allocated_peak;
  };
  const std::string keys = R"(allocator:
  gemm_workspace: 20 MiB
  gemm_workspace_on: {hopper: 96 MiB}
  expert_workspace: 16 MiB
)";
  constexpr double k_mib = 1 << 20;
  CHECK(allocated(keys, "dgx-a100") - allocated("", "dgx-a100") == 20 * k_mib);
  CHECK(allocated(keys, "dgx-h100") - allocated("", "dgx-h100") == 96 * k_mib);
  const std::string experts = "model.moe={experts: 4, top_k: 2, ffn: 512}";
  const auto routed = [&](const std::string& all) {
    return Under({.keys = all, .overrides = {experts}}).prediction().memory.allocated_peak;
  };
  CHECK(routed(keys) - routed("") == (20 + 16) * k_mib);
}

TEST_CASE("an allocator keeps what is freed, in segments, or has what is allocated and no more") {
  const auto under = [](const std::string& keys) {
    return Under({.keys = "allocator: {value: {" + keys + "}, source: assumed, ref: test}\n",
                  .overrides = {"model.hidden=768", "model.ffn=2000", "model.vocab=5000"}});
  };
  const auto stage = [](const Under& each) { return each.prediction().memory.stages.front(); };
  const Under none = under("caching: false"), caching = under("caching: true");
  CHECK(stage(none).reserved_peak == stage(none).allocated_peak);
  CHECK(stage(caching).allocated_peak == stage(none).allocated_peak);
  CHECK(stage(caching).reserved_peak > stage(none).reserved_peak);
  constexpr double k_mib = 1 << 20;
  CHECK(std::fmod(stage(caching).reserved_peak, 2 * k_mib) == 0.0);
  const Under steps = under("caching: true, roundup_power2_divisions: 2");
  CHECK(stage(steps).reserved_peak > stage(caching).reserved_peak);
  // Pages of 20 MiB of tensors above 1 MiB, of 2 MiB of smaller ones.
  const Under pages = under("caching: true, expandable_segments: true");
  CHECK(std::fmod(stage(pages).reserved_peak, 2 * k_mib) == 0.0);
  CHECK(stage(pages).reserved_peak != stage(caching).reserved_peak);
}

TEST_CASE("what tensor-parallel reductions used comes free at the end of a pass") {
  const std::string allocator = "allocator: {value: {records_streams: ";
  const auto under = [&](const char* records, const char* tensor) {
    return Under({.kernels = ", pointwise: eager",
                  .keys = allocator + records + "}, source: assumed, ref: test}\n",
                  .overrides = {tensor}});
  };
  const Under once = under("false", "strategy.tp=2"), late = under("true", "strategy.tp=2");
  // The results of both projections back into the stream, bf16; backward the gradients of both of a layer's inputs.
  const double reduced = 2 * 2 * k_tokens * k_hidden;
  CHECK(once.block("block forward").recorded == 0.0);
  CHECK(late.block("block forward").recorded == reduced);
  CHECK(late.block("block backward").recorded == reduced);
  const auto pass = [](const Under& each) { return &testing::forward_pass(each.program(), 0); };
  CHECK(pass(late)->profile.delta == pass(once)->profile.delta);
  // The loss ends the forward pass and is its highest moment: all layers' reduced tensors lie beside it.
  CHECK(pass(late)->profile.peak - pass(once)->profile.peak == k_layers * reduced);
  CHECK(late.prediction().memory.allocated_peak > once.prediction().memory.allocated_peak);
  CHECK(late.prediction().time == once.prediction().time);
  CHECK(under("true", "strategy.tp=1").block("block forward").recorded == 0.0);
  // In a pipeline across nodes whose hosts each further rank of a collective holds up, blocks come free at once.
  const auto piped = [&](const char* peer, const char* nodes, const char* data, const char* kernel = "1 us") {
    const std::string fitted = std::string("fitted: {value: {host_per_kernel: ") + kernel +
                               ", host_per_micro_batch: 0 s, host_per_step: 0 s, ";
    return Under({.kernels = ", pointwise: eager",
                  .keys = allocator + "true}, source: assumed, ref: test}\n" + fitted + peer + "}}\n",
                  .overrides = {nodes, data, "strategy.tp=2", "strategy.pp=2"}})
        .block("block forward")
        .recorded;
  };
  CHECK(piped("launches_per_peer: 3", "cluster.nodes=2", "strategy.dp=4") == 0.0);
  CHECK(piped("launches_per_peer: 0", "cluster.nodes=2", "strategy.dp=4") == reduced);
  CHECK(piped("launches_per_peer: 3", "cluster.nodes=1", "strategy.dp=2") == reduced);
  // Neither ranks of other groups, of several nodes, nor kernels that take no time hold them up.
  CHECK(piped("launches_per_peer: 0, launches_per_peer_across: 3", "cluster.nodes=2", "strategy.dp=4") == reduced);
  CHECK(piped("launches_per_peer: 3, launches_per_peer_across: 0", "cluster.nodes=2", "strategy.dp=4") == 0.0);
  CHECK(piped("launches_per_peer: 3", "cluster.nodes=2", "strategy.dp=4", "0 s") == reduced);
}

TEST_CASE("per-op recomputation keeps products that nothing reads, unless a compiler drops them") {
  const auto peak = [](const char* kernels, const char* keys, const char* compiled) {
    const Under under(
        Case{.kernels = kernels,
             .keys = keys,
             .overrides = {"strategy.recompute=per-op", std::string("training.kernels.compiled=") + compiled}});
    return under.prediction().memory.allocated_peak;
  };
  const char* keeps = "recompute: {keeps_unread: true}\n";
  // Of four products the second and the fourth run again; of seven the last is kept, 2 bytes a token, hidden unit and
  // layer.
  const char* apart = ", separate_qkv: true, separate_gate: true";
  CHECK(peak(apart, keeps, "false") == peak(apart, "", "false") + k_layers * k_tokens * k_hidden * 2);
  CHECK(peak("", keeps, "false") == peak("", "", "false"));
  CHECK(peak(apart, keeps, "true") == peak(apart, "", "true"));
}

TEST_CASE("copies of gathered parameters: two bytes read and two written, of a shard and of all, in every gather") {
  const std::string sharding = "sharding: {value: {copies_gathered: ";
  const std::vector<std::string> sharded{"strategy.zero=3"};
  constexpr double k_ranks = 8;
  const Under reads({.keys = sharding + "false}}\n", .overrides = sharded});
  const Under copies({.keys = sharding + "true}}\n", .overrides = sharded});
  const double heads = k_heads * k_head_dim, kv = k_kv_heads * k_head_dim;
  const double layer = 2 * k_hidden + k_hidden * (heads + 2 * kv) + heads * k_hidden + 3 * k_hidden * k_ffn;
  for (const char* block : {"block forward", "block backward"})
    check(added(reads, copies, block), {.kernels = 2, .bytes = (2 + 2) * (layer + layer / k_ranks), .kept = 0});
  const predict::Breakdown &a = reads.prediction().breakdown, &b = copies.prediction().breakdown;
  CHECK(b.compute > a.compute);
  CHECK(b.optimizer == a.optimizer);
  CHECK(copies.prediction().memory.allocated_peak == reads.prediction().memory.allocated_peak);
}

TEST_CASE(
    "passes over whole gradients: a copy and a division, of four bytes read and written each, before a reduction") {
  const std::string sharding = "sharding: {value: {pads_gradients: COPIES, divides_gradients: DIVIDES}}\n";
  const auto under = [&](const char* copies, const char* divides, const char* zero) {
    return Under({.keys = with(with(sharding, "COPIES", copies), "DIVIDES", divides),
                  .overrides = {std::string("strategy.zero=") + zero}});
  };
  const Under neither = under("false", "false", "3"), divides = under("false", "true", "3"),
              both = under("true", "true", "3");
  const double heads = k_heads * k_head_dim, kv = k_kv_heads * k_head_dim;
  const double layer = 2 * k_hidden + k_hidden * (heads + 2 * kv) + heads * k_hidden + 3 * k_hidden * k_ffn;
  check(added(neither, divides, "block backward"), {.kernels = 1, .bytes = (4 + 4) * layer, .kept = 0});
  check(added(neither, both, "block backward"), {.kernels = 2, .bytes = 2 * (4 + 4) * layer, .kept = 0});
  check(added(neither, both, "block forward"), {.kernels = 0, .bytes = 0, .kept = 0});
  const predict::Prediction &a = neither.prediction(), &b = divides.prediction(), &c = both.prediction();
  CHECK(b.breakdown.compute > a.breakdown.compute);
  CHECK(c.breakdown.compute > b.breakdown.compute);
  CHECK(c.breakdown.optimizer == a.breakdown.optimizer);
  CHECK(b.memory.allocated_peak == a.memory.allocated_peak);
  CHECK(c.memory.allocated_peak > b.memory.allocated_peak);
  // Nothing is reduced to shards before the update.
  CHECK(under("true", "true", "1").prediction().time == under("false", "false", "1").prediction().time);
}

TEST_CASE("whole reduction: every gradient is summed on every rank under a sharded optimizer") {
  const std::string accumulation = "accumulation: {value: {fused: true, whole_reduce: ";
  const std::vector<std::string> sharded{"strategy.zero=1", "strategy.overlap.dp=false"};
  const Under shards({.keys = accumulation + "false}}\n", .overrides = sharded});
  const Under whole({.keys = accumulation + "true}}\n", .overrides = sharded});
  // Per layer: norms 2 h, queries, keys and values, projection, MLP; embedding, head and final norm.
  const double heads = k_heads * k_head_dim, kv = k_kv_heads * k_head_dim;
  const double layer = 2 * k_hidden + k_hidden * (heads + 2 * kv) + heads * k_hidden + 3 * k_hidden * k_ffn;
  const double parameters = k_layers * layer + 2 * k_vocab * k_hidden + k_hidden;
  constexpr auto k_data = static_cast<std::size_t>(program::Axis::data);
  // fp32 gradients one way, bf16 parameters back; 7 of 8 parts leave a rank each time, of an all-reduce twice.
  CHECK(shards.prediction().volumes[k_data].sent == Approx(7.0 / 8.0 * (4 + 2) * parameters).epsilon(1e-12));
  CHECK(whole.prediction().volumes[k_data].sent == Approx(7.0 / 8.0 * (2 * 4 + 2) * parameters).epsilon(1e-12));
  const predict::Breakdown &a = shards.prediction().breakdown, &b = whole.prediction().breakdown;
  CHECK(a.optimizer == b.optimizer);  // each rank updates its shard only
  CHECK(a.compute == b.compute);
  CHECK(b.exposed[k_data] > a.exposed[k_data]);
  CHECK(shards.prediction().memory.allocated_peak == whole.prediction().memory.allocated_peak);
}

TEST_CASE("synchronised passes: the device finds an empty queue at the start of each") {
  // One nanosecond of the host per kernel, which every kernel outlasts: only the first of an empty queue is waited for.
  const std::string host = "fitted: {value: {host_per_kernel: 1 ns, host_per_micro_batch: 0 s, host_per_step: 0 s}}\n";
  const Under free({.keys = host + "host: {value: {synchronises_passes: false}}\n"});
  const Under synchronised({.keys = host + "host: {value: {synchronises_passes: true}}\n"});
  // 24 sequences on 8 ranks: 3 micro-batches, a forward and a backward pass each; the step begins with an empty queue
  // either way.
  REQUIRE(free.job().strategy().micro_batches == 3);
  const core::Picoseconds waits = (2 * 3 - 1) * core::to_picoseconds(1e-9);
  CHECK(synchronised.prediction().time - free.prediction().time == waits);
  CHECK(synchronised.prediction().breakdown.host - free.prediction().breakdown.host == waits);
}

// A layer weighs 4 x 256 x 256 + 3 x 512 x 256 = 655,360, the head 1024 x 256 = 262,144, half of all 786,432: one layer
// does not pass it, both do, and the head is left.
TEST_CASE("stages: the framework cuts the pipeline where the experiment does not") {
  using Layers = std::vector<std::int64_t>;
  const std::vector<std::string> two{"strategy.pp=2"};
  CHECK(Under({.overrides = two}).job().strategy().stage_layers == Layers{1, 1});
  CHECK(Under({.keys = "stages: by-weight\n", .overrides = two}).job().strategy().stage_layers == Layers{2, 0});
  CHECK(Under({.keys = "stages: by-weight\n", .overrides = {"strategy.pp=2", "strategy.stages=even"}})
            .job()
            .strategy()
            .stage_layers == Layers{1, 1});
  CHECK(Under({.overrides = {"strategy.pp=2", "strategy.stages=by-weight"}}).job().strategy().stage_layers ==
        Layers{2, 0});
  CHECK_THROWS_AS(Under({.keys = "stages: by-wait\n", .overrides = two}), core::ConfigurationError);
  CHECK_THROWS_AS(Under({.overrides = {"strategy.pp=4", "strategy.stages=by-weight"}}), core::ConfigurationError);
}

// Tensor parallelism of 2: each of its collectives takes 1 + 2 x 3 kernels' worth of the host, where the two stages lie
// in different nodes. Nothing else changes: of the other steps each kernel is issued once.
TEST_CASE("launches per peer: hosts of a pipeline across nodes are slower with every rank") {
  const std::string fitted =
      "fitted: {value: {host_per_kernel: 1 us, host_per_micro_batch: 0 s, host_per_step: 0 s, launches_per_peer: 3}}\n";
  // Of a tensor-parallel transfer, in microseconds.
  const auto issued = [](const std::vector<std::string>& overrides, const std::string& keys) {
    constexpr core::Picoseconds k_microsecond = 1'000'000;
    std::vector<core::Picoseconds> seen;
    const Under under({.keys = keys, .overrides = overrides});
    predict::PriceTable& prices = under.prices();
    for (const char* name : {"block forward", "block backward"}) {
      const program::Block& block = under.block(name);
      for (const program::Step& step : block.steps) {
        CHECK(step.launches <= 1);
        const core::Picoseconds time = predict::issue_time(step, prices.of(block), prices.host_per_kernel());
        if (step.kind == program::StepKind::transfer && step.axis == program::Axis::tensor)
          seen.push_back(time / k_microsecond);
        else
          CHECK(time == step.launches * prices.host_per_kernel());
      }
    }
    REQUIRE(seen.size() == 4);  // sums after attention and MLP, and their counterparts
    for (const core::Picoseconds each : seen) CHECK(each == seen.front());
    return seen.front();
  };
  const std::vector<std::string> nodes{"cluster.nodes=2", "strategy.tp=2", "strategy.pp=2", "strategy.dp=4"};
  const std::vector<std::string> node{"strategy.tp=2", "strategy.pp=2", "strategy.dp=2"};
  const std::vector<std::string> stage{"cluster.nodes=2", "strategy.tp=2", "strategy.dp=8"};
  CHECK(issued(nodes, fitted) == 7);
  CHECK(issued(nodes, with(fitted, "peer: 3", "peer: 1.5")) == 4);  // 1 + 2 x 1.5
  // Groups of two ranks lie in one node, those of sixteen in two, of four nodes: 1 + 16 x 3 or 1 + 16 x 4.
  const std::vector<std::string> wide{"cluster.nodes=4", "model.heads=16", "model.kv_heads=16",
                                      "strategy.tp=16",  "strategy.pp=2",  "strategy.dp=1"};
  const std::string apart = with(fitted, "peer: 3", "peer: 3, launches_per_peer_across: 4");
  CHECK(issued(nodes, apart) == 7);
  CHECK(issued(wide, fitted) == 49);
  CHECK(issued(wide, apart) == 65);
  CHECK(issued(wide, with(apart, "peer: 3", "peer: 0")) == 65);
  CHECK(issued(nodes, "") == 0);
  CHECK(issued(node, fitted) == 1);
  CHECK(issued(stage, fitted) == 1);
  CHECK_THROWS_AS(issued(node, with(fitted, "peer: 3", "peer: 65")), core::ConfigurationError);
  // 2 ranks x 64 kernels of 10^6 s, 2^61 ps being what simulated time reaches.
  const std::string endless = with(with(fitted, "peer: 3", "peer: 64"), "kernel: 1 us", "kernel: 1000000 s");
  CHECK(
      test::contains(test::complaints([&] { issued(nodes, endless); }), "training.framework: issuing one collective"));
}

TEST_CASE("overlap of routed tokens: the framework says where the experiment does not") {
  const auto under = [](const char* by_framework, std::vector<std::string> overrides) {
    overrides.insert(overrides.end(),
                     {"model.moe={experts: 8, top_k: 2, ffn: 128, shared_experts: 1}", "strategy.ep=8"});
    return Under({.keys = std::string("overlap: {ep: ") + by_framework + "}\n", .overrides = overrides});
  };
  const auto time = [&](const char* by_framework, const std::vector<std::string>& overrides) {
    return under(by_framework, overrides).prediction().time;
  };
  const core::Picoseconds waited_for = time("false", {}), beside = time("false", {"strategy.overlap.ep=true"});
  CHECK(beside < waited_for);
  CHECK(time("true", {}) == beside);
  CHECK(time("true", {"strategy.overlap.ep=false"}) == waited_for);
  CHECK(under("true", {}).job().written_out(experiment::Naming::by_name).strategy.overlap.ep->kind ==
        experiment::ExpertOverlapKind::shared);
}

// Per parameter, in bytes, of Adam with an fp32 master copy and two fp32 moments.
TEST_CASE("optimizer step: what each of its passes moves") {
  const auto moved = [](const char* passes, const char* recipe) {
    const Under under(
        {.keys = std::string("optimizer: {value: {") + passes + "}}\n",
         .overrides = {std::string("training.precision=") + recipe, "training.kernels.attention=unfused"}});
    double bytes = 0.0;
    for (const program::BlockRun& run : testing::update_pass(under.program(), 0).runs)
      bytes += static_cast<double>(run.count) * of(*run.block).bytes;
    return bytes / static_cast<double>(models::count_parameters(under.job().transformer(), under.job().model()).total);
  };
  const char* bare = "gradient_reads: 0, gradient_copy: false, separate_parameter_copy: false";
  const char* passes = "gradient_reads: 1, gradient_copy: true, separate_parameter_copy: true";
  // Read the gradient 4, read and write master and moments 2 x 12, write the parameters 2.
  CHECK(moved(bare, "bf16") == 30.0);
  // The norm reads the gradients, 4, and the copy to the parameters the master, 4, once more.
  CHECK(moved(passes, "bf16") == 38.0);
  // The optimizer updates the parameters themselves: norm 4, gradient 4, 2 x (4 + 8).
  CHECK(moved(passes, "fp32") == 32.0);
  // Gradients of 2 bytes: copied to fp32 2 + 4, of which the update reads 4; joined before that 2 + 2; what the update
  // reads multiplied, 4 + 4.
  const std::string narrow = std::string(bare);
  CHECK(moved(narrow.c_str(), "bf16-bf16-gradients") == 28.0);
  const std::string copied = with(narrow, "copy: false", "copy: true");
  CHECK(moved(copied.c_str(), "bf16-bf16-gradients") == 28.0 + 2 + 6);
  CHECK(moved((copied + ", gradient_join: true").c_str(), "bf16-bf16-gradients") == 28.0 + 2 + 6 + 4);
  CHECK(moved((copied + ", gradient_scale: true").c_str(), "bf16-bf16-gradients") == 28.0 + 2 + 6 + 8);
  CHECK(moved((copied + ", gradient_join: true").c_str(), "bf16") == 30.0);  // nothing to widen, nothing to join
  // A kernel for every operation: each average scaled 4 + 4 and added to 4 + 4 + 4, the root 4 + 4, divided 4 + 4, its
  // sum with epsilon 4 + 4, the update 3 x 4 + 4; the parameters written 2.
  const std::string kernels = narrow + ", separate_kernels: true";
  CHECK(moved(kernels.c_str(), "bf16") == 2 * (8 + 12) + 3 * 8 + 16 + 2);
  CHECK(moved(kernels.c_str(), "fp32") == 80.0);
  CHECK(moved(kernels.c_str(), "bf16-bf16-gradients") == 82.0 - 2 * 2);  // two kernels read gradients of 2 bytes
}

TEST_CASE("optimizer step: what it holds of gradients") {
  const auto most = [](const char* passes, const char* recipe) {
    const Under under({.keys = std::string("optimizer: {value: {gradient_reads: 1, ") + passes + "}}\n",
                       .overrides = {std::string("training.precision=") + recipe, "strategy.zero=1"}});
    const program::Block& update = *testing::update_pass(under.program(), 0).runs.front().block;
    CHECK(update.profile.delta == 0.0);
    return update.profile.peak /
           std::ceil(
               static_cast<double>(models::count_parameters(under.job().transformer(), under.job().model()).total) / 8);
  };
  CHECK(most("gradient_copy: false", "bf16-bf16-gradients") == 0.0);
  CHECK(most("gradient_copy: true", "bf16") == 0.0);
  CHECK(most("gradient_copy: true", "bf16-bf16-gradients") == 4.0);                       // from the copy to the update
  CHECK(most("gradient_copy: true, gradient_join: true", "bf16-bf16-gradients") == 6.0);  // while it is widened
}

TEST_CASE("reductions of copies, and passes over all gradients that a rank holds") {
  const auto under = [](const std::string& keys, const char* precision) {
    return Under({.keys = keys,
                  .overrides = {std::string("training.precision=") + precision, "training.kernels.attention=unfused",
                                "strategy.zero=1", "strategy.overlap.dp=false"}});
  };
  const auto total = [](const Under& each) {
    return static_cast<double>(models::count_parameters(each.job().transformer(), each.job().model()).total);
  };
  const auto moved = [](const program::Pass& pass) {
    double bytes = 0.0;
    for (const program::BlockRun& run : pass.runs) bytes += static_cast<double>(run.count) * of(*run.block).bytes;
    return bytes;
  };
  const char* wide = "{recipe: bf16-bf16-gradients, reduce: fp32}";
  const std::string copies =
      "accumulation: {value: {copies_to_buckets: true, whole_reduce: true}}\noverlap: {bucket: {bytes: 3 MB}}\n";
  const Under in_place = under("", wide), copied = under(copies, wide), narrow = under(copies, "bf16-bf16-gradients");
  CHECK(moved(testing::finalize_pass(in_place.program(), 0)) == 0.0);
  // Joined 2 + 2, divided 2 + 2, widened 2 + 4; narrowed 4 + 2, copied back 2 + 2. In one format: no 2 + 4, no 4 + 2.
  CHECK(moved(testing::finalize_pass(copied.program(), 0)) == 24.0 * total(copied));
  CHECK(moved(testing::finalize_pass(narrow.program(), 0)) == 12.0 * total(narrow));
  // A bucket of 750,000 elements and its copy in fp32; of 1.5 million in bf16 alone.
  const auto most = [](const Under& each) {
    const program::MemoryProfile& profile = testing::finalize_pass(each.program(), 0).profile;
    CHECK(profile.delta == 0.0);
    return profile.peak;
  };
  CHECK(most(in_place) == 0.0);
  CHECK(most(copied) == (2 + 4) * std::min(750e3, total(copied)));
  CHECK(most(narrow) == 2 * std::min(1500e3, total(narrow)));

  // A rank updates an eighth. Of that alone: norm 2, copy 2 + 4, scaled 4 + 4, and the update. Of all gradients: scaled
  // 2 + 2, norm 2.
  const auto update = [&](const char* whole) {
    const std::string passes =
        "optimizer: {value: {gradient_reads: 1, gradient_copy: true, gradient_scale: true, "
        "separate_parameter_copy: true, whole_gradients: ";
    return moved(testing::update_pass(under(passes + whole + "}}\n", wide).program(), 0));
  };
  const double own = std::ceil(total(in_place) / 8);
  CHECK(update("false") == (2 + 6 + 8 + 28 + 6) * own);
  CHECK(update("true") == (4 + 2) * total(in_place) + (6 + 28 + 6) * own);
}

TEST_CASE("buckets that are allocated whole") {
  const std::string bucket = "overlap: {bucket: {bytes: 3 MB}";
  const auto under = [&](const char* held, std::vector<std::string> overrides) {
    return Under({.keys = bucket + "}\nbuffers: {buckets: " + held + "}\n", .overrides = std::move(overrides)});
  };
  const auto added = [&](const std::vector<std::string>& overrides) {
    const Under held = under("true", overrides), without = under("false", overrides);
    CHECK(held.prediction().time == without.prediction().time);
    return held.prediction().memory.allocated_peak - without.prediction().memory.allocated_peak;
  };
  CHECK(added({"strategy.zero=0"}) == 0.0);
  CHECK(added({"strategy.zero=1", "strategy.overlap.dp=false"}) == 3e6);
  CHECK(added({"strategy.zero=2", "strategy.overlap.dp=false"}) == 3e6);
  CHECK(added({"strategy.zero=2", "strategy.overlap.dp=true"}) == 6e6);  // one fills, one is sent
  CHECK(added({"strategy.zero=3", "strategy.overlap.dp=true"}) == 3e6);
  // An update finds neither buckets nor other ranks' gradients.
  const auto update = [&](const char* zero) {
    const Under held = under("true", {zero, "strategy.overlap.dp=false"});
    const program::Block& block = *testing::update_pass(held.program(), 0).runs.front().block;
    CHECK(block.profile.delta == 0.0);
    const auto total =
        static_cast<double>(models::count_parameters(held.job().transformer(), held.job().model()).total);
    return std::pair(block.memory.empty() ? 0.0 : -block.memory.front().bytes, 4 * (total - std::ceil(total / 8)));
  };
  CHECK(update("strategy.zero=1").first == 3e6 + update("strategy.zero=1").second);
  CHECK(update("strategy.zero=2").first == 3e6);
  CHECK(update("strategy.zero=3").first == 0.0);
  // Stages of a pipeline reduce when all backward passes are done, and hold them then.
  const Under staged = under("true", {"strategy.pp=2", "strategy.zero=1"});
  CHECK(staged.block("settle").profile.peak == 3e6);
  CHECK(staged.block("settle").profile.delta == 0.0);
}

TEST_CASE("whole reduction of gradients that are kept in shards") {
  const auto sent = [](const char* whole, const char* zero) {
    const Under under({.keys = std::string("accumulation: {value: {fused: true, whole_reduce: ") + whole + "}}\n",
                       .overrides = {zero, "strategy.overlap.dp=false", "training.global_batch=8"}});
    const auto total =
        static_cast<double>(models::count_parameters(under.job().transformer(), under.job().model()).total);
    return under.prediction().volumes[static_cast<std::size_t>(program::Axis::data)].sent / (7.0 / 8.0 * total);
  };
  // fp32 gradients, bf16 parameters; of one micro-batch.
  CHECK(sent("false", "strategy.zero=2") == Approx(4 + 2));
  CHECK(sent("true", "strategy.zero=2") == Approx(2 * 4 + 2));
  CHECK(sent("true", "strategy.zero=3") == Approx(sent("false", "strategy.zero=3")));
}

TEST_CASE("overlap where parameters are shared has defaults of its own") {
  const auto overlaps = [](const char* keys, const char* zero) {
    const Under under(
        {.keys = std::string("overlap: {dp_reduce: false, dp_gather: false") + keys + "}\n", .overrides = {zero}});
    return std::pair(under.job().strategy().overlap_gradient_reduce, under.job().strategy().overlap_parameter_gather);
  };
  using Both = std::pair<bool, bool>;
  CHECK(overlaps(", dp_reduce_zero3: true", "strategy.zero=2") == Both{false, false});
  CHECK(overlaps(", dp_reduce_zero3: true", "strategy.zero=3") == Both{true, false});
  CHECK(overlaps(", dp_reduce_sharded: true", "strategy.zero=3") == Both{true, false});
  CHECK(overlaps(", dp_reduce_sharded: true, dp_reduce_zero3: false", "strategy.zero=3") == Both{false, false});
}
