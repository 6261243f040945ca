#include "remedies.h"

#include <fmt/format.h>

namespace cairn::experiment {
namespace {

using Subject = Change::Subject;

class Changes {
 public:
  explicit Changes(const Case& asked) : r_(asked), now_(asked.experiment.strategy) {}

  std::vector<Change> all() {
    sizes();
    if (now_.tp > 1 && !now_.sequence_parallel)
      add(Subject::sequence, "strategy.sequence_parallel=true", [](StrategyChoice& s) { s.sequence_parallel = true; });
    sharding();
    recomputation();
    return std::move(changes_);
  }

 private:
  void add(Subject subject, std::string setting, std::function<void(StrategyChoice&)> apply) {
    changes_.push_back({.subject = subject, .setting = std::move(setting), .apply = std::move(apply)});
  }
  // A degree or the size of a micro-batch.
  void add_size(Subject subject, const char* key, std::int64_t StrategyChoice::*size, std::int64_t value) {
    add(subject, fmt::format("strategy.{}={}", key, value), [size, value](StrategyChoice& s) {
      s.*size = value;
      s.dp.reset();
      s.micro_batches.reset();
    });
  }

  void sizes() {
    for (const std::int64_t factor : {2, 4}) {
      if (now_.tp * factor <= r_.parts.machine.network.domain())
        add_size(Subject::tensor, "tp", &StrategyChoice::tp, factor * now_.tp);
      add_size(Subject::pipeline, "pp", &StrategyChoice::pp, factor * now_.pp);
    }
    if (now_.micro_batch > 2)
      add_size(Subject::micro_batch, "micro_batch", &StrategyChoice::micro_batch, now_.micro_batch / 2);
    if (now_.micro_batch > 1) add_size(Subject::micro_batch, "micro_batch", &StrategyChoice::micro_batch, 1);
  }

  // What `zero` says beyond the defaults, so that an experiment that is written out in full is told the same.
  Zero said_of_zero() const {
    Zero zero = now_.zero;
    if (zero.shard == r_.resolved.strategy.data) zero.shard = zero.replicate = std::nullopt;
    if (zero.prefetch == r_.parts.software.framework.sharding.prefetch) zero.prefetch.reset();
    if (zero.reshard_after_forward == r_.parts.software.framework.sharding.reshard_after_forward)
      zero.reshard_after_forward.reset();
    return zero;
  }
  static std::string text(const Zero& zero) {
    std::string keys;
    const auto key = [&](const char* name, const auto& value) {
      if (value) keys += fmt::format(", {}: {}", name, *value);
    };
    key("shard", zero.shard);
    key("replicate", zero.replicate);
    key("prefetch", zero.prefetch);
    key("reshard_after_forward", zero.reshard_after_forward);
    if (zero.offload)
      keys += zero.offload->optimizer ? ", offload: {optimizer: host}" : ", offload: {activations: host}";
    return keys.empty() ? fmt::format("{}", zero.stage) : fmt::format("{{stage: {}{}}}", zero.stage, keys);
  }

  void sharding() {
    if (now_.zero.offload) return;  // of which a change would have to say everything again
    const auto shard = [&](const Zero& zero) {
      add(Subject::sharding, "strategy.zero=" + text(zero), [zero](StrategyChoice& s) { s.zero = zero; });
    };
    const Zero now = said_of_zero();
    for (std::int64_t stage = now.stage + 1; stage <= 3; ++stage) {
      Zero more = now;
      more.stage = stage;
      shard(more);
    }
    if (!r_.parts.machine.cluster.value.host) return;
    for (std::optional<Place> OffloadChoice::*home : {&OffloadChoice::activations, &OffloadChoice::optimizer}) {
      Zero away = now;
      away.offload.emplace();
      *away.offload.*home = Place::host;
      shard(away);
    }
  }

  void recomputation() {
    const auto recompute = [&](const std::string& setting, const Recompute& choice) {
      add(Subject::recompute, "strategy.recompute=" + setting, [choice](StrategyChoice& s) { s.recompute = choice; });
    };
    const bool none = now_.recompute.kind == RecomputeKind::none && !now_.recompute.operators;
    if (none) recompute("attention", {.kind = RecomputeKind::attention});
    if (now_.recompute.kind == RecomputeKind::full && !now_.recompute.count && !now_.recompute.layers) return;
    recompute("full", {.kind = RecomputeKind::full});
    // Some layers of every virtual stage alone.
    const std::int64_t layers = r_.resolved.model.layers / r_.resolved.schedule->chain_length;
    std::int64_t before = 0;
    for (const std::int64_t quarters : {1, 2, 3}) {
      const std::int64_t count = layers * quarters / 4;
      if (count == std::exchange(before, count) || count == 0) continue;
      recompute(fmt::format("{{kind: full, method: block, count: {}}}", count),
                {.kind = RecomputeKind::full, .method = RecomputeMethod::block, .count = count});
    }
  }

  const Case& r_;
  const StrategyChoice& now_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> memory_changes(const Case& asked) { return Changes(asked).all(); }

}  // namespace cairn::experiment
