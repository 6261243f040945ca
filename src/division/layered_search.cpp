#include "cairn/division/layered_search.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cairn/allotment/layer_strategies.h"
#include "cairn/core/divisors.h"
#include "cairn/partition/chain_cut.h"

namespace cairn::division {
namespace {

using allotment::LayerParallelism;

constexpr std::int64_t k_most_searched_passes = 1 << 18;  // micro-batches of all stages

// The largest power of two that divides it.
std::int64_t power_of_two_in(std::int64_t devices) { return devices & -devices; }

// The leaves whose tensor-parallel ranks, if any, are neighbours.
std::vector<LayerWay> leaves_of(std::int64_t devices) {
  std::vector<LayerWay> ways;
  for (const allotment::ParallelStrategy& leaf :
       allotment::parallel_strategies(devices, allotment::Recomputation::optional)) {
    LayerWay way{.recompute = leaf.recompute};
    bool neighbours = true;
    for (std::size_t i = 0; i < leaf.degrees.size(); ++i) {
      if (leaf.degrees[i].kind == LayerParallelism::tensor) {
        way.tp = leaf.degrees[i].degree;
        neighbours = i + 1 == leaf.degrees.size();
      }
      way.sharded = way.sharded || leaf.degrees[i].kind == LayerParallelism::sharded_data;
    }
    if (neighbours) ways.push_back(way);
  }
  return ways;
}

// Of 2^k r accelerators, r odd, the degrees of 2^k, with r times as many copies: where r > 1 there always are some, and
// they shard what they hold, or do not.
std::vector<LayerWay> ways_of(std::int64_t devices) {
  const std::int64_t even = power_of_two_in(devices);
  if (even == devices) return leaves_of(devices);
  std::vector<LayerWay> ways;
  for (std::int64_t tp = 1; tp <= even; tp *= 2)
    for (const bool sharded : {false, true})
      for (const bool recompute : {false, true}) ways.push_back({.tp = tp, .sharded = sharded, .recompute = recompute});
  return ways;
}

// One number of stages and of micro-batches.
class Pipeline {
 public:
  Pipeline(LayeredModel& model, std::int64_t stages, std::int64_t micro_batches)
      : model_(&model),
        stages_(stages),
        micro_batches_(micro_batches),
        devices_(model.accelerators() / stages),
        sequences_(model.sequences() / micro_batches) {
    for (const LayerWay& way : ways_of(devices_))
      if (const std::vector<LayerCost>* costs = model.costs(way, devices_, sequences_))
        ways_.push_back({.way = way, .costs = costs});
      else if (!refused_)
        refused_ = model.why(way, devices_, sequences_);
  }

  std::size_t ways() const { return ways_.size(); }
  const std::optional<core::Diagnostic>& refused() const { return refused_; }

  // What its longest stage takes at least, whatever its memory.
  core::Picoseconds cut() {
    const std::vector<std::size_t>& layers = model_->layers().of;
    std::vector<std::int64_t> fastest;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      core::Picoseconds least = core::k_reach;
      for (const PricedWay& each : ways_) least = std::min(least, time(each, layer));
      fastest.push_back(least);
    }
    const partition::ChainCut cut = partition::cut_chain(fastest, stages_);
    begins_ = cut.begins;
    begins_.push_back(layers.size());
    return cut.most;
  }

  // Nothing where none is faster than `than`.
  std::optional<LayeredAnswer> best(core::Picoseconds than) const {
    LayeredPlan plan{.micro_batches = micro_batches_};
    for (std::int64_t stage = 0; stage < stages_; ++stage) {
      const std::optional<std::vector<LayerWay>> ways = best_of(stage, than);
      if (!ways) return std::nullopt;
      plan.stages.push_back(stage_of(*ways));
    }
    LayeredAnswer found = answer(std::move(plan));
    if (found.priced.time >= than) return std::nullopt;
    return found;
  }
  // The same of plans with one way for all layers.
  std::optional<LayeredAnswer> best_uniform(core::Picoseconds than) const {
    std::vector<std::pair<core::Picoseconds, LayerWay>> ways;
    for (const PricedWay& each : ways_) ways.emplace_back(longest_stage(each), each.way);
    std::stable_sort(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::optional<LayeredAnswer> best;
    for (const auto& [longest, way] : ways) {
      if (longest >= than) break;
      LayeredPlan plan{.micro_batches = micro_batches_};
      for (std::size_t stage = 0; stage + 1 < begins_.size(); ++stage)
        plan.stages.push_back(stage_of(std::vector<LayerWay>(begins_[stage + 1] - begins_[stage], way)));
      LayeredAnswer found = answer(std::move(plan));
      if (!fits(found) || found.priced.time >= than) continue;
      than = found.priced.time;
      best = std::move(found);
    }
    return best;
  }

 private:
  struct PricedWay {
    LayerWay way = {};
    const std::vector<LayerCost>* costs = nullptr;
  };

  const LayerCost& cost(const PricedWay& way, std::size_t layer) const {
    return (*way.costs)[model_->layers().of[layer]];
  }
  core::Picoseconds time(const PricedWay& way, std::size_t layer) const {
    const LayerCost& of = cost(way, layer);
    return micro_batches_ * (of.forward + of.backward) + of.once;
  }
  // No step takes less in which all layers have this way.
  core::Picoseconds longest_stage(const PricedWay& way) const {
    core::Picoseconds longest = 0;
    for (std::size_t stage = 0; stage + 1 < begins_.size(); ++stage) {
      core::Picoseconds sum = 0;
      for (std::size_t layer = begins_[stage]; layer < begins_[stage + 1]; ++layer) add_time(sum, time(way, layer));
      longest = std::max(longest, sum);
    }
    return longest;
  }
  bool fits(const LayeredAnswer& of) const { return static_cast<double>(of.priced.memory) <= model_->memory().base(); }
  LayeredAnswer answer(LayeredPlan plan) const {
    PricedPlan priced = model_->priced(plan);
    return {.plan = std::move(plan), .priced = std::move(priced)};
  }

  // What lives within a pass of some layer of the stage in some way, the most first.
  std::vector<std::int64_t> bounds(std::size_t begin, std::size_t end) const {
    std::set<std::int64_t, std::greater<>> all;
    for (std::size_t layer = begin; layer < end; ++layer)
      for (const PricedWay& each : ways_) all.insert(cost(each, layer).transient);
    return {all.begin(), all.end()};
  }

  // Consecutive layers that are a stage, with so many micro-batches under way. `shared`: how those of them that share
  // parameters store them, all alike; none: each for itself.
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::int64_t held = 1;
    std::optional<LayerWay> shared = {};
  };

