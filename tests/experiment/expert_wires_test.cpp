// What precision recipes may change of a step with experts: the bytes of what is exchanged, and nothing else.
//
// The law. Let a plan in bf16 exchange the tensors T_1 ... T_n with n_i elements, in this order, by these collectives
// over these groups; and so the routing weights. Under any recipe the same plan exchanges the same n tensors with the
// same elements by the same messages, and
//   bytes of T_i = n_i x bits of its format, scales included, / 8
// where the format is that of ep_dispatch_wire on the way to experts and of ep_combine_wire on the way from them, in
// either pass; that between operators where parts of a sum combine; and fp32 for routing weights.
// Likewise the operators that run again are the same, but for conversions, which go with the operator they convert.
#include <map>
#include <set>

#include <fmt/format.h>

#include "cairn/core/random.h"
#include "cairn/experiment/job.h"
#include "cairn/software/files.h"
#include "catch.h"
#include "experiment/first_error.h"
#include "support/shipped.h"

namespace {

using namespace cairn;
using cairn::testing::first_error;
using cairn::testing::shipped;

constexpr std::int64_t k_row_tokens = 256, k_row_width = 1024;

struct Exchange {
  program::Collective collective;
  program::Group group;
  double across;
  double bytes;
  bool sums = false;  // parts of one result
  bool from_experts = false;
  bool backward = false;
  bool of_stream = false;  // the residual stream, for experts whose results stay
};

bool same_messages(const Exchange& a, const Exchange& b) {
  return a.collective == b.collective && a.group.axis == b.group.axis && a.group.size == b.group.size &&
         a.group.stride == b.group.stride && a.across == b.across && a.from_experts == b.from_experts &&
         a.backward == b.backward;
}

struct Traced {
  std::vector<Exchange> exchanges;
  std::vector<Exchange> weights;     // of routing: two numbers of a token beside its row
  std::map<std::string, int> again;  // operators that are recomputed: how many times
};

// Whether what an operator makes leaves the experts. Sorted rows, and gradients of results that were put back in order,
// are still to be gathered for them.
bool leaves_experts(const ir::Operator& op) {
  const char* arrives = op.phase == ir::Phase::forward ? "experts.sort" : "experts.restore";
  return op.name.starts_with("experts.") && !op.name.starts_with(arrives);
}

// A transfer is issued behind the operator that makes what it moves.
void trace(const program::Block& block, Traced& traced) {
  const ir::Shard* before = nullptr;
  for (const program::Step& step : block.steps) {
    if (step.work < 0) continue;
    const program::Work& work = block.works[static_cast<std::size_t>(step.work)];
    if (const auto* shard = std::get_if<ir::Shard>(&work)) {
      before = shard;
      if (step.term == program::Term::recompute && shard->op->converts < 0) ++traced.again[shard->op->name];
    }
    const auto* transfer = std::get_if<program::Transfer>(&work);
    if (transfer == nullptr) continue;
    if (transfer->group.axis != program::Axis::expert && transfer->group.axis != program::Axis::expert_tensor) continue;
    if (transfer->group.size == 1) continue;
    REQUIRE(before != nullptr);
    // Of a rank's part of a micro-batch: at the least 4 bits of a row's elements, at the most two fp32 weights.
    constexpr double k_least = static_cast<double>(k_row_tokens / 2 * k_row_width) / 2;
    std::vector<Exchange>& list = transfer->bytes < k_least ? traced.weights : traced.exchanges;
    list.push_back({.collective = transfer->collective,
                    .group = transfer->group,
                    .across = transfer->across,
                    .bytes = transfer->bytes,
                    .sums = transfer->collective == program::Collective::reduce_scatter ||
                            transfer->collective == program::Collective::all_reduce,
                    .from_experts = leaves_experts(*before->op),
                    .backward = before->op->phase == ir::Phase::backward,
                    .of_stream = before->op->name.starts_with("context")});
  }
}

Traced traced(const experiment::Job& job) {
  Traced result;
  for (const program::Stage& stage : job.program().kinds)
    for (const program::Pass* pass : stage.passes)
      for (const program::BlockRun& run : pass->runs) trace(*run.block, result);
  return result;
}

experiment::LoadedExperiment mixture(std::vector<std::string> overrides) {
  const std::string text = fmt::format(R"(
version: 1
model: {{kind: transformer, layers: 4, hidden: {}, heads: 8, ffn: 2048, gated_mlp: true, vocab: 4096,
        tied_embeddings: false, position: rope, bias: false, norm: rmsnorm,
        moe: {{experts: 16, top_k: 2, ffn: 512}}}}
cluster: {{file: dgx-b200, nodes: 2}}
training: {{seq_len: {}, global_batch: 64}}
strategy: {{micro_batch: 2}}
)",
                                       k_row_width, k_row_tokens);
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

std::string pick(core::Random& random, const std::vector<std::string>& from) { return from[random.below(from.size())]; }

// Everything of a mixture and its plan that decides what is exchanged and what runs again.
std::vector<std::string> random_plan(core::Random& random) {
  const std::string etp = pick(random, {"1", "2"});
  std::vector<std::string> operators;
  for (const char* name : {"norm1", "norm2", "qkv", "attention", "proj", "router", "permute", "experts.fc1",
                           "experts.activation", "experts.fc2", "combine", "experts"})
    if (random.below(3) == 0) operators.emplace_back(name);
  if (operators.empty()) operators.emplace_back("experts.activation");
  std::vector<std::string> result{
      "model.moe.dispatcher=" + pick(random, {"alltoall", "allgather", "smile", "exflow"}),
      "model.moe.shared_experts=" + pick(random, {"0", "1"}),
      "model.gated_mlp=" + pick(random, {"true", "false"}),
      "strategy.tp=" + pick(random, {"1", "2"}),
      "strategy.sequence_parallel=true",
      "strategy.pp=" + pick(random, {"1", "2"}),
      "strategy.ep=" + pick(random, {"2", "4"}),
      "strategy.etp=" + etp,
      "strategy.zero=" + pick(random, {"0", "1", "3"}),
      "strategy.overlap.ep={kind: " + pick(random, {"none", "shared", "two-batch"}) + "}",
      "strategy.overlap.tp=" +
          pick(random, {"true", "false", "{kind: chunked, chunks: 2}", "{kind: t3}", "{kind: iso}"}),
      "strategy.overlap.dp=" + pick(random, {"true", "false"}),
      "strategy.recompute=" + pick(random, {"none", "attention", "per-op", "full",
                                            fmt::format("{{operators: [{}]}}", fmt::join(operators, ", "))})};
  result.push_back(random.below(2) == 0 ? "model.moe.capacity_factor=" + pick(random, {"1.0", "1.25"})
                                        : "model.moe.imbalance=" + pick(random, {"1.0", "1.5"}));
  // Routing weights stay with the tokens, or travel with the rows.
  result.push_back("training.framework=" + pick(random, {"megatron", "megatron@2025"}));
  return result;
}

// The recipe as shipped, or with wires of its own.
std::string random_recipe(core::Random& random, const std::string& name, const software::PrecisionRecipe& recipe) {
  if (!recipe.narrow || random.below(2) == 0) return "training.precision=" + name;
  const auto wide = std::string(numerics::name(software::activation_format(recipe)));
  const auto wire = [&] {
    return fmt::format("{{forward: {}, backward: {}}}", pick(random, {wide, std::string(numerics::name(recipe.gemm))}),
                       pick(random, {wide, std::string(numerics::name(recipe.narrow->gradients))}));
  };
  const std::string out = wire();
  return fmt::format("training.precision={{recipe: {}, ep_dispatch_wire: {}, ep_combine_wire: {}}}", name, out, wire());
}

numerics::Format format_of(const Exchange& exchange, const software::PrecisionRecipe& recipe) {
  const numerics::Format wide = software::activation_format(recipe);
  if (exchange.sums || exchange.of_stream) return wide;
  const auto& wire = exchange.from_experts ? recipe.ep_combine_wire : recipe.ep_dispatch_wire;
  if (!wire) return wide;
  return exchange.backward ? wire->backward : wire->forward;
}

void check_law(const experiment::Job& job, const Traced& bf16) {
  const Traced other = traced(job);
  CHECK(other.again == bf16.again);
  const auto compare = [](const std::vector<Exchange>& ones, const std::vector<Exchange>& others, auto bytes) {
    REQUIRE(ones.size() == others.size());
    for (std::size_t i = 0; i < ones.size(); ++i) {
      INFO("exchange " << i << " " << collective::name(ones[i].collective) << " of " << ones[i].bytes);
      CHECK(same_messages(ones[i], others[i]));
      CHECK(others[i].bytes == bytes(ones[i], others[i]));
    }
  };
  compare(bf16.weights, other.weights, [](const Exchange& one, const Exchange&) { return one.bytes; });
  compare(bf16.exchanges, other.exchanges, [&](const Exchange& one, const Exchange& mine) {
    const double elements = one.bytes / 2.0;
    return elements * numerics::bits_per_element(format_of(mine, job.recipe())) / 8.0;
  });
}

}  // namespace

