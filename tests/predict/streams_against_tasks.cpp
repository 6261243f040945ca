// The streams of one rank, against the same tasks as one list that is solved in the plainest way.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.h"
#include "predict/hand_made.h"
#include "support/demands.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr std::uint16_t k_units = 3;
constexpr core::Picoseconds k_microsecond = 1'000'000;
constexpr double k_least_amount = 0.1;

// Up to three units, as the price says: the same for both.
predict::UnitDemands demands_of(core::Picoseconds price) {
  core::Random random(static_cast<std::uint64_t>(price));
  predict::UnitDemands demands;
  for (std::uint16_t unit = 0; unit < k_units; ++unit)
    if (random.below(2) == 0)
      demands.push_back({.unit = unit, .amount = k_least_amount + (1.0 - k_least_amount) * random.uniform()});
  return demands;
}

// Every step of every instance and every launch is a task. It follows the task before it on its stream and what its
// step depends on; all of these stand before it in the list.
class TaskList {
 public:
  TaskList(const std::vector<program::BlockRun>& runs, core::Picoseconds host_per_kernel)
      : per_kernel_(host_per_kernel) {
    latest_.fill(k_none);
    for (const program::BlockRun& run : runs)
      for (std::int64_t repeat = 0; repeat < run.count; ++repeat) add(*run.block);
  }

  using Ends = std::array<std::vector<long double>, program::k_streams>;  // by stream, in the order of the stream

  // end(t) = price(t) + the latest end of those it follows.
  Ends alone() const {
    std::vector<long double> end(tasks_.size(), 0.0L);
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      for (const std::size_t before : tasks_[t].after) end[t] = std::max(end[t], end[before]);
      end[t] += tasks_[t].price;
    }
    return by_stream(end);
  }

  // In real time: at every instant at which a task begins or ends, the speeds of all that run are found afresh.
  Ends shared() const {
    std::vector<long double> end(tasks_.size(), k_never), left;
    for (const Task& task : tasks_) left.push_back(task.price);
    for (long double now = 0.0L;;) {
      const std::vector<std::size_t> running = running_at(now, left, end);
      if (running.empty()) return by_stream(end);
      const std::vector<long double> speed = speeds(running);
      long double next = k_never;
      for (std::size_t i = 0; i < running.size(); ++i) next = std::min(next, left[running[i]] / speed[i]);
      for (std::size_t i = 0; i < running.size(); ++i) left[running[i]] -= speed[i] * next;
      now += next;
    }
  }

 private:
  static constexpr std::size_t k_none = ~std::size_t{0};
  static constexpr long double k_never = std::numeric_limits<long double>::infinity();
  static constexpr long double k_done = 1e-9L;  // [ps] left: rounding of sums

  struct Task {
    std::size_t stream;
    long double price;
    std::vector<std::size_t> after;
    predict::UnitDemands demands;
  };

  std::size_t append(std::size_t stream, core::Picoseconds price, bool shares) {
    tasks_.push_back({.stream = stream, .price = static_cast<long double>(price), .after = {}, .demands = {}});
    if (shares) tasks_.back().demands = demands_of(price);
    if (latest_[stream] != k_none) tasks_.back().after.push_back(latest_[stream]);
    return latest_[stream] = tasks_.size() - 1;
  }

  void add(const program::Block& block) {
    const auto entry = latest_;
    std::vector<std::size_t> steps;
    for (const program::Step& step : block.steps) {
      std::vector<std::size_t> before;
      for (std::size_t d = step.first_dependency; d < step.first_dependency + step.dependencies; ++d) {
        const program::Dependency dependency = block.dependencies[d];
        before.push_back(dependency >= 0 ? steps[static_cast<std::size_t>(dependency)]
                                         : entry[static_cast<std::size_t>(~dependency)]);
      }
      if (step.launches > 0)
        before.push_back(append(static_cast<std::size_t>(program::Stream::host), step.launches * per_kernel_, false));
      const auto price = static_cast<core::Picoseconds>(
          std::get<program::Transfer>(block.works[static_cast<std::size_t>(step.work)]).bytes);
      steps.push_back(append(static_cast<std::size_t>(step.stream), price, price > 0));
      for (const std::size_t task : before)
        if (task != k_none) tasks_.back().after.push_back(task);
    }
  }

  // What has nothing left ends now, what follows only such begins; until nothing more ends.
  std::vector<std::size_t> running_at(long double now, const std::vector<long double>& left,
                                      std::vector<long double>& end) const {
    std::vector<std::size_t> running;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const std::vector<std::size_t>& after = tasks_[t].after;
      if (end[t] < k_never ||
          !std::all_of(after.begin(), after.end(), [&](std::size_t before) { return end[before] < k_never; }))
        continue;
      if (left[t] <= k_done)
        end[t] = now;
      else
        running.push_back(t);
    }
    return running;
  }

  // Max-min in x_t d_t, x_t <= 1: all x_t d_t grow together until a unit is full or a task is at full speed.
  std::vector<long double> speeds(const std::vector<std::size_t>& running) const {
    std::vector<long double> speed(running.size(), k_never);
    std::array<long double, k_units> free;
    free.fill(1.0L);
    const auto settle = [&](std::size_t i, long double x) {
      speed[i] = x;
      for (const predict::UnitDemand& demand : tasks_[running[i]].demands) free[demand.unit] -= demand.amount * x;
    };
    for (;;) {
      std::array<long double, k_units> pull{};
      long double level = k_never;
      for (std::size_t i = 0; i < running.size(); ++i) {
        if (speed[i] < k_never) continue;
        level = std::min(level, dominant(running[i]));
        for (const predict::UnitDemand& demand : tasks_[running[i]].demands)
          pull[demand.unit] += demand.amount / dominant(running[i]);
      }
      if (level == k_never) return speed;
      std::size_t full = k_none;
      for (std::size_t unit = 0; unit < k_units; ++unit)
        if (pull[unit] > 0.0L && free[unit] / pull[unit] < level) level = free[full = unit] / pull[unit];
      for (std::size_t i = 0; i < running.size(); ++i) {
        if (speed[i] < k_never) continue;
        const predict::UnitDemands& demands = tasks_[running[i]].demands;
        const bool held = full == k_none ? dominant(running[i]) == level
                                         : std::any_of(demands.begin(), demands.end(),
                                                       [&](const auto& demand) { return demand.unit == full; });
        if (held) settle(i, full == k_none ? 1.0L : level / dominant(running[i]));
      }
    }
  }

  // What takes nothing of any unit runs at full speed, whatever its share.
  long double dominant(std::size_t task) const {
    long double most = 0.0L;
    for (const predict::UnitDemand& demand : tasks_[task].demands)
      most = std::max(most, static_cast<long double>(demand.amount));
    return most > 0.0L ? most : 1.0L;
  }

  Ends by_stream(const std::vector<long double>& end) const {
    Ends result;
    for (std::size_t t = 0; t < tasks_.size(); ++t) result[tasks_[t].stream].push_back(end[t]);
    return result;
  }

  core::Picoseconds per_kernel_;
  std::vector<Task> tasks_;
  std::array<std::size_t, program::k_streams> latest_;
};