  bool shares(std::size_t layer) const { return cost(ways_.front(), layer).tied > 0; }

  // Every way in which layers of the span that share parameters may store them alike; none where fewer than two do.
  std::vector<LayerWay> ways_of_sharing(const Span& span) const {
    std::vector<LayerWay> result;
    std::int64_t sharing = 0;
    for (std::size_t layer = span.begin; layer < span.end; ++layer) sharing += shares(layer) ? 1 : 0;
    if (sharing < 2) return result;
    for (const PricedWay& each : ways_)
      if (std::none_of(result.begin(), result.end(), [&](const LayerWay& way) { return stored_alike(way, each.way); }))
        result.push_back(each.way);
    return result;
  }

  // The ways of a stage's layers that keep the bound, and what they cost.
  struct Bounded {
    std::vector<std::vector<std::size_t>> ways = {};
    allotment::LayerProblem problem = {};
  };
  Bounded bounded(const Span& span, std::int64_t bound) const {
    Bounded result;
    bool held = false;  // the parameters that layers share, by one before
    for (std::size_t layer = span.begin; layer < span.end; ++layer) {
      const bool shared = span.shared && shares(layer);
      std::vector<std::size_t> allowed;
      for (std::size_t i = 0; i < ways_.size(); ++i)
        if (cost(ways_[i], layer).transient <= bound && (!shared || stored_alike(ways_[i].way, *span.shared)))
          allowed.push_back(i);
      const std::vector<allotment::LayerStrategy> all = costs_of(layer, span.held, shared && held);
      held = held || shared;
      std::vector<std::size_t>& ways = result.ways.emplace_back();
      std::vector<allotment::LayerStrategy>& costs = result.problem.layers.emplace_back();
      for (const std::size_t i : allowed) {
        if (beaten(i, allowed, all)) continue;
        ways.push_back(i);
        costs.push_back(all[i]);
      }
    }
    return result;
  }

  std::vector<allotment::LayerStrategy> costs_of(std::size_t layer, std::int64_t held, bool held_before) const {
    std::vector<allotment::LayerStrategy> all;
    for (const PricedWay& each : ways_) {
      const LayerCost& of = cost(each, layer);
      all.push_back({.time = time(each, layer), .memory = of.state - (held_before ? of.tied : 0) + held * of.saved});
    }
    return all;
  }

  // Whether another of these ways, of the same degree, which changes into its neighbours at the same cost, is no worse;
  // of equal ones the first is kept.
  bool beaten(std::size_t way, const std::vector<std::size_t>& ways,
              const std::vector<allotment::LayerStrategy>& all) const {
    const allotment::LayerStrategy& own = all[way];
    for (const std::size_t i : ways) {
      if (i == way || ways_[i].way.tp != ways_[way].way.tp) continue;
      const bool no_worse = all[i].time <= own.time && all[i].memory <= own.memory;
      const bool equal = all[i].time == own.time && all[i].memory == own.memory;
      if (no_worse && (!equal || i < way)) return true;
    }
    return false;
  }

  // The fastest choice, with the memory that it takes.
  static allotment::LayerChoice regardless_of_memory(allotment::LayerProblem problem) {
    std::vector<std::vector<allotment::LayerStrategy>> layers = problem.layers;
    for (std::vector<allotment::LayerStrategy>& layer : problem.layers)
      for (allotment::LayerStrategy& each : layer) each.memory = 0;
    allotment::LayerChoice choice = *allotment::fastest_strategies(problem);
    for (std::size_t i = 0; i < layers.size(); ++i) choice.memory += layers[i][choice.strategies[i]].memory;
    return choice;
  }