TEST_CASE("Recipes change the bytes of what experts exchange, and nothing else", "[property]") {
  const config::Loader files = shipped();
  const std::vector<std::string> recipes = files.names("precision");
  REQUIRE(recipes.size() >= 10);
  int plans = 0;
  std::set<std::string> seen;  // settings that at least one accepted plan had
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    core::Random random(seed);
    std::vector<std::string> settings = random_plan(random);
    if (settings.front() == "model.moe.dispatcher=alltoall" && seed % 2 == 0)
      settings.front() = "model.moe.dispatcher=deepep";
    INFO(fmt::format("{}", fmt::join(settings, "\n")));
    std::vector<std::string> base = settings;
    base.emplace_back("training.precision=bf16");
    std::unique_ptr<experiment::Job> wide;
    try {
      wide = std::make_unique<experiment::Job>(mixture(base), files);
    } catch (const core::ConfigurationError&) {
      continue;  // not every mixture can be laid out in every way
    }
    ++plans;
    seen.insert(settings.begin(), settings.end());
    const Traced bf16 = traced(*wide);
    REQUIRE_FALSE(bf16.exchanges.empty());
    const std::string name = pick(random, recipes);
    const software::PrecisionRecipe recipe = software::load_precision(files, name);
    std::vector<std::string> narrow = settings;
    narrow.push_back(random_recipe(random, name, recipe));
    INFO(narrow.back());
    check_law(experiment::Job(mixture(narrow), files), bf16);
  }
  CHECK(plans >= 30);
  for (const char* setting :
       {"model.moe.dispatcher=alltoall", "model.moe.dispatcher=allgather", "model.moe.dispatcher=smile",
        "model.moe.dispatcher=exflow", "model.moe.dispatcher=deepep", "strategy.etp=1", "strategy.etp=2",
        "strategy.overlap.ep={kind: two-batch}", "strategy.recompute=full", "strategy.recompute=per-op",
        "model.moe.capacity_factor=1.25", "training.framework=megatron", "training.framework=megatron@2025"}) {
    INFO(setting);
    CHECK(seen.count(setting) == 1);
  }
}

