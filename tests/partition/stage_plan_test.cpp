#include "cairn/partition/stage_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"

namespace cairn::partition {
namespace {

// A problem with a table of prices.
struct PricedStages {
  StageProblem problem;
  std::map<std::tuple<std::int64_t, std::int64_t, std::size_t, std::int64_t>, StageCost> prices;

  std::optional<StageCost> price(const StageShape& shape) const {
    const auto found = prices.find({shape.first, shape.last, shape.submesh, shape.remaining});
    return found == prices.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<StagePlan> plan(core::Picoseconds epsilon = 0) const {
    return plan_stages(
        problem, [&](const StageShape& shape) { return price(shape); }, epsilon);
  }
};

// Layers of random times and bytes on random submeshes; some stages have no price, and times depend on the position.
PricedStages random_stages(core::Random& random) {
  PricedStages result;
  StageProblem& problem = result.problem;
  problem.layers = 1 + static_cast<std::int64_t>(random.below(6));
  problem.devices = 1 + static_cast<std::int64_t>(random.below(8));
  problem.micro_batches = 1 + static_cast<std::int64_t>(random.below(6));
  problem.capacity = 20 + static_cast<std::int64_t>(random.below(80));
  for (std::int64_t size = 1; size <= 4; size = size == 2 ? 4 : size + 1)
    if (random.below(8) != 0 || size == 1) problem.submeshes.push_back({.name = "", .devices = size});
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random.below(bound)); };
  for (std::int64_t first = 0; first < problem.layers; ++first) {
    for (std::size_t m = 0; m < problem.submeshes.size(); ++m) {
      const std::int64_t size = problem.submeshes[m].devices;
      StageCost cost;
      for (std::int64_t last = first; last < problem.layers; ++last) {
        cost.time += 1 + below(40) / size;
        cost.resident += below(20) / size;
        cost.per_micro_batch += below(40) / size;
        for (std::int64_t remaining = 1; remaining <= problem.layers; ++remaining) {
          StageCost here = cost;
          if (random.below(4) == 0) here.time += below(5);
          if (random.below(20) != 0) result.prices[{first, last, m, remaining}] = here;
        }
      }
    }
  }
  return result;
}

// T by trying every list of (last layer, submesh); `anywhere`: each stage holds as little as the last one does.
class EveryPlan {
 public:
  explicit EveryPlan(const PricedStages& stages, bool anywhere = false) : stages_(stages), anywhere_(anywhere) {
    extend(0, stages.problem.devices);
  }
  std::optional<core::Picoseconds> least() const { return least_; }

 private:
  void extend(std::int64_t first, std::int64_t devices) {
    if (first == stages_.problem.layers && devices == 0) price_list();
    if (first == stages_.problem.layers) return;
    for (std::int64_t last = first; last < stages_.problem.layers; ++last)
      for (std::size_t m = 0; m < stages_.problem.submeshes.size(); ++m) {
        if (stages_.problem.submeshes[m].devices > devices) continue;
        list_.push_back({.first = first, .last = last, .submesh = m, .remaining = 0});
        extend(last + 1, devices - stages_.problem.submeshes[m].devices);
        list_.pop_back();
      }
  }

  void price_list() {
    core::Picoseconds sum = 0, longest = 0;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      StageShape shape = list_[i];
      shape.remaining = static_cast<std::int64_t>(list_.size() - i);
      const std::optional<StageCost> cost = stages_.price(shape);
      if (!cost) return;
      const std::int64_t held = anywhere_ ? 1 : std::min(shape.remaining, stages_.problem.micro_batches);
      if (cost->resident + held * cost->per_micro_batch > stages_.problem.capacity) return;
      sum += cost->time;
      longest = std::max(longest, cost->time);
    }
    const core::Picoseconds total = sum + (stages_.problem.micro_batches - 1) * longest;
    if (!least_ || total < *least_) least_ = total;
  }

  const PricedStages& stages_;
  bool anywhere_;
  std::vector<StageShape> list_;
  std::optional<core::Picoseconds> least_;
};

// The plan covers all layers and devices, fits, and says what it costs.
void require_sound(const StagePlan& plan, const PricedStages& stages) {
  std::int64_t next = 0, devices = 0;
  core::Picoseconds sum = 0, longest = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const PlannedStage& stage = plan.stages[i];
    REQUIRE(stage.first == next);
    REQUIRE(stage.last >= stage.first);
    const auto remaining = static_cast<std::int64_t>(plan.stages.size() - i);
    const std::optional<StageCost> cost =
        stages.price({.first = stage.first, .last = stage.last, .submesh = stage.submesh, .remaining = remaining});
    REQUIRE(cost);
    REQUIRE(stage.time == cost->time);
    REQUIRE(cost->resident + std::min(remaining, stages.problem.micro_batches) * cost->per_micro_batch <=
            stages.problem.capacity);
    next = stage.last + 1;
    devices += stages.problem.submeshes[stage.submesh].devices;
    sum += stage.time;
    longest = std::max(longest, stage.time);
  }
  REQUIRE(next == stages.problem.layers);
  REQUIRE(devices == stages.problem.devices);
  REQUIRE(plan.sum == sum);
  REQUIRE(plan.bottleneck == longest);
  REQUIRE(plan.total == sum + (stages.problem.micro_batches - 1) * longest);
}