struct RandomRuns {
  explicit RandomRuns(std::uint64_t seed)
      : random(seed),
        first(HandMadeBlock::random(random, k_microsecond)),
        second(HandMadeBlock::random(random, k_microsecond)),
        host_per_kernel(seed % 2 == 0 ? 0 : 5 * k_microsecond) {}
  RandomRuns(const RandomRuns&) = delete;

  core::Random random;
  HandMadeBlock first, second;
  core::Picoseconds host_per_kernel;
  std::vector<program::BlockRun> runs{{&first.block(), 3}, {&second.block(), 2}, {&first.block(), 1}};
};

StatedDemands three_units(std::function<predict::UnitDemands(core::Picoseconds)> demands) {
  StatedDemands result;
  result.all.assign(k_units, unit());
  result.of_work = [demands = std::move(demands)](const program::Work&, core::Picoseconds price) {
    return demands(price);
  };
  return result;
}

// `per_task`: by how much an end may differ for every task of its stream up to it [ps].
void require_ends(const predict::EventResult& result, const TaskList::Ends& expected, long double per_task) {
  for (std::size_t stream = 0; stream < program::k_streams; ++stream) {
    const std::vector<predict::Span>& spans = result.last.steps[stream];
    REQUIRE(spans.size() == expected[stream].size());
    for (std::size_t i = 0; i < spans.size(); ++i)
      REQUIRE(std::abs(static_cast<long double>(spans[i].end) - expected[stream][i]) <=
              static_cast<long double>(spans.size()) * per_task);
  }
}

}  // namespace

TEST_CASE("Streams end when the tasks of one list do, with a clock of their own each and with one for all") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    const RandomRuns c(seed);
    HandMadeProgram program(c.runs, c.host_per_kernel);
    const TaskList::Ends expected = TaskList(c.runs, c.host_per_kernel).alone();
    require_ends(program.event(), expected, 0.0L);
    StatedDemands none = three_units([](core::Picoseconds) { return predict::UnitDemands{}; });
    require_ends(program.event(&none), expected, 0.0L);
  }
}

TEST_CASE("Streams that share end when the tasks of one list do", "[predict][sharing]") {
  // A task that ends half a picosecond early or late lets another run slower or faster for as long; one that wants a
  // tenth as much of a unit makes up for it in ten times the time.
  constexpr auto k_per_task = static_cast<long double>(1.0 / k_least_amount);
  std::int64_t slower = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    const RandomRuns c(seed);
    HandMadeProgram program(c.runs, c.host_per_kernel);
    StatedDemands demands = three_units(demands_of);
    const predict::EventResult result = program.event(&demands);
    require_ends(result, TaskList(c.runs, c.host_per_kernel).shared(), k_per_task);
    if (result.makespan.time > program.analytic()) ++slower;
  }
  REQUIRE(slower > 200);
}