TEST_CASE("Every shipped recipe says what routed tokens travel in") {
  const config::Loader files = shipped();
  for (const std::string& name : files.names("precision")) {
    INFO(name);
    const software::PrecisionRecipe recipe = software::load_precision(files, name);
    CHECK(recipe.ep_dispatch_wire.has_value());
    CHECK(recipe.ep_combine_wire.has_value());
    std::vector<std::string> settings{"strategy={ep: 4, etp: 2, dp: 16, micro_batch: 2}", "training.precision=bf16"};
    const Traced bf16 = traced(experiment::Job(mixture(settings), files));
    settings.back() = "training.precision=" + name;
    check_law(experiment::Job(mixture(settings), files), bf16);
  }
  // DeepSeek-V3, section 3.3.3: to experts in FP8, from them in bf16, forward and backward.
  const software::PrecisionRecipe blockwise = software::load_precision(files, "fp8-blockwise");
  CHECK(blockwise.ep_dispatch_wire->forward == numerics::Format::fp8_block);
  CHECK(blockwise.ep_dispatch_wire->backward == numerics::Format::fp8_block);
  CHECK(blockwise.ep_combine_wire->forward == numerics::Format::bf16);
  CHECK(blockwise.ep_combine_wire->backward == numerics::Format::bf16);
}

