// Streams that share units, against the same tasks as one graph of the event kernel.
#include <algorithm>

#include "cairn/sim/shared_tasks.h"
#include "catch.h"
#include "predict/hand_made.h"
#include "support/demands.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr std::uint16_t k_units = 3;
constexpr core::Picoseconds k_microsecond = 1'000'000;

// Up to three units, as the price says: the same for both.
predict::UnitDemands demands_of(core::Picoseconds price) {
  core::Random random(static_cast<std::uint64_t>(price));
  predict::UnitDemands demands;
  for (std::uint16_t unit = 0; unit < k_units; ++unit)
    if (random.below(2) == 0) demands.push_back({.unit = unit, .amount = 0.1 + 0.9 * random.uniform()});
  return demands;
}

// Every step of every instance a task, every stream a resource that serves in program order.
class Graph {
 public:
  Graph(const std::vector<program::BlockRun>& runs, core::Picoseconds host_per_kernel) : per_kernel_(host_per_kernel) {
    for (std::size_t stream = 0; stream < program::k_streams; ++stream)
      streams_.push_back(builder_.add_resource(sim::Discipline::program_order));
    for (const program::BlockRun& run : runs)
      for (std::int64_t repeat = 0; repeat < run.count; ++repeat) add(*run.block);
  }

  // Ends by stream, in the order of the stream.
  std::array<std::vector<core::Picoseconds>, program::k_streams> ends() {
    shared_.capacity.assign(k_units, 1.0);
    shared_.demand_begin.push_back(static_cast<std::uint32_t>(shared_.demands.size()));
    const sim::TaskTimes times = sim::run_shared_events(builder_.build(), shared_);
    std::array<std::vector<core::Picoseconds>, program::k_streams> result;
    for (std::size_t task = 0; task < stream_of_.size(); ++task) result[stream_of_[task]].push_back(times.end[task]);
    return result;
  }

 private:
  sim::TaskId add_task(std::size_t stream, core::Picoseconds price, bool shares) {
    shared_.demand_begin.push_back(static_cast<std::uint32_t>(shared_.demands.size()));
    double dominant = 0.0;
    if (shares)
      for (const predict::UnitDemand& demand : demands_of(price)) {
        shared_.demands.push_back({.link = demand.unit, .amount = demand.amount});
        dominant = std::max(dominant, demand.amount);
      }
    shared_.weight.push_back(dominant > 0.0 ? 1.0 / dominant : 1.0);
    stream_of_.push_back(stream);
    const sim::TaskId task = builder_.add_task(price, streams_[stream]);
    latest_[stream] = static_cast<std::int64_t>(task);
    return task;
  }

  void add(const program::Block& block) {
    const auto entry = latest_;
    std::vector<sim::TaskId> steps;
    for (const program::Step& step : block.steps) {
      std::vector<sim::TaskId> before;
      for (std::size_t d = step.first_dependency; d < step.first_dependency + step.dependencies; ++d) {
        const program::Dependency dependency = block.dependencies[d];
        if (dependency >= 0)
          before.push_back(steps[static_cast<std::size_t>(dependency)]);
        else if (const std::int64_t last = entry[static_cast<std::size_t>(~dependency)]; last >= 0)
          before.push_back(static_cast<sim::TaskId>(last));
      }
      if (step.launches > 0)
        before.push_back(add_task(static_cast<std::size_t>(program::Stream::host), step.launches * per_kernel_, false));
      const auto& work = std::get<program::Transfer>(block.works[static_cast<std::size_t>(step.work)]);
      steps.push_back(add_task(static_cast<std::size_t>(step.stream), static_cast<core::Picoseconds>(work.bytes),
                               work.bytes > 0.0));
      for (const sim::TaskId task : before) builder_.add_dependency(task, steps.back());
    }
  }

  core::Picoseconds per_kernel_;
  sim::TaskGraphBuilder builder_;
  sim::SharedResources shared_;
  std::vector<sim::ResourceId> streams_;
  std::vector<std::size_t> stream_of_;  // by task
  std::array<std::int64_t, program::k_streams> latest_ = [] {
    std::array<std::int64_t, program::k_streams> none{};
    none.fill(-1);
    return none;
  }();
};

}  // namespace

TEST_CASE("Streams that share end when the tasks of one graph do", "[predict][sharing]") {
  // What ends or starts at one instant does so in another order in the two: sums of rates may differ in their last bit,
  // instants by a picosecond each time.
  std::int64_t slower = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    core::Random random(seed);
    const HandMadeBlock first = HandMadeBlock::random(random, k_microsecond);
    const HandMadeBlock second = HandMadeBlock::random(random, k_microsecond);
    const std::vector<program::BlockRun> runs{{&first.block(), 3}, {&second.block(), 2}, {&first.block(), 1}};
    const core::Picoseconds host_per_kernel = seed % 2 == 0 ? 0 : 5 * k_microsecond;
    INFO("seed " << seed);
    HandMadeProgram program(runs, host_per_kernel);
    StatedDemands demands;
    demands.all.assign(k_units, unit());
    demands.of_work = [](const program::Work&, core::Picoseconds price) { return demands_of(price); };
    const predict::EventResult result = program.event(&demands);
    const auto expected = Graph(runs, host_per_kernel).ends();
    for (std::size_t stream = 0; stream < program::k_streams; ++stream) {
      const std::vector<predict::Span>& spans = result.last.steps[stream];
      REQUIRE(spans.size() == expected[stream].size());
      for (std::size_t i = 0; i < spans.size(); ++i)
        REQUIRE(std::abs(spans[i].end - expected[stream][i]) <= static_cast<core::Picoseconds>(spans.size()) * 10);
    }
    if (result.makespan.time > program.analytic()) ++slower;
  }
  REQUIRE(slower > 200);
}
