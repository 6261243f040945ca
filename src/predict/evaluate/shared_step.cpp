#include "shared_step.h"

#include <algorithm>

#include "at.h"
#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::predict {

SharedStep::Runner::Runner(const Order& its, const EventOptions& options, std::int64_t rank)
    : order(&its), speed(options, rank), times(its.script->passes()) {}

SharedStep::SharedStep(const RankClasses& classes, const StageScripts& scripts, const EventOptions& options)
    : classes_(classes),
      progress_(options.progress),
      units_(options.demands->units()),
      interferes_(options.demands->interferes()),
      instances_(classes, units_),
      usage_(instances_.links()),
      meetings_(classes),
      flows_(at(classes.actors()) * program::k_streams) {
  for (std::uint32_t link = 0; link < instances_.links(); ++link) work_.add_link(1.0);
  order_blocks(scripts, *options.demands);
  runners_.reserve(at(classes.actors()));
  for (std::int64_t id = 0; id < classes.actors(); ++id)
    runners_.emplace_back(orders_[at(classes.stage(id))], options, classes.rank(id));
  if (!options.all_timelines) return;
  for (std::size_t stage = 0; stage < orders_.size(); ++stage)
    for (std::size_t unit = 0; unit < units_.size(); ++unit)
      for (const UnitInstances::Seat& seat :
           instances_.seats(classes.first(static_cast<std::int32_t>(stage)), static_cast<std::uint16_t>(unit)))
        usage_.trace(seat.link);
}

void SharedStep::order_blocks(const StageScripts& scripts, Demands& demands) {
  const std::int64_t stages = classes_.actors() / classes_.per_stage();
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    Order order;
    order.script = &scripts[stage];
    std::array<std::int64_t, program::k_streams> base{};
    for (const StageScript::Stretch& stretch : order.script->stretches) {
      order.base.push_back(base);
      order.demands.push_back(&demands_of(*stretch.block, demands));
      for (std::size_t stream = 0; stream < program::k_streams; ++stream)
        base[stream] += stretch.times * stretch.block->count(stream);
    }
    orders_.push_back(std::move(order));
  }
}

const std::vector<UnitDemands>& SharedStep::demands_of(const BlockLayout& layout, Demands& demands) {
  auto& slot = known_[&layout];
  if (slot) return *slot;
  slot = std::make_unique<std::vector<UnitDemands>>(layout.block().works.size());
  for (std::size_t stream = 0; stream < program::k_streams; ++stream)
    for (std::int32_t index = 0; index < layout.count(stream); ++index) {
      const Task& task = layout.task(stream, index);
      if (task.work < 0 || task.duration == 0) continue;
      (*slot)[at(task.work)] = demands.of(layout.block().works[at(task.work)], task.duration);
    }
  return *slot;
}

void SharedStep::run() {
  for (std::int64_t id = 0; id < classes_.actors(); ++id)
    for (const std::size_t stream : runners_[at(id)].order->script->busy) ready_.push_back(tag(id, stream));
  drain();
  settle();
  const auto all = at(tasks());
  while (!queue_.empty()) {
    if (progress_) progress_(at(done_), all);
    do {
      const Event event = queue_.pop();
      if (event.kind == Kind::end) {
        end_work(event.which);
      } else {
        ended_.clear();
        work_.wake(event.which, queue_.now(), ended_);
        for (const Tag each : ended_) {
          for (const sim::Demand& demand : flows_[each]) touched_.push_back(demand.link);
          changed_ = true;
          end_work(each);
        }
      }
      drain();
    } while (queue_.pending_now());
    settle();
  }
  for (const Runner& runner : runners_)
    for (const std::size_t stream : runner.order->script->busy) {
      Lane lane = runner.lanes[stream];
      if (lane.running)  // what shares units so long that nothing is told to wake it
        throw core::ConfigurationError("simulation.contention",
                                       "what shares links ends later than simulated time reaches",
                                       "turn contention off, or raise the cluster's bandwidths");
      CAIRN_ASSERT(!at_task(*runner.order, lane, stream));
    }
}

void SharedStep::settle() {
  if (!changed_) return;
  changed_ = false;
  const core::Picoseconds now = queue_.now();
  work_.settle(now);
  for (const sim::SharedWork::Wake& wake : work_.wakes()) queue_.push(wake.time, {Kind::wake, wake.slot});
  const sim::FairShare& sharing = work_.sharing();
  const auto see = [&](sim::LinkId link) {
    if (link < usage_.links()) usage_.set(link, now, sharing.load(link));
  };
  for (const sim::LinkId link : touched_) see(link);
  touched_.clear();
  for (std::size_t i = 0; i < sharing.solved_groups(); ++i)
    for (const sim::LinkId link : sharing.links_of(sharing.solved(i).group)) see(link);
}

