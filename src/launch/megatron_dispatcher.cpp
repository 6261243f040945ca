// How routed tokens reach their experts: core/transformer/transformer_config.py and core/transformer/moe/
// token_dispatcher.py. DeepEP and HybridEP are backends of the dispatcher `flex`; both send a token once to each rank
// that holds some of its experts, which is Cairn's `deepep`. Releases of 2025 run `flex` with --moe-enable-deepep
// alone; later ones take it as the backend deepep, which is their default.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cairn/core/printable.h"
#include "cairn/models/transformer_config.h"
#include "megatron.h"
#include "nemo.h"

namespace cairn::launch {
namespace {

constexpr const char* k_dispatcher_key = "model.moe.dispatcher";
constexpr const char* k_flex = "flex";
constexpr const char* k_hybrid = "hybridep";
constexpr Pair k_dispatchers[] = {{"alltoall", "alltoall"}, {"allgather", "allgather"}, {k_flex, "deepep"}};

struct DispatcherNames {
  const char* experts;
  const char* type;
  const char* deepep;
  const char* backend;
  const char* capacity;
  const char* padded;
  bool has_truths;  // what is on or off has a value
};
constexpr DispatcherNames k_megatron_dispatcher = {.experts = "--num-experts",
                                                   .type = "--moe-token-dispatcher-type",
                                                   .deepep = "--moe-enable-deepep",
                                                   .backend = "--moe-flex-dispatcher-backend",
                                                   .capacity = "--moe-expert-capacity-factor",
                                                   .padded = "--moe-pad-expert-input-to-capacity",
                                                   .has_truths = false};
constexpr DispatcherNames k_nemo_dispatcher = {.experts = "model.num_moe_experts",
                                               .type = "model.moe_token_dispatcher_type",
                                               .deepep = "model.moe_enable_deepep",
                                               .backend = "model.moe_flex_dispatcher_backend",
                                               .capacity = "model.moe_expert_capacity_factor",
                                               .padded = "model.moe_pad_expert_input_to_capacity",
                                               .has_truths = true};

bool is_on(Import& i, const DispatcherNames& names, const char* name) {
  return names.has_truths ? nemo_truth(i, name, false) : i.flag(name);
}

// Whether the backend is HybridEP.
bool read_backend(Import& i, const DispatcherNames& names, bool flex) {
  const Word* backend = i.word(names.backend);
  if (backend == nullptr) return false;
  const bool hybrid = backend->text == k_hybrid;
  if (!hybrid && backend->text != "deepep")
    i.error(backend->place, names.backend, fmt::format("{} has no counterpart in Cairn", core::quoted(backend->text)),
            fmt::format("use deepep or {}", k_hybrid));
  else if (!flex)
    i.remark(*i.find(names.backend), fmt::format("without {} {}", names.type, k_flex));
  else if (hybrid)
    i.remark(*i.find(names.backend), "read as DeepEP, which sends the same rows");
  return hybrid;
}

void read_dispatcher(Import& i, const DispatcherNames& names) {
  if (!i.said(names.experts)) {
    for (const char* name : {names.type, names.deepep, names.backend})
      i.no_effect(name, fmt::format("without {}", names.experts));
    return;
  }
  const Word* type = i.word(names.type);
  const std::string theirs = type != nullptr ? type->text : "allgather";
  const auto known = std::find_if(std::begin(k_dispatchers), std::end(k_dispatchers),
                                  [&](const Pair& each) { return each.theirs == theirs; });
  if (known == std::end(k_dispatchers))
    return i.error(type->place, names.type, fmt::format("{} has no counterpart in Cairn", core::quoted(theirs)),
                   "use one of alltoall, allgather, flex");
  i.experiment.put(k_dispatcher_key, std::string(known->ours), type != nullptr ? type->place : config::Place{});
  const bool flex = theirs == k_flex, deepep = is_on(i, names, names.deepep), hybrid = read_backend(i, names, flex);
  if (deepep && !flex)
    i.error(i.find(names.deepep)->place, names.deepep,
            fmt::format("without {} {}, which Megatron-Core refuses", names.type, k_flex), "say flex, or take it out");
  if (deepep && flex && hybrid)
    i.error(i.find(names.deepep)->place, names.deepep,
            fmt::format("beside {} {}, which Megatron-Core refuses", names.backend, k_hybrid), "keep one of the two");
  if (flex && !hybrid && i.said(names.capacity) && is_on(i, names, names.padded))
    i.error(i.find(names.padded)->place, names.padded, "with DeepEP, which Megatron-Core refuses",
            "use the dispatcher alltoall");
}

// Why Megatron-Core would not start with DeepEP; null pointer: it would.
const char* deepep_refusal(const Export& e) {
  const experiment::StrategyChoice& s = e.job.experiment().strategy;
  if (e.job.parts().model.moe->capacity_factor > 0.0)
    return "Megatron-Core refuses DeepEP with experts that are padded to a capacity";
  if (s.ep * s.etp == 1) return "Megatron-Core refuses DeepEP where every rank holds all experts";
  return nullptr;
}

void write_dispatcher(Export& e, const DispatcherNames& names) {
  if (!e.job.parts().model.moe) return;
  const std::string ours = e.keys.text(k_dispatcher_key);
  const auto known = std::find_if(std::begin(k_dispatchers), std::end(k_dispatchers),
                                  [&](const Pair& each) { return each.ours == ours; });
  if (known == std::end(k_dispatchers)) return;
  const bool flex = known->theirs == k_flex;
  if (const char* refusal = flex ? deepep_refusal(e) : nullptr) {
    e.say(names.type, "alltoall");
    return e.unsaid(k_dispatcher_key, refusal);
  }
  e.keys.take(k_dispatcher_key);
  e.say(names.type, std::string(known->theirs));
  if (flex && names.has_truths) e.say(names.deepep, "true");
  if (flex && !names.has_truths) e.say(names.deepep);
}

void read_router(Import& i) {
  i.no_effect("--moe-router-fusion",
              i.said("--num-experts")
                  ? "kernels.fused_router of a framework's profile says it, which is off in megatron"
                  : "without --num-experts");
}

}  // namespace

std::vector<Rule> megatron_dispatcher_rules() {
  return {{.read = [](Import& i) { read_dispatcher(i, k_megatron_dispatcher); },
           .write = [](Export& e) { write_dispatcher(e, k_megatron_dispatcher); }},
          {.read = read_router}};
}

std::vector<Rule> nemo_dispatcher_rules() {
  return {{.read = [](Import& i) { read_dispatcher(i, k_nemo_dispatcher); },
           .write = [](Export& e) { write_dispatcher(e, k_nemo_dispatcher); }}};
}

}  // namespace cairn::launch
