// From strategy.zero to what is sharded, fetched and offloaded. A policy is a set of defaults:
//
//   zero-offload   optimizer on the host, updated by its cores after the backward pass (Ren et al. arXiv 2101.06840)
//   zero-infinity  optimizer and parameters on drives; stage 3 (Rajbhandari et al. arXiv 2104.07857)
//   patrickstar    optimizer and parameters on the host, as many units' parameters on the device as fit, gradients in
//                  the memory of their parameters: 2 + 12 bytes per parameter (Fang et al. arXiv 2108.05818)
//   interleaved    optimizer on the host, every k-th subgroup updated on the device (Maurya et al. arXiv 2410.21316)
//   fuyou          optimizer on drives, updated unit by unit beside the backward pass; activations on the host
//                  (Liao et al. arXiv 2403.06504)
//   superpipeline  parameters on the host, a window of units on the device (Abbasi et al. arXiv 2410.08791)
#include <fmt/format.h>

#include "resolving.h"

namespace cairn::experiment {
namespace {

plan::Home home(const std::optional<Place>& place) {
  if (!place) return plan::Home::device;
  return *place == Place::host ? plan::Home::host : plan::Home::storage;
}

class ZeroResolver {
 public:
  explicit ZeroResolver(Resolving& resolving) : r_(resolving), choice_(resolving.settings.strategy.zero) {}

  void run() {
    plan::Strategy& strategy = r_.plan.strategy;
    strategy.sharded = static_cast<plan::Sharded>(choice_.stage);
    const software::Sharding& defaults = r_.parts.software.framework.sharding;
    const std::optional<DataOverlap>& data = r_.settings.strategy.overlap.dp;
    const bool gathers_wait = data && data->gather && !*data->gather;
    strategy.prefetch = choice_.prefetch.value_or(gathers_wait ? 0 : defaults.prefetch);
    strategy.reshard_after_forward = choice_.reshard_after_forward.value_or(defaults.reshard_after_forward);
    strategy.reduce_every_micro_batch = defaults.reduce == software::ReduceWhen::every_micro_batch;
    r_.plan.treatment.narrow_shards = choice_.stage < 3 || defaults.narrow_shards;
    shards();
    if (choice_.stage >= 2 && strategy.pipeline > 1 && !defaults.pipeline)
      error("",
            fmt::format("stage {} with pp {}: {} does not shard gradients across pipeline stages", choice_.stage,
                        strategy.pipeline, r_.parts.software.label),
            "use stage 0 or 1, pp: 1, or a framework that does, such as torchtitan");
    if (choice_.offload) offload(*choice_.offload);
  }

 private:
  void error(const std::string& key, std::string message, std::string hint) {
    r_.error("strategy.zero" + (key.empty() ? key : "." + key), std::move(message), std::move(hint));
  }

  void shards() {
    const std::int64_t data = r_.plan.strategy.data;
    const bool given = choice_.shard || choice_.replicate;
    if (!given) return;
    if (choice_.stage == 0) {
      error(choice_.shard ? "shard" : "replicate", "nothing is sharded at stage 0",
            "use stage 1, 2 or 3, or leave it out");
      return;
    }
    for (const auto& [key, value] : {std::pair{"shard", choice_.shard}, std::pair{"replicate", choice_.replicate}}) {
      if (!value || data % *value == 0) continue;
      error(key, fmt::format("{} does not divide dp {}", *value, data), fmt::format("choose a divisor of {}", data));
      return;
    }
    const std::int64_t shard = choice_.shard.value_or(data / choice_.replicate.value_or(1));
    if (choice_.replicate && shard * *choice_.replicate != data) {
      error("replicate",
            fmt::format("shard {} x replicate {} = {}, but dp is {}", shard, *choice_.replicate,
                        shard * *choice_.replicate, data),
            fmt::format("use replicate: {}, or leave one of them out", data / shard));
      return;
    }
    r_.plan.strategy.shard = shard == data ? 0 : shard;
  }