void SharedStep::drain() {
  while (!ready_.empty()) {
    const Tag next = ready_.back();
    ready_.pop_back();
    try_start(next);
  }
}

// Moves on to the stream's next task; false when there is none.
bool SharedStep::at_task(const Order& order, Lane& lane, std::size_t stream) const {
  const auto& stretches = order.script->stretches;
  while (lane.stretch < stretches.size()) {
    const std::int32_t count = stretches[lane.stretch].block->count(stream);
    if (lane.task < count) return true;
    lane.task = 0;
    if (count == 0 || ++lane.repeat == stretches[lane.stretch].times) {
      ++lane.stretch;
      lane.repeat = 0;
    }
  }
  return false;
}

// Whether what the task needs has ended; if not, the stream is told when that changes.
bool SharedStep::may_start(Runner& runner, std::size_t stream) const {
  Lane& lane = runner.lanes[stream];
  const StageScript::Stretch& stretch = runner.order->script->stretches[lane.stretch];
  const BlockLayout& block = *stretch.block;
  for (const Need& need : block.needs(block.task(stream, lane.task))) {
    const auto other = static_cast<std::size_t>(need.stream);
    if (other == k_arrival) {
      if (runner.times.arrival(stretch.pass).end != k_unknown) continue;
      lane.awaited = 0;
    } else {
      lane.awaited = runner.order->base[lane.stretch][other] + lane.repeat * block.count(other) + need.task + 1;
      if (runner.lanes[other].ended >= lane.awaited) continue;
    }
    runner.waiting[other] |= std::uint32_t{1} << stream;
    return false;
  }
  return true;
}

void SharedStep::try_start(Tag tag) {
  const std::int64_t actor = tag / program::k_streams;
  const std::size_t stream = tag % program::k_streams;
  Runner& runner = runners_[at(actor)];
  Lane& lane = runner.lanes[stream];
  if (lane.running || !at_task(*runner.order, lane, stream) || !may_start(runner, stream)) return;
  lane.running = true;
  const Task& task = runner.order->script->stretches[lane.stretch].block->task(stream, lane.task);
  if (task.kind == TaskKind::joins)
    meet(actor, stream, task);
  else
    start(actor, stream, task);
}

void SharedStep::meet(std::int64_t actor, std::size_t stream, const Task& task) {
  const Communicator communicator = classes_.communicator(actor, task.axis, *task.group);
  if (meetings_.join(communicator, stream, queue_.now()) != k_unknown) start(actor, stream, task);
}

// Starts a collective, now that `actor`, the last to be ready, is.
void SharedStep::start(std::int64_t actor, std::size_t stream, const Task& task) {
  Runner& runner = runners_[at(actor)];
  const core::Picoseconds now = queue_.now();
  const core::Picoseconds duration = task.kind == TaskKind::lost && interferes_ ? 0 : runner.speed.duration(task, now);
  const bool joins = task.kind == TaskKind::joins;
  const Communicator communicator =
      joins ? classes_.communicator(actor, task.axis, *task.group) : Communicator{.first = actor};
  const auto member = [&](std::int64_t index) { return joins ? classes_.member(communicator, index) : actor; };
  for (std::int64_t index = 0; index < communicator.size; ++index)
    runners_[at(member(index))].lanes[stream].start = now;
  if (duration == 0) return end_work(tag(actor, stream));

  const Lane& lane = runner.lanes[stream];
  const Order& order = *runner.order;
  Flow flow;
  double dominant = 0.0;
  if (task.work >= 0)
    for (const UnitDemand& demand : (*order.demands[lane.stretch])[at(task.work)]) {
      const SharedUnit& unit = units_[demand.unit];
      const double scale = unit.kind == UnitKind::processors || duration == task.duration
                               ? 1.0
                               : static_cast<double>(task.duration) / static_cast<double>(duration);
      dominant = std::max(dominant, scale * demand.amount * static_cast<double>(unit.ranks));
      if (!demand.at_receiver) {
        for (std::int64_t index = 0; index < communicator.size; ++index) add(flow, member(index), demand, scale);
        continue;
      }
      for (const PassId& receiver : order.script->consumers_of(order.script->stretches[lane.stretch].pass))
        add(flow, classes_.across(actor, receiver.stage), demand, scale);
    }
  if (flow.empty())
    queue_.push(now + duration, {Kind::end, tag(actor, stream)});
  else
    share(tag(actor, stream), flow, duration, dominant);
}