  struct StageChoice {
    core::Picoseconds time = 0;
    std::vector<LayerWay> ways = {};
  };

  // Nothing where the stage takes `than` or longer, and with it the step.
  std::optional<std::vector<LayerWay>> best_of(std::int64_t stage, core::Picoseconds than) const {
    Span span{.begin = begins_[static_cast<std::size_t>(stage)],
              .end = begins_[static_cast<std::size_t>(stage) + 1],
              .held = std::min(micro_batches_, stages_ - stage)};
    if (span.begin == span.end) return std::nullopt;  // more stages than layers
    std::optional<StageChoice> best = best_of(span, than);
    for (const LayerWay& way : ways_of_sharing(span)) {
      span.shared = way;
      if (std::optional<StageChoice> found = best_of(span, best ? best->time : than)) best = std::move(found);
    }
    if (!best) return std::nullopt;
    return std::move(best->ways);
  }

  std::optional<StageChoice> best_of(const Span& span, core::Picoseconds than) const {
    const auto room = static_cast<std::int64_t>(model_->memory().base());
    std::optional<StageChoice> best;
    for (const std::int64_t bound : bounds(span.begin, span.end)) {
      Bounded asked = bounded(span, bound);
      if (std::any_of(asked.ways.begin(), asked.ways.end(), [](const auto& ways) { return ways.empty(); })) break;
      asked.problem.change_time = [&](std::size_t layer, std::size_t from, std::size_t to) {
        const WayChange change = model_->change(ways_[asked.ways[layer][from]].way.tp,
                                                ways_[asked.ways[layer + 1][to]].way.tp, devices_, sequences_);
        return micro_batches_ * (change.forward + change.backward);
      };
      const std::int64_t capacity = room - bound;
      const core::Picoseconds least = best ? best->time : than;
      std::optional<allotment::LayerChoice> found = regardless_of_memory(asked.problem);
      // A smaller bound leaves fewer ways: none of those is faster than these.
      if (found->time >= least) break;
      if (found->memory > capacity) {
        asked.problem.capacity = capacity;
        found = allotment::fastest_strategies(asked.problem);
      }
      if (!found || found->time >= least) continue;
      best = StageChoice{.time = found->time};
      for (std::size_t i = 0; i < found->strategies.size(); ++i)
        best->ways.push_back(ways_[asked.ways[i][found->strategies[i]]].way);
    }
    return best;
  }

  LayeredModel* model_;
  std::int64_t stages_;
  std::int64_t micro_batches_;
  std::int64_t devices_;
  std::int64_t sequences_;
  std::vector<PricedWay> ways_;
  std::optional<core::Diagnostic> refused_;  // why the first way that is not allowed is not
  std::vector<std::size_t> begins_;          // of the stages, and where the last one ends
};

std::vector<std::int64_t> stage_counts(const LayeredModel& model) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t stages : core::divisors(model.accelerators()))
    if (stages <= std::ssize(model.layers().of)) counts.push_back(stages);
  return counts;
}

}  // namespace

LayeredSearch search_layers(LayeredModel& model, const std::function<void(std::size_t, std::size_t)>& progress) {
  struct Candidate {
    core::Picoseconds at_least = 0;
    Pipeline pipeline;
  };
  LayeredSearch result;
  std::vector<Candidate> candidates;
  for (const std::int64_t stages : stage_counts(model))
    for (const std::int64_t micro_batches : core::divisors(model.sequences())) {
      if (stages > k_most_searched_passes / micro_batches) break;
      Pipeline pipeline(model, stages, micro_batches);
      if (pipeline.ways() == 0) {
        if (!result.refused) result.refused = pipeline.refused();
        continue;
      }
      result.ways = std::max(result.ways, pipeline.ways());
      const core::Picoseconds at_least = pipeline.cut();
      candidates.push_back({.at_least = at_least, .pipeline = std::move(pipeline)});
    }
  if (!candidates.empty()) result.refused.reset();
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.at_least < b.at_least; });
  const auto to_beat = [](const std::optional<LayeredAnswer>& best) {
    return best ? best->priced.time : core::k_reach;
  };
  const auto take = [](std::optional<LayeredAnswer>& best, std::optional<LayeredAnswer> found) {
    if (found) best = std::move(found);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const bool may_be_best = candidate.at_least < to_beat(result.best);
    const bool may_be_uniform = candidate.at_least < to_beat(result.uniform);
    if (!may_be_best && !may_be_uniform) break;
    if (may_be_best) {
      take(result.best, candidate.pipeline.best(to_beat(result.best)));
      ++result.pipelines;
    }
    if (may_be_uniform) take(result.uniform, candidate.pipeline.best_uniform(to_beat(result.uniform)));
    if (progress) progress(i + 1, candidates.size());
  }
  // The fastest stages need not make the fastest pipeline.
  if (result.uniform && result.uniform->priced.time < to_beat(result.best)) result.best = result.uniform;
  return result;
}

}  // namespace cairn::division