  static OffloadChoice with_defaults(OffloadChoice choice) {
    const auto set = [](std::optional<Place>& place, Place value) {
      if (!place) place = value;
    };
    if (!choice.policy) return choice;
    switch (*choice.policy) {
      case OffloadPolicy::zero_offload:
      case OffloadPolicy::interleaved:
        set(choice.optimizer, Place::host);
        break;
      case OffloadPolicy::zero_infinity:
        set(choice.optimizer, Place::nvme);
        set(choice.parameters, Place::nvme);
        break;
      case OffloadPolicy::patrickstar:
        set(choice.optimizer, Place::host);
        set(choice.parameters, Place::host);
        break;
      case OffloadPolicy::fuyou:
        set(choice.optimizer, Place::nvme);
        set(choice.activations, Place::host);
        break;
      case OffloadPolicy::superpipeline:
        set(choice.parameters, Place::host);
        break;
    }
    return choice;
  }

  void offload(const OffloadChoice& given) {
    const OffloadChoice choice = with_defaults(given);
    plan::Strategy& strategy = r_.plan.strategy;
    plan::Offload& offload = strategy.offload;
    offload.optimizer = home(choice.optimizer);
    offload.parameters = home(choice.parameters);
    offload.activations = home(choice.activations);
    if (choice.subgroup) strategy.subgroup_elements = *choice.subgroup;
    offload.gradients_in_place = choice.policy == OffloadPolicy::patrickstar;
    offload.update_in_backward = choice.policy == OffloadPolicy::fuyou;
    offload.resident_units = choice.resident.value_or(0);
    strategy.device_every = choice.every.value_or(0);
    r_.plan.choose_resident = choice.policy == OffloadPolicy::patrickstar && !choice.resident;
    r_.plan.choose_interval = choice.policy == OffloadPolicy::interleaved && !choice.every;
    if (!offload.any())
      error("offload", "names nothing to offload",
            "give optimizer, parameters or activations: host or nvme, or a policy");
    check_machine(choice);
    check_combination(choice);
  }

  void check_machine(const OffloadChoice& choice) {
    const std::optional<hardware::Host>& host = r_.parts.machine.cluster.value.host;
    if (!r_.plan.strategy.offload.any()) return;
    if (!host)
      return error("offload", fmt::format("cluster '{}' has no host link", r_.parts.machine.cluster.value.name),
                   "describe it: cluster.host: {memory, memory_bandwidth, link: {bandwidth}}");
    const bool drives =
        choice.optimizer == Place::nvme || choice.parameters == Place::nvme || choice.activations == Place::nvme;
    if (drives && !host->nvme)
      error("offload", fmt::format("cluster '{}' has no drives", r_.parts.machine.cluster.value.name),
            "describe them: cluster.host.nvme: {bandwidth}, or use host");
  }

  void check_combination(const OffloadChoice& choice) {
    const plan::Strategy& strategy = r_.plan.strategy;
    if (choice.parameters && (choice_.stage == 1 || choice_.stage == 2))
      error("offload.parameters", fmt::format("stage {} keeps parameters whole on every device", choice_.stage),
            "use stage 3 to offload shards, or stage 0 to offload whole parameters");
    if (choice.parameters && choice_.reshard_after_forward == false)
      error("reshard_after_forward", "offloaded parameters are given up between forward and backward",
            "leave it true, or do not offload parameters");
    if (choice.resident && !choice.parameters)
      error("offload.resident", "all parameters stay on the device", "offload parameters, or leave it out");
    if ((choice.resident || choice.policy == OffloadPolicy::patrickstar) && strategy.pipeline * strategy.chunks > 1)
      error("offload", "parameters that stay on the device are not modelled with pipeline stages",
            "use pp: 1, or another policy");
    if (choice.every && choice.policy != OffloadPolicy::interleaved)
      error("offload.every", "only the policy 'interleaved' updates subgroups on the device",
            "use policy: interleaved, or leave it out");
    if ((choice.policy == OffloadPolicy::interleaved || choice.policy == OffloadPolicy::fuyou) &&
        r_.plan.treatment.factored_moment)
      error("offload.policy", "adafactor's row and column means are updated after the whole gradient",
            "use adam, or another policy");
  }

  Resolving& r_;
  const Zero& choice_;
};

}  // namespace

void resolve_zero(Resolving& r) { ZeroResolver(r).run(); }

}  // namespace cairn::experiment