// Layers with the same price each, divided by the devices of a submesh.
StagePrice layers_alike(const StageProblem& problem, StageCost layer) {
  return [&problem, layer](const StageShape& shape) -> std::optional<StageCost> {
    const std::int64_t count = shape.last - shape.first + 1, devices = problem.submeshes[shape.submesh].devices;
    return StageCost{.time = layer.time * count / devices,
                     .resident = layer.resident * count / devices,
                     .per_micro_batch = layer.per_micro_batch * count / devices};
  };
}

}  // namespace

TEST_CASE("The pipeline of the header's example") {
  PricedStages stages{
      .problem = {.layers = 3, .devices = 2, .micro_batches = 4, .submeshes = {{.name = "1x1", .devices = 1}}},
      .prices = {}};
  const core::Picoseconds times[] = {3, 1, 2};
  for (std::int64_t first = 0; first < 3; ++first)
    for (std::int64_t last = first, sum = 0; last < 3; ++last) {
      sum += times[last];
      for (const std::int64_t remaining : {1, 2}) stages.prices[{first, last, 0, remaining}].time = sum;
    }
  const std::optional<StagePlan> plan = stages.plan();
  REQUIRE(plan);
  CHECK(plan->total == 15);
  CHECK(plan->bottleneck == 3);
  REQUIRE(plan->stages.size() == 2);
  CHECK(plan->stages[0].last == 0);
}

TEST_CASE("A plan of stages takes what the best of all plans takes, on 3,000 random chains") {
  core::Random random(20220711);
  int infeasible = 0, without_capacity = 0, capped = 0, position = 0;
  for (int i = 0; i < 3000; ++i) {
    const PricedStages stages = random_stages(random);
    const EveryPlan every(stages);
    const std::optional<StagePlan> plan = stages.plan();
    REQUIRE(plan.has_value() == every.least().has_value());
    infeasible += !plan;
    PricedStages roomy = stages;
    roomy.problem.capacity = std::numeric_limits<std::int64_t>::max();
    const std::optional<core::Picoseconds> unlimited = EveryPlan(roomy).least();
    without_capacity += !plan && unlimited;
    capped += unlimited != every.least();
    position += EveryPlan(stages, true).least() != every.least();
    if (!plan) continue;
    require_sound(*plan, stages);
    REQUIRE(plan->total == *every.least());
  }
  INFO("of 3,000: " << infeasible << " fit nowhere, " << without_capacity << " of them for want of bytes, " << capped
                    << " are changed by the capacity, " << position << " by the positions of stages");
  CHECK(infeasible > 600);
  CHECK(infeasible < 2000);
  CHECK(without_capacity > 300);
  CHECK(capped > 900);
  CHECK(position > 300);
}

TEST_CASE("More memory or one more kind of submesh makes no plan of stages slower") {
  core::Random random(5);
  int faster_by_memory = 0, faster_by_submesh = 0;
  for (int i = 0; i < 500; ++i) {
    PricedStages stages = random_stages(random);
    const std::optional<StagePlan> plan = stages.plan();
    PricedStages more = stages;
    more.problem.capacity += 1 + static_cast<std::int64_t>(random.below(40));
    const std::optional<StagePlan> roomier = more.plan();
    if (plan) REQUIRE(roomier);
    if (plan) REQUIRE(roomier->total <= plan->total);
    faster_by_memory += roomier && (!plan || roomier->total < plan->total);
    if (stages.problem.submeshes.size() < 2) continue;
    stages.problem.submeshes.pop_back();
    const std::optional<StagePlan> without = stages.plan();
    if (without) REQUIRE(plan);
    if (without) REQUIRE(plan->total <= without->total);
    faster_by_submesh += plan && (!without || plan->total < without->total);
  }
  CHECK(faster_by_memory > 50);
  CHECK(faster_by_submesh > 50);
}

TEST_CASE("Stage times within epsilon of one another cost at most (B - 1) epsilon and fewer recurrences") {
  core::Random random(6);
  int slower = 0;
  std::size_t tried = 0, tried_exactly = 0;
  for (int i = 0; i < 500; ++i) {
    const PricedStages stages = random_stages(random);
    const core::Picoseconds epsilon = 1 + static_cast<core::Picoseconds>(random.below(20));
    const std::optional<StagePlan> exact = stages.plan(), near = stages.plan(epsilon);
    REQUIRE(exact.has_value() == near.has_value());
    if (!exact) continue;
    require_sound(*near, stages);
    REQUIRE(near->total >= exact->total);
    REQUIRE(near->total <= exact->total + (stages.problem.micro_batches - 1) * epsilon);
    slower += near->total > exact->total;
    tried += near->tried;
    tried_exactly += exact->tried;
  }
  CHECK(slower > 0);
  CHECK(tried < tried_exactly);
}

