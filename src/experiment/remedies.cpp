#include "remedies.h"

#include <fmt/format.h>

namespace cairn::experiment {
namespace {

using Subject = Change::Subject;

class Changes {
 public:
  explicit Changes(const Resolved& resolved) : r_(resolved), now_(resolved.experiment.strategy) {}

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
    changes_.push_back({.subject = subject, .settings = {std::move(setting)}, .apply = std::move(apply)});
  }
  // A degree or the size of a micro-batch: what else follows from it is found again.
  void add_size(Subject subject, const char* key, std::int64_t StrategyChoice::*size, std::int64_t value) {
    add(subject, fmt::format("strategy.{}={}", key, value), [size, value](StrategyChoice& s) {
      s.*size = value;
      s.dp.reset();
      s.micro_batches.reset();
    });
    if (now_.dp) changes_.back().settings.emplace_back("strategy.dp=null");
    if (now_.micro_batches) changes_.back().settings.emplace_back("strategy.micro_batches=null");
  }

  void sizes() {
    for (const std::int64_t factor : {2, 4}) {
      if (now_.tp * factor <= r_.machine.network.domain())
        add_size(Subject::tensor, "tp", &StrategyChoice::tp, factor * now_.tp);
      add_size(Subject::pipeline, "pp", &StrategyChoice::pp, factor * now_.pp);
    }
    if (now_.micro_batch > 2)
      add_size(Subject::micro_batch, "micro_batch", &StrategyChoice::micro_batch, now_.micro_batch / 2);
    if (now_.micro_batch > 1) add_size(Subject::micro_batch, "micro_batch", &StrategyChoice::micro_batch, 1);
  }

  // Of the keys of `zero`, what only a map can say must stay.
  bool says_more() const {
    const Zero& zero = now_.zero;
    return zero.shard || zero.replicate || zero.prefetch || zero.reshard_after_forward || zero.offload;
  }

  void sharding() {
    for (std::int64_t stage = now_.zero.stage + 1; stage <= 3; ++stage)
      add(Subject::sharding, fmt::format("strategy.zero{}={}", says_more() ? ".stage" : "", stage),
          [stage](StrategyChoice& s) { s.zero.stage = stage; });
    if (!r_.machine.cluster.value.host || now_.zero.offload) return;
    const auto offload = [&](const char* what, std::optional<Place> OffloadChoice::*home) {
      add(Subject::sharding,
          says_more() ? fmt::format("strategy.zero.offload={{{}: host}}", what)
                      : fmt::format("strategy.zero={{stage: {}, offload: {{{}: host}}}}", now_.zero.stage, what),
          [home](StrategyChoice& s) {
            s.zero.offload.emplace();
            *s.zero.offload.*home = Place::host;
          });
    };
    offload("activations", &OffloadChoice::activations);
    offload("optimizer", &OffloadChoice::optimizer);
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
    const std::int64_t layers = r_.transformer.layers / r_.schedule->chain_length;
    std::int64_t before = 0;
    for (const std::int64_t quarters : {1, 2, 3}) {
      const std::int64_t count = layers * quarters / 4;
      if (count == std::exchange(before, count) || count == 0) continue;
      recompute(fmt::format("{{kind: full, method: block, count: {}}}", count),
                {.kind = RecomputeKind::full, .method = RecomputeMethod::block, .count = count});
    }
  }

  const Resolved& r_;
  const StrategyChoice& now_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> memory_changes(const Resolved& resolved) { return Changes(resolved).all(); }

}  // namespace cairn::experiment
