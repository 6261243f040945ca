#include "cairn/allotment/uneven_shares.h"

#include <algorithm>
#include <utility>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"

namespace cairn::allotment {
namespace {

// Step and compute time of a plan: the least is the best.
using StepTimes = std::pair<core::Picoseconds, core::Picoseconds>;
constexpr StepTimes k_no_step = {-1, -1};

std::int64_t share_drawn(core::Random& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
}

struct ShareSizes {
  std::int64_t least_types = 1;
  std::int64_t types = 4;
  std::int64_t ranks_of_type = 1;
  std::int64_t samples = 16;
  std::int64_t state = 40;
};

// Most tables grow, some go up and down; some end before all samples.
ShareProblem random_cluster(core::Random& random, ShareSizes most) {
  ShareProblem problem{.samples = 1 + share_drawn(random, most.samples),
                       .state = share_drawn(random, most.state + 1),
                       .fixed = share_drawn(random, 10),
                       .whole = share_drawn(random, 100)};
  const std::int64_t types = most.least_types + share_drawn(random, most.types - most.least_types + 1);
  for (std::int64_t i = 0; i < types; ++i) {
    RankType type{.ranks = 1 + share_drawn(random, most.ranks_of_type), .capacity = share_drawn(random, 60)};
    const bool grows = random.below(4) > 0;
    const std::int64_t slowness = 1 + share_drawn(random, 12), weight = 1 + share_drawn(random, 5);
    const std::int64_t reach = random.below(4) == 0 ? share_drawn(random, problem.samples + 1) : problem.samples;
    for (std::int64_t b = 0; b <= reach; ++b) {
      const std::int64_t time = b == 0 ? 0 : type.compute_times.back() + share_drawn(random, slowness);
      type.compute_times.push_back(grows ? time : share_drawn(random, 12 * slowness));
      type.activations.push_back(grows ? b * weight : share_drawn(random, 16 * weight));
    }
    problem.types.push_back(std::move(type));
  }
  return problem;
}

// The devices one by one, and what is tried with them.
struct TriedShares {
  std::vector<const RankType*> ranks = {};
  std::vector<std::int64_t> samples = {};
  StepTimes least = k_no_step;