void SharedStep::add(Flow& flow, std::int64_t actor, const UnitDemand& demand, double scale) const {
  for (const UnitInstances::Seat& seat : instances_.seats(actor, demand.unit)) {
    const double amount = scale * demand.amount * seat.ranks;
    const auto same =
        std::find_if(flow.begin(), flow.end(), [&](const sim::Demand& other) { return other.link == seat.link; });
    if (same == flow.end())
      flow.push_back({.link = seat.link, .amount = amount});
    else
      same->amount += amount;
  }
}

void SharedStep::share(Tag tag, const Flow& flow, core::Picoseconds duration, double dominant) {
  bool limited = false;  // at full speed the work uses a whole unit, so the unit itself bounds its speed
  for (const sim::Demand& demand : flow) {
    limited = limited || demand.amount >= 1.0;
    touched_.push_back(demand.link);
  }
  work_.start({flow.data(), flow.size()}, core::to_seconds(duration), tag, 1.0 / dominant,
              limited ? sim::FairShare::k_unbounded : 1.0);
  flows_[tag].assign(flow.begin(), flow.end());
  changed_ = true;
}

// The task that `tag` stands for has ended, for all who met.
void SharedStep::end_work(Tag tag) {
  const std::int64_t actor = tag / program::k_streams;
  const std::size_t stream = tag % program::k_streams;
  const Runner& runner = runners_[at(actor)];
  const Lane& lane = runner.lanes[stream];
  const Task& task = runner.order->script->stretches[lane.stretch].block->task(stream, lane.task);
  if (task.kind != TaskKind::joins) return finish(actor, stream);
  const Communicator communicator = classes_.communicator(actor, task.axis, *task.group);
  for (std::int64_t index = 0; index < communicator.size; ++index) finish(classes_.member(communicator, index), stream);
}

void SharedStep::finish(std::int64_t actor, std::size_t stream) {
  Runner& runner = runners_[at(actor)];
  Lane& lane = runner.lanes[stream];
  ++done_;
  const StageScript::Stretch& stretch = runner.order->script->stretches[lane.stretch];
  const Task& task = stretch.block->task(stream, lane.task);
  const Span span{.start = lane.start, .end = queue_.now()};
  runner.times.add(stream, stretch.pass, span);
  lane.running = false;
  ++lane.task;
  ++lane.ended;
  free_waiting(actor, stream);
  ready_.push_back(tag(actor, stream));
  if (task.kind != TaskKind::sends) return;
  for (const PassId& consumer : runner.order->script->consumers_of(stretch.pass)) arrive(actor, consumer, span);
}

void SharedStep::arrive(std::int64_t sender, const PassId& consumer, Span message) {
  const std::int64_t id = classes_.across(sender, consumer.stage);
  runners_[at(id)].times.arrive(consumer.position, message);
  free_waiting(id, k_arrival);
}

// Those that waited for what has just changed of a stream try again.
void SharedStep::free_waiting(std::int64_t actor, std::size_t stream) {
  Runner& runner = runners_[at(actor)];
  std::uint32_t left = runner.waiting[stream];
  for (std::size_t lane = 0; left != 0; ++lane, left >>= 1) {
    if ((left & 1) == 0 || runner.lanes[lane].awaited > runner.lanes[stream].ended) continue;
    runner.waiting[stream] &= ~(std::uint32_t{1} << lane);
    ready_.push_back(tag(actor, lane));
  }
}

std::int64_t SharedStep::tasks() const {
  std::int64_t sum = 0;
  for (const Order& order : orders_) sum += order.script->tasks() * classes_.per_stage();
  return sum;
}

std::vector<UnitUse> SharedStep::uses(core::Picoseconds end) const {
  std::vector<UnitUse> result;
  for (std::size_t stage = 0; stage < orders_.size(); ++stage) {
    const std::int64_t first = classes_.first(static_cast<std::int32_t>(stage));
    for (std::uint16_t unit = 0; unit < units_.size(); ++unit) {
      UnitUse most;
      for (std::int64_t actor = first; actor < first + classes_.per_stage(); ++actor)
        for (const UnitInstances::Seat& seat : instances_.seats(actor, unit)) {
          const UnitUse use = usage_.use(seat.link, end);
          if (use.mean > most.mean) most = use;
        }
      if (most.mean == 0.0) continue;
      most.samples = usage_.samples(instances_.seats(first, unit).front().link);
      most.stage = static_cast<std::int32_t>(stage);
      most.unit = unit;
      result.push_back(std::move(most));
    }
  }
  return result;
}

}  // namespace cairn::predict