TEST_CASE("Rows that stay on their rank are not cast for a journey") {
  const config::Loader files = shipped();
  const auto operators = [&](const std::string& precision) {
    const experiment::Job job(mixture({"strategy={ep: 1, dp: 16, micro_batch: 2}", "training.precision=" + precision}),
                              files);
    return job.model().classes[1].graph.operators().size();
  };
  CHECK(operators("fp8-blockwise") == operators("{recipe: fp8-blockwise, ep_dispatch_wire: bf16}"));
}

TEST_CASE("Rows that are sorted keep the format in which they arrived, and results the one they were made in") {
  const config::Loader files = shipped();
  const auto block = [&](const char* degrees, const char* precision) {
    return experiment::Job(mixture({fmt::format("strategy={{{}, dp: 16, micro_batch: 2}}", degrees),
                                    fmt::format("training.precision={}", precision)}),
                           files)
        .model()
        .classes[1]
        .graph;
  };
  // Of 16 experts a rank has one, or 4: then the two and their derivatives are all that is added, no cast among them.
  for (const char* precision : {"bf16", "fp8-blockwise"})
    for (const char* several : {"ep: 4", "ep: 4, etp: 2"}) {
      INFO(precision << " " << several);
      CHECK(block(several, precision).operators().size() == block("ep: 16", precision).operators().size() + 4);
    }
  const ir::Graph sorted = block("ep: 4", "fp8-blockwise");
  std::map<std::string, std::set<numerics::Format>> formats;
  for (const ir::Operator& op : sorted.operators())
    if (op.moves_rows)
      for (const ir::Access& access : op.accesses) formats[op.name].insert(sorted.tensor(access.tensor).format);
  using Formats = std::set<numerics::Format>;
  const std::map<std::string, Formats> expected{{"experts.sort", Formats{numerics::Format::fp8_block}},
                                                {"experts.restore", Formats{numerics::Format::bf16}},
                                                {"experts.restore.backward", Formats{numerics::Format::fp8_block}},
                                                {"experts.sort.backward", Formats{numerics::Format::bf16}}};
  CHECK((formats == expected));
}

TEST_CASE("Wires that no product reads are refused") {
  const auto message = [](const std::string& precision) {
    return first_error(mixture({"strategy={ep: 4, dp: 16}", "training.precision=" + precision})).message;
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(message("{recipe: fp8-delayed, ep_dispatch_wire: fp8_e4m3}"), Contains("neither the activations' format"));
  CHECK_THAT(message("{recipe: bf16, ep_combine_wire: fp8_e4m3}"), Contains("neither the activations' format"));
  CHECK_THAT(
      message("{recipe: fp8-blockwise, narrow: {weights: fp8_block_2d, gradients: fp8_block, products: [forward], "
              "scaling: block, norm: wide}}"),
      Contains("where all products are narrow"));
}

TEST_CASE("Operators to recompute are named whole, or up to a dot, whatever the recipe") {
  const auto refused = [](const std::string& operators, const std::string& precision) {
    return first_error(mixture(
        {"strategy={ep: 4, dp: 16, recompute: {operators: [" + operators + "]}}", "training.precision=" + precision}));
  };
  for (const char* precision : {"bf16", "fp8-blockwise"}) {
    const core::Diagnostic typo = refused("experts.activatoin", precision);
    CHECK(typo.message == "the layers have no operator 'experts.activatoin'");
    CHECK(typo.hint == "did you mean 'experts.activation'?");
    CHECK(refused("experts.foo", precision).message == "the layers have no operator 'experts.foo'");
    // Casts go with what they cast.
    CHECK(refused("experts.fc2.input_cast", precision).message ==
          "the layers have no operator 'experts.fc2.input_cast'");
  }
  const auto again = [](const std::string& precision) {
    return traced(experiment::Job(mixture({"strategy={ep: 4, dp: 16, recompute: {operators: [experts.activation]}}",
                                           "training.precision=" + precision}),
                                  shipped()))
        .again;
  };
  CHECK(again("bf16").size() == 1);
  CHECK(again("bf16").count("experts.activation") == 1);
  for (const char* precision : {"fp8-delayed", "fp8-current", "fp8-blockwise", "mxfp8", "nvfp4"})
    CHECK(again(precision) == again("bf16"));
}