// Twelve layers of 6 ps on four devices. With one device a stage: three layers each, 18 ps, T = 4*18 + 7*18. All four
// devices on one stage divide every layer: 12*6/4 = 18 ps, T = 18 + 7*18, which is less.
TEST_CASE("Layers alike on submeshes alike make stages alike") {
  StageProblem problem{
      .layers = 12, .devices = 4, .micro_batches = 8, .capacity = 0, .submeshes = {{.name = "1x1", .devices = 1}}};
  const std::optional<StagePlan> pipeline = plan_stages(problem, layers_alike(problem, {.time = 6}));
  REQUIRE(pipeline);
  CHECK(pipeline->total == 4 * 18 + 7 * 18);
  REQUIRE(pipeline->stages.size() == 4);
  for (const PlannedStage& stage : pipeline->stages) CHECK(stage.last - stage.first + 1 == 3);
  problem.submeshes = submesh_shapes(1, 4);
  const std::optional<StagePlan> whole = plan_stages(problem, layers_alike(problem, {.time = 6}));
  REQUIRE(whole);
  CHECK(whole->total == 18 + 7 * 18);
  CHECK(whole->stages.size() == 1);
}

// Four layers of 1 byte a micro-batch on two devices with B = 2: the first stage holds two micro-batches, the last one.
// With 3 bytes, two layers a stage hold 4 and 2: only one layer first, 2 and 3, fits. With 2 bytes nothing fits.
TEST_CASE("A first stage that holds more micro-batches takes fewer layers") {
  StageProblem problem{
      .layers = 4, .devices = 2, .micro_batches = 2, .capacity = 4, .submeshes = {{.name = "1x1", .devices = 1}}};
  const StageCost layer{.time = 10, .resident = 0, .per_micro_batch = 1};
  const std::optional<StagePlan> equal = plan_stages(problem, layers_alike(problem, layer));
  REQUIRE(equal);
  CHECK(equal->stages[0].last == 1);
  problem.capacity = 3;
  const std::optional<StagePlan> shifted = plan_stages(problem, layers_alike(problem, layer));
  REQUIRE(shifted);
  CHECK(shifted->stages[0].last == 0);
  CHECK(shifted->total == 10 + 30 + 30);
  problem.capacity = 2;
  CHECK_FALSE(plan_stages(problem, layers_alike(problem, layer)));
}

TEST_CASE("Shapes of submeshes: powers of two within a node, then whole nodes") {
  const auto sizes = [](std::int64_t nodes, std::int64_t devices_per_node) {
    std::vector<std::int64_t> result;
    for (const Submesh& each : submesh_shapes(nodes, devices_per_node)) result.push_back(each.devices);
    return result;
  };
  CHECK(sizes(3, 8) == std::vector<std::int64_t>{1, 2, 4, 8, 16, 24});
  CHECK(sizes(2, 6) == std::vector<std::int64_t>{1, 2, 4, 6, 12});
  CHECK(sizes(2, 1) == std::vector<std::int64_t>{1, 2});
  CHECK(submesh_shapes(3, 8).back().name == "3x8");
  CHECK_THROWS_AS(submesh_shapes(0, 8), core::ConfigurationError);
  CHECK_THROWS_AS(submesh_shapes(1, 0), core::ConfigurationError);
}

TEST_CASE("What a plan of stages cannot be made from is refused") {
  const StageProblem sound{
      .layers = 2, .devices = 2, .micro_batches = 2, .capacity = 1, .submeshes = {{.name = "1x1", .devices = 1}}};
  const auto refuses = [](const StageProblem& problem, StageCost cost, core::Picoseconds epsilon = 0) {
    try {
      plan_stages(
          problem, [&](const StageShape&) { return cost; }, epsilon);
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().front().key_path;
    }
    return std::string();
  };
  const auto changed = [&](auto change) {
    StageProblem problem = sound;
    change(problem);
    return problem;
  };
  CHECK(refuses(sound, {}) == "");
  CHECK(refuses(changed([](StageProblem& p) { p.layers = 0; }), {}) == "layers");
  CHECK(refuses(changed([](StageProblem& p) { p.layers = 100'000; }), {}) == "layers");
  CHECK(refuses(changed([](StageProblem& p) { p.devices = 0; }), {}) == "devices");
  CHECK(refuses(changed([](StageProblem& p) { p.micro_batches = 0; }), {}) == "micro_batches");
  CHECK(refuses(changed([](StageProblem& p) { p.capacity = -1; }), {}) == "capacity");
  CHECK(refuses(changed([](StageProblem& p) { p.submeshes.clear(); }), {}) == "submeshes");
  CHECK(refuses(changed([](StageProblem& p) { p.submeshes[0].devices = 0; }), {}) == "submeshes");
  CHECK(refuses(sound, {}, -1) == "epsilon");
  CHECK(refuses(sound, {.time = -1}) == "stage");
  CHECK(refuses(sound, {.time = core::k_reach / 2}) == "stage");
  CHECK(refuses(sound, {.resident = -1}) == "stage");
  // A stage that does not fit is no error, however large it is.
  CHECK(refuses(sound, {.per_micro_batch = std::numeric_limits<std::int64_t>::max()}) == "");
}

}  // namespace cairn::partition
