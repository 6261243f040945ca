// Switches of frameworks whose ranks share sequences: what they exchange, keep and wait for, to the byte and the
// picosecond.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/framework_step.h"
#include "support/transfers.h"

using namespace cairn;

namespace {

constexpr double k_ring_tokens = 512, k_ring_ranks = 4, k_ring_heads = 4, k_ring_kv_heads = 2, k_ring_head_dim = 64;

const std::string k_ring_experiment = R"(
model: {kind: transformer, layers: 2, hidden: 256, heads: 4, kv_heads: 2, ffn: 512, gated_mlp: true, vocab: 1024,
        tied_embeddings: false, norm: rmsnorm, position: rope, bias: false}
cluster: dgx-a100
training: {seq_len: 512, global_batch: 2, framework: FRAMEWORK, kernels: {attention: flash2}}
strategy: {tp: 1, cp: 4, zero: 0}
)";

class RingStep : public cairn::testing::FrameworkStep {
 public:
  explicit RingStep(const std::string& kernels, const std::string& keys = "",
                    const std::vector<std::string>& overrides = {}, const std::string& separate_qkv = "true")
      : FrameworkStep(k_ring_experiment, "separate_qkv: " + separate_qkv + kernels, keys, overrides) {}
};

double ring_operator_bytes(const program::Block& block, const std::string& name) {
  for (const program::Work& work : block.works)
    if (const auto* shard = std::get_if<ir::Shard>(&work); shard != nullptr && shard->op->name == name)
      return ir::bytes(*shard);
  FAIL("no operator " << name);
  return 0.0;
}

double ring_kept(const program::Block& block) {
  double sum = 0.0;
  for (const program::MemoryEvent& event : block.memory)
    if (event.category == program::Category::activations) sum += event.bytes;
  return sum;
}

constexpr auto k_ring_gather = program::Collective::all_gather;
constexpr auto k_ring_send = program::Collective::send;
const std::string k_ring_gathered = "attention_sharing: gathered-zigzag\n";

}  // namespace

TEST_CASE("a gathered ring: keys and values in one call each way, four hops of their gradients") {
  const RingStep narrow("", k_ring_gathered), wide("", k_ring_gathered + "attention_fp32_gradients: true\n");
  const double all = 2 * k_ring_kv_heads * k_ring_head_dim * k_ring_tokens * 2;  // bytes of K and V of the sequence
  const auto expected = [&](double gradient_bytes) {
    testing::Sent sent{{k_ring_gather, all}};
    for (int hop = 0; hop < 4; ++hop) sent.emplace_back(k_ring_send, all / k_ring_ranks * gradient_bytes / 2);
    return sent;
  };
  CHECK(testing::transfers(narrow.block("block forward"), program::Axis::context) ==
        testing::Sent{{k_ring_gather, all}});
  CHECK(testing::transfers(narrow.block("block backward"), program::Axis::context) == expected(2));
  CHECK(testing::transfers(wide.block("block backward"), program::Axis::context) == expected(4));
}

TEST_CASE("repeated keys: attention exchanges and keeps a copy for each query head") {
  const RingStep shared(", repeats_keys: false", k_ring_gathered), repeated(", repeats_keys: true", k_ring_gathered);
  const double all = 2 * k_ring_heads * k_ring_head_dim * k_ring_tokens * 2;
  CHECK(testing::transfers(repeated.block("block forward"), program::Axis::context) ==
        testing::Sent{{k_ring_gather, all}});
  const testing::Sent backward = testing::transfers(repeated.block("block backward"), program::Axis::context);
  REQUIRE(backward.size() == 5);
  CHECK(backward.front() == std::pair(k_ring_gather, all));
  CHECK(backward.back() == std::pair(k_ring_send, all / k_ring_ranks));
  // Copies of a rank's own tokens: reads one head, writes two; their gradients the other way.
  const double own = k_ring_head_dim * k_ring_tokens / k_ring_ranks * 2;
  for (const std::string name : {"k_repeat", "v_repeat"}) {
    CHECK(ring_operator_bytes(repeated.block("block forward"), name) == (k_ring_kv_heads + k_ring_heads) * own);
    CHECK(ring_operator_bytes(repeated.block("block backward"), name + ".backward") ==
          (k_ring_kv_heads + k_ring_heads) * own);
  }
  // Kept in place of what they were copied from.
  const double more = 2 * (k_ring_heads - k_ring_kv_heads) * own;
  CHECK(ring_kept(repeated.block("block forward")) - ring_kept(shared.block("block forward")) == more);
  CHECK(ring_kept(repeated.block("block backward")) - ring_kept(shared.block("block backward")) == -more);
  CHECK(repeated.prediction().model_flops == shared.prediction().model_flops);
}