  explicit TriedShares(const ShareProblem& problem) {
    for (const RankType& type : problem.types)
      for (std::int64_t k = 0; k < type.ranks; ++k) ranks.push_back(&type);
    samples.assign(ranks.size(), 0);
  }
  std::int64_t room(std::size_t i) const {
    return ranks[i]->capacity - ranks[i]->activations[static_cast<std::size_t>(samples[i])];
  }
  core::Picoseconds compute_time() const {
    core::Picoseconds slowest = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      slowest = std::max(slowest, ranks[i]->compute_times[static_cast<std::size_t>(samples[i])]);
    return slowest;
  }
  void met(core::Picoseconds collective_time) {
    const StepTimes times = {compute_time() + collective_time, compute_time()};
    if (least == k_no_step || times < least) least = times;
  }
};

core::Picoseconds collective_by_meaning(const ShareProblem& problem, std::int64_t largest) {
  if (largest == 0) return problem.fixed;
  const std::int64_t times = problem.whole * largest;
  return problem.fixed + times / problem.state + (times % problem.state > 0 ? 1 : 0);
}

// Calls `visit` with every way to share `left` samples out among the ranks from `rank` on.
template <typename Visit>
void visit_samples(TriedShares& tried, std::size_t rank, std::int64_t left, const Visit& visit) {
  if (rank == tried.ranks.size()) {
    if (left == 0) visit();
    return;
  }
  for (std::int64_t b = 0; b <= left; ++b) {
    if (static_cast<std::size_t>(b) >= tried.ranks[rank]->compute_times.size()) break;
    tried.samples[rank] = b;
    if (tried.room(rank) >= 0) visit_samples(tried, rank + 1, left - b, visit);
  }
}

// Every way to share the samples, and for each the first largest share, counted up from 0, that holds all state.
StepTimes least_step_by_levels(const ShareProblem& problem) {
  TriedShares tried(problem);
  visit_samples(tried, 0, problem.samples, [&] {
    for (std::int64_t level = 0; level <= problem.state; ++level) {
      std::int64_t held = 0;
      for (std::size_t i = 0; i < tried.ranks.size(); ++i) held += std::min(level, tried.room(i));
      if (held < problem.state) continue;
      tried.met(collective_by_meaning(problem, level));
      return;
    }
  });
  return tried.least;
}

void visit_state(const ShareProblem& problem, TriedShares& tried, std::size_t rank, std::int64_t left,
                 std::int64_t largest) {
  if (rank == tried.ranks.size()) {
    if (left == 0) tried.met(collective_by_meaning(problem, largest));
    return;
  }
  for (std::int64_t bytes = 0; bytes <= std::min(left, tried.room(rank)); ++bytes)
    visit_state(problem, tried, rank + 1, left - bytes, std::max(largest, bytes));
}

// Every way to share the samples with every way to share the state, byte by byte.
StepTimes least_step_by_bytes(const ShareProblem& problem) {
  TriedShares tried(problem);
  visit_samples(tried, 0, problem.samples, [&] { visit_state(problem, tried, 0, problem.state, 0); });
  return tried.least;
}

// A plan keeps what it promises: everything is shared out, it fits, and its times are those of its shares.
void require_kept(const ShareProblem& problem, const SharePlan& plan) {
  TriedShares tried(problem);
  REQUIRE(plan.ranks.size() == tried.ranks.size());
  std::int64_t samples = 0, state = 0, largest = 0;
  for (std::size_t i = 0; i < plan.ranks.size(); ++i) {
    tried.samples[i] = plan.ranks[i].samples;
    samples += plan.ranks[i].samples;
    state += plan.ranks[i].state;
    largest = std::max(largest, plan.ranks[i].state);
    REQUIRE(plan.ranks[i].state >= 0);
    REQUIRE(plan.ranks[i].state <= tried.room(i));
  }
  REQUIRE(samples == problem.samples);
  REQUIRE(state == problem.state);
  REQUIRE(plan.compute_time == tried.compute_time());
  REQUIRE(plan.collective_time == collective_by_meaning(problem, largest));
  REQUIRE(plan.step_time == plan.compute_time + plan.collective_time);
}

// Shares as even as whole numbers allow.
std::vector<RankShare> even_shares(const ShareProblem& problem, std::int64_t ranks) {
  std::vector<RankShare> shares;
  for (std::int64_t i = 0; i < ranks; ++i)
    shares.push_back({.samples = problem.samples / ranks + (i < problem.samples % ranks ? 1 : 0),
                      .state = problem.state / ranks + (i < problem.state % ranks ? 1 : 0)});
  return shares;
}

// A fast device of 10 bytes and a slow one of 100; a sample keeps 2 bytes.
ShareProblem fast_and_slow(core::Picoseconds whole) {
  RankType fast{.capacity = 10}, slow{.capacity = 100};
  for (std::int64_t b = 0; b <= 8; ++b) {
    fast.compute_times.push_back(b);
    slow.compute_times.push_back(3 * b);
    fast.activations.push_back(2 * b);
    slow.activations.push_back(2 * b);
  }
  return {.types = {fast, slow}, .samples = 8, .state = 40, .whole = whole};
}

}  // namespace

// By hand. Coupled shares, five bytes of state to a sample: 7 b <= 10 leaves the fast device one sample, the slow one
// needs 3 x 7. Free shares: five samples fill the fast device, the slow one needs 3 x 3 and holds all state.
TEST_CASE("A fast small device and a slow large one") {
  const ShareProblem problem = fast_and_slow(0);
  CHECK(priced(problem, {{.samples = 1, .state = 5}, {.samples = 7, .state = 35}})->step_time == 21);
  CHECK_FALSE(priced(problem, {{.samples = 2, .state = 10}, {.samples = 6, .state = 30}}).has_value());
  CHECK_FALSE(priced(problem, {{.samples = 4, .state = 20}, {.samples = 4, .state = 20}}).has_value());
  const std::optional<SharePlan> best = best_shares(problem);
  REQUIRE(best.has_value());
  CHECK(best->ranks == std::vector<RankShare>{{.samples = 5, .state = 0}, {.samples = 3, .state = 40}});
  CHECK(best->step_time == 9);
  // Where all state on one device costs 400, a byte is worth 10, and a sample less makes room for two of them: b
  // samples on the fast device leave it 10 - 2 b bytes, and the step takes 3 (8 - b) + 10 (30 + 2 b) = 324 + 17 b.
  const std::optional<SharePlan> even = best_shares(fast_and_slow(400));
  REQUIRE(even.has_value());
  CHECK(even->ranks == std::vector<RankShare>{{.samples = 0, .state = 10}, {.samples = 8, .state = 30}});
  CHECK(even->step_time == 324);
}

TEST_CASE(
    "Uneven shares are those that trying all shares of samples finds, on 6,000 random clusters, 4,000 of them of four "
    "types") {
  core::Random random(20261127);
  std::size_t feasible = 0, uncoupled = 0;
  for (int i = 0; i < 6'000; ++i) {
    const ShareProblem problem = i % 3 > 0 ? random_cluster(random, {.least_types = 4})
                                           : random_cluster(random, {.types = 2, .ranks_of_type = 3, .samples = 8});
    const StepTimes least = least_step_by_levels(problem);
    const std::optional<SharePlan> best = best_shares(problem);
    REQUIRE(best.has_value() == (least != k_no_step));
    if (!best.has_value()) continue;
    ++feasible;
    REQUIRE(StepTimes(best->step_time, best->compute_time) == least);
    require_kept(problem, *best);
    for (const RankShare& each : best->ranks)
      if (each.samples * problem.state != each.state * problem.samples) {
        ++uncoupled;
        break;
      }
  }
  CHECK(feasible > 3'000);
  CHECK(uncoupled > 2'000);
}

TEST_CASE("Uneven shares are those that trying all shares of samples and bytes finds, on 2,000 small clusters") {
  core::Random random(77);
  std::size_t feasible = 0;
  for (int i = 0; i < 2'000; ++i) {
    const ShareProblem problem = random_cluster(random, {.types = 3, .samples = 6, .state = 9});
    const StepTimes least = least_step_by_bytes(problem);
    const std::optional<SharePlan> best = best_shares(problem);
    REQUIRE(best.has_value() == (least != k_no_step));
    if (!best.has_value()) continue;
    ++feasible;
    REQUIRE(StepTimes(best->step_time, best->compute_time) == least);
    require_kept(problem, *best);
  }
  CHECK(feasible > 1'000);
}

// Four types, 16 ranks, 64 samples, 96 GB of state in bytes: too many shares to try, so that only bounds hold.
TEST_CASE("The best shares are no worse than even ones nor than any coupled ones") {
  core::Random random(11);
  std::size_t even_fits = 0, coupled_fits = 0, gains = 0;
  for (int i = 0; i < 30; ++i) {
    ShareProblem problem{.samples = 64, .state = 96'000'000'000, .fixed = 1'000, .whole = 40'000'000};
    for (int t = 0; t < 4; ++t) {
      RankType type{.ranks = 4, .capacity = 1'000'000'000 * (5 + share_drawn(random, 30))};
      const std::int64_t slowness = 1'000'000 * (1 + share_drawn(random, 8));
      for (std::int64_t b = 0; b <= 64; ++b) {
        type.compute_times.push_back(slowness * b);
        type.activations.push_back(400'000'000 * b);
      }
      problem.types.push_back(std::move(type));
    }
    const std::optional<SharePlan> best = best_shares(problem);
    REQUIRE(best.has_value());
    require_kept(problem, *best);
    if (const std::optional<SharePlan> even = priced(problem, even_shares(problem, 16))) {
      ++even_fits;
      REQUIRE(best->step_time <= even->step_time);
    }
    for (int draw = 0; draw < 200; ++draw) {
      std::vector<RankShare> coupled(16);
      for (int sample = 0; sample < 64; ++sample) ++coupled[random.below(16)].samples;
      for (RankShare& each : coupled) each.state = each.samples * (problem.state / problem.samples);
      const std::optional<SharePlan> plan = priced(problem, coupled);
      if (!plan.has_value()) continue;
      ++coupled_fits;
      REQUIRE(best->step_time <= plan->step_time);
      if (best->step_time < plan->step_time) ++gains;
    }
  }
  CHECK(even_fits > 5);
  CHECK(even_fits < 30);
  CHECK(coupled_fits > 100);
  CHECK(gains > 100);
}

// By hand: even shares are the fastest where devices are alike, and what does not divide goes to the first ranks.
TEST_CASE("Devices that are alike share evenly") {
  RankType type{.ranks = 7, .capacity = 1'000};
  for (std::int64_t b = 0; b <= 21; ++b) {
    type.compute_times.push_back(5 * b);
    type.activations.push_back(b);
  }
  const std::optional<SharePlan> best =
      best_shares({.types = {type}, .samples = 21, .state = 100, .fixed = 3, .whole = 1'000});
  REQUIRE(best.has_value());
  CHECK(best->compute_time == 15);
  CHECK(best->collective_time == 3 + 150);  // 15 of 100 bytes
  for (std::size_t i = 0; i < 7; ++i) CHECK(best->ranks[i] == RankShare{.samples = 3, .state = i < 2 ? 15 : 14});
}

TEST_CASE("Clusters that hold too little, and what is no cluster") {
  ShareProblem problem = fast_and_slow(1);
  problem.types[1].capacity = 45;  // 55 bytes in all, and 16 of activations beside 40 of state
  CHECK_FALSE(best_shares(problem).has_value());
  problem.types[1].capacity = 46;
  CHECK(best_shares(problem).has_value());
  problem.samples = 17;  // tables reach 8 each
  problem.types[0].capacity = problem.types[1].capacity = 1'000;
  CHECK_FALSE(best_shares(problem).has_value());
  problem.samples = 16;
  CHECK(best_shares(problem)->compute_time == 24);
  CHECK_THROWS_AS(priced(problem, {{.samples = 16, .state = 40}}), core::ConfigurationError);
  CHECK_THROWS_AS(priced(problem, {{.samples = 8, .state = 40}, {.samples = 7}}), core::ConfigurationError);
  CHECK_THROWS_AS(priced(problem, {{.samples = 9, .state = 41}, {.samples = 7, .state = -1}}),
                  core::ConfigurationError);
  problem.types[0].activations.pop_back();
  CHECK_THROWS_AS(best_shares(problem), core::ConfigurationError);
  problem.types[0].compute_times.pop_back();
  problem.types[0].compute_times[3] = -1;
  CHECK_THROWS_AS(best_shares(problem), core::ConfigurationError);
  CHECK_THROWS_AS(best_shares({.samples = 1}), core::ConfigurationError);
}

}  // namespace cairn::allotment
