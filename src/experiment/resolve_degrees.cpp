#include <algorithm>

#include <fmt/format.h>

#include "cairn/plan/lowering.h"
#include "resolving.h"

namespace cairn::experiment {
namespace {

program::AxisOrder axes(Resolving& r, const char* key, const std::vector<std::string>& names) {
  program::AxisOrder result;
  for (const std::string& name : names)
    for (std::size_t i = 0; i < program::k_axes; ++i) {
      const auto axis = static_cast<program::Axis>(i);
      if (program::label(axis) != name) continue;
      if (std::find(result.begin(), result.end(), axis) != result.end())
        r.error(fmt::format("strategy.{}", key), fmt::format("{} appears twice", name), "name each axis once");
      result.push_back(axis);
    }
  return result;
}

pipeline::Settings schedule_options(const ScheduleChoice& choice) {
  pipeline::Settings options;
  const auto set = [](std::int32_t& option, const std::optional<std::int64_t>& value) {
    if (value) option = static_cast<std::int32_t>(*value);  // describe() bounds them
  };
  set(options.waves, choice.waves);
  set(options.pipelines, choice.pipelines);
  set(options.group, choice.group);
  if (choice.memory_limit) options.memory_limit = static_cast<std::int32_t>(*choice.memory_limit);
  options.weight_gradients = choice.weight_gradients.value_or(options.weight_gradients);
  options.reorder = choice.reorder.value_or(options.reorder);
  options.continuation = choice.continuation.value_or(options.continuation);
  options.vocabulary = choice.vocabulary.value_or(options.vocabulary);
  return options;
}

// The product of all degrees is the number of accelerators.
void spread_over_machine(Resolving& r) {
  const StrategyChoice& choice = r.settings.strategy;
  const std::int64_t gpus = r.parts.machine.network.gpus();
  const std::int64_t inner = choice.tp * choice.cp * choice.pp;
  const std::string cp = choice.cp > 1 ? fmt::format(" cp {} x", choice.cp) : "";
  if (choice.dp) {
    r.plan.strategy.data = *choice.dp;
    if (inner * *choice.dp != gpus)
      r.error("strategy.dp",
              fmt::format("tp {} x{} pp {} x dp {} = {} ranks, but the cluster has {} accelerators", choice.tp, cp,
                          choice.pp, *choice.dp, inner * *choice.dp, gpus),
              gpus % inner == 0 ? fmt::format("use dp: {}, or leave dp out", gpus / inner)
                                : fmt::format("choose degrees whose product is {}", gpus));
  } else if (gpus % inner != 0) {
    r.error("strategy.tp",
            fmt::format("tp {} x{} pp {} = {} does not divide the cluster's {} accelerators", choice.tp, cp, choice.pp,
                        inner, gpus),
            fmt::format("choose degrees whose product divides {}", gpus));
  } else {
    r.plan.strategy.data = gpus / inner;
  }
}

// Ways, heads, key-value heads and groups stay whole on a rank.
void check_tensor_split(Resolving& r) {
  const std::int64_t tp = r.settings.strategy.tp;
  const models::TransformerConfig& model = r.plan.model;
  if (const std::int64_t ways = model.ways; ways > 1 && ways % tp != 0)
    r.error("strategy.tp", fmt::format("tp {} does not divide the model's {} ways", tp, ways),
            fmt::format("choose a divisor of {}: a way stays on one rank", ways));
  else if (const std::int64_t heads = model.heads; heads % tp != 0)
    r.error("strategy.tp", fmt::format("tp {} does not divide the model's {} attention heads", tp, heads),
            fmt::format("choose a divisor of {}", heads));
  else if (const std::int64_t kv = model.kv_head_count(); kv % tp != 0)
    r.error("strategy.tp", fmt::format("tp {} does not divide the model's {} key-value heads", tp, kv),
            fmt::format("choose a divisor of {}", kv));
  else if (const auto& mixer = model.mamba2; mixer && mixer->groups % tp != 0)
    r.error("strategy.tp",
            fmt::format("tp {} does not divide the {} groups of the state-space mixer", tp, mixer->groups),
            fmt::format("choose a divisor of {}: a group stays on one rank", mixer->groups));
  if (const std::int64_t sequence = r.settings.training.seq_len;
      r.settings.strategy.sequence_parallel && sequence % tp != 0)
    r.error("strategy.sequence_parallel", fmt::format("tp {} does not divide the sequence length {}", tp, sequence),
            "choose a divisor, or turn sequence_parallel off");
  if (r.plan.strategy.vocab_parallel && model.padded_vocab(tp) % tp != 0)
    r.error("strategy.tp", fmt::format("tp {} does not divide the vocabulary of {}", tp, model.vocab),
            "let it be padded as frameworks do, model.vocab_multiple: 128, or set strategy.vocab_parallel: false");
}

}  // namespace

void resolve_degrees(Resolving& r) {
  const StrategyChoice& choice = r.settings.strategy;
  plan::Strategy& strategy = r.plan.strategy;
  strategy.tensor = choice.tp;
  strategy.context = choice.cp;
  strategy.pipeline = choice.pp;
  strategy.micro_batch = choice.micro_batch;
  strategy.chunks = choice.schedule.chunks;
  strategy.schedule = choice.schedule.kind;
  strategy.schedule_options = schedule_options(choice.schedule);
  strategy.sequence_parallel = choice.sequence_parallel;
  strategy.vocab_parallel = choice.vocab_parallel.value_or(choice.tp > 1);
  strategy.order = axes(r, "order", choice.order);
  strategy.expert_order = axes(r, "expert_order", choice.expert_order);
  spread_over_machine(r);
  check_tensor_split(r);
}

void resolve_experts(Resolving& r) {
  const StrategyChoice& choice = r.settings.strategy;
  plan::Strategy& strategy = r.plan.strategy;
  strategy.expert = choice.ep;
  strategy.expert_tensor = choice.etp;
  const auto& mixture = r.plan.model.moe;
  if (!mixture) {
    if (choice.ep * choice.etp > 1)
      r.error(choice.ep > 1 ? "strategy.ep" : "strategy.etp", "the model has no experts", "set ep and etp to 1");
    return;
  }
  const std::int64_t ranks = strategy.tensor * strategy.context * strategy.data;
  if (ranks % (choice.ep * choice.etp) != 0)
    r.error("strategy.ep",
            fmt::format("etp {} x ep {} does not divide tp x cp x dp = {}", choice.etp, choice.ep, ranks),
            fmt::format("choose divisors of {}", ranks));
  if (mixture->experts % choice.ep != 0)
    r.error("strategy.ep", fmt::format("ep {} does not divide the model's {} experts", choice.ep, mixture->experts),
            fmt::format("choose a divisor of {}", mixture->experts));
  if (mixture->ffn % choice.etp != 0)
    r.error("strategy.etp", fmt::format("etp {} does not divide the experts' width {}", choice.etp, mixture->ffn),
            fmt::format("choose a divisor of {}", mixture->ffn));
  if (strategy.tensor > 1 && !strategy.sequence_parallel)
    r.error("strategy.sequence_parallel",
            fmt::format("the {} ranks of tp would route the same tokens to experts", strategy.tensor),
            "set sequence_parallel: true, so that each routes its own");
  if (r.problems.has_errors()) return;
  strategy.bilevel_experts = mixture->dispatcher == models::Dispatcher::smile;
  strategy.experts = mixture->experts;
  strategy.expert_copies = mixture->top_k;
  strategy.expert_domain_limit = mixture->node_limit;
  strategy.merged_copies = mixture->dispatcher == models::Dispatcher::merged;
  models::BuildOptions& build = r.plan.build;
  const std::int64_t domain = r.parts.machine.network.domain();
  if (strategy.bilevel_experts) build.expert_domains = strategy.expert / plan::experts_in_domain(strategy, domain);
  build.several_experts = mixture->experts > choice.ep;
  const ExpertOverlapKind overlap = expert_overlap(r.settings, r.parts.software.framework);
  build.shared_experts_first = overlap == ExpertOverlapKind::shared;
  build.parts = overlap == ExpertOverlapKind::two_batch ? 2 : 1;
  strategy.overlap_experts = overlap != ExpertOverlapKind::none || mixture->shortcut;
  if (build.parts > 1 && strategy.micro_batch % build.parts != 0)
    r.error("strategy.overlap.ep", fmt::format("a micro-batch of {} does not fall in two halves", strategy.micro_batch),
            "use an even micro_batch");
}

}  // namespace cairn::experiment