TEST_CASE("repeated keys: only of products of their own, and of fewer heads than queries have") {
  const auto time = [](const std::string& kernels, const std::vector<std::string>& overrides,
                       const std::string& separate_qkv = "true") {
    return RingStep(kernels, k_ring_gathered, overrides, separate_qkv).prediction().time;
  };
  const std::vector<std::string> as_many{"model.kv_heads=4"};
  CHECK(time(", repeats_keys: true", as_many) == time(", repeats_keys: false", as_many));
  CHECK(time(", repeats_keys: true", {}, "false") == time(", repeats_keys: false", {}, "false"));
  CHECK(time(", repeats_keys: true", {}) > time(", repeats_keys: false", {}));
}

// Split heads: 8 query heads to 2 key heads on 4 ranks are 2 of a rank, copies of one key head each.
TEST_CASE("repeated keys: heads are split as if there were as many of both") {
  const std::vector<std::string> split{"strategy.attention=ulysses", "model.heads=8", "model.head_dim=32"};
  const RingStep repeated(", repeats_keys: true", "", split);
  // Q, K and V, then O: of each 8 heads of 32.
  const double whole = 8 * 32 * k_ring_tokens * 2;
  double moved = 0.0;
  for (const auto& [collective, bytes] : testing::transfers(repeated.block("block forward"), program::Axis::context)) {
    CHECK(collective == program::Collective::all_to_all);
    moved += bytes;
  }
  CHECK(moved == 4 * whole);
}

TEST_CASE("compiled waits: no exchange of attention runs beside computation") {
  const std::string waits = "attention_waits_compiled: true\n";
  for (const std::string sharing : {"gathered-zigzag", "zigzag", "striped"}) {
    INFO(sharing);
    const std::string by = "attention_sharing: " + sharing + "\n";
    const RingStep beside(", compiled: true", by), behind(", compiled: true", by + waits);
    for (const char* name : {"block forward", "block backward"}) {
      const program::Block &free = beside.block(name), &waiting = behind.block(name);
      CHECK(testing::transfers(waiting, program::Axis::context) == testing::transfers(free, program::Axis::context));
      // Every exchange is over before the next kernel begins: that kernel depends on it.
      for (std::size_t at = 0; at < waiting.steps.size(); ++at) {
        if (waiting.steps[at].kind != program::StepKind::transfer || waiting.steps[at].axis != program::Axis::context)
          continue;
        const auto next =
            std::find_if(waiting.steps.begin() + static_cast<std::ptrdiff_t>(at), waiting.steps.end(),
                         [](const program::Step& step) {
                           return step.kind == program::StepKind::compute && step.stream == program::Stream::compute;
                         });
        REQUIRE(next != waiting.steps.end());
        // Exchanges run one after the other: a later one stands for those before.
        const auto first = waiting.dependencies.begin() + next->first_dependency;
        CHECK(std::any_of(first, first + next->dependencies, [&](program::Dependency dependency) {
          return dependency >= static_cast<program::Dependency>(at) &&
                 waiting.steps[static_cast<std::size_t>(dependency)].axis == program::Axis::context &&
                 waiting.steps[static_cast<std::size_t>(dependency)].kind == program::StepKind::transfer;
        }));
      }
    }
    constexpr auto k_context = static_cast<std::size_t>(program::Axis::context);
    const predict::Breakdown &a = beside.prediction().breakdown, &b = behind.prediction().breakdown;
    CHECK(b.exposed[k_context] > a.exposed[k_context]);
    CHECK(behind.prediction().time > beside.prediction().time);
    // An eager framework waits where it reads.
    CHECK(RingStep(", compiled: false", by + waits).prediction().time ==
          RingStep(", compiled: false", by).prediction().time);
  }
}
