#include "cairn/predict/event.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/plan/parameter_group.h"
#include "cairn/sim/event_queue.h"

namespace cairn::predict {
namespace {

using core::Picoseconds;
using plan::Stream;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
constexpr std::size_t at(Stream stream) { return static_cast<std::size_t>(stream); }

constexpr std::int64_t k_most_actors = 1 << 18;
constexpr std::int64_t k_actors_recorded_at_once = 64;
constexpr double k_longest_kernel = 1e17;  // picoseconds, a little over a day: beyond it a speed is a mistake

// A block seen stream by stream. The host's list holds its own steps and the launches of all others.
struct Layout {
  const plan::Block* block = nullptr;
  const BlockPrices* prices = nullptr;
  std::array<std::vector<std::int32_t>, plan::k_streams> steps;
  std::array<std::int64_t, plan::k_streams> counts{};
  std::vector<std::int32_t> rank;         // of a step in its stream's list
  std::vector<std::int32_t> launch_rank;  // of its launch in the host's list
};

Layout make_layout(const plan::Block& block, const BlockPrices& prices) {
  Layout layout{.block = &block, .prices = &prices, .steps = {}, .counts = {}, .rank = {}, .launch_rank = {}};
  auto& host = layout.steps[at(Stream::host)];
  for (std::size_t index = 0; index < block.steps.size(); ++index) {
    const plan::Step& step = block.steps[index];
    layout.launch_rank.push_back(static_cast<std::int32_t>(host.size()));
    if (step.launches > 0) host.push_back(static_cast<std::int32_t>(index));
    auto& own = layout.steps[at(step.stream)];
    layout.rank.push_back(static_cast<std::int32_t>(own.size()));
    own.push_back(static_cast<std::int32_t>(index));
  }
  for (std::size_t stream = 0; stream < plan::k_streams; ++stream)
    layout.counts[stream] = static_cast<std::int64_t>(layout.steps[stream].size());
  return layout;
}

struct LayoutRun {
  const Layout* layout;
  std::int64_t count;
};

// What every actor of a stage executes.
struct StageProgram {
  std::vector<std::vector<LayoutRun>> passes;
  std::vector<PassId> consumers;  // of what each pass sends
};

// Where one stream of one actor stands. `base`: how many steps of each stream come before the current block instance.
struct Cursor {
  std::int32_t position = 0;
  std::int32_t run = 0;
  std::int64_t repeat = 0;
  std::int32_t index = 0;
  bool done = false;
  std::array<std::int64_t, plan::k_streams> base{};
};

struct Actor {
  std::int32_t stage = 0;
  std::int32_t tensor = 0;  // class
  std::int32_t data = 0;
  std::int64_t rank = 0;    // one it stands for
  std::array<Cursor, plan::k_streams> cursor{};
  std::array<std::int64_t, plan::k_streams> completed{};
  std::array<Picoseconds, plan::k_streams> started{};
  std::array<char, plan::k_streams> busy{};
  std::vector<char> arrived;
  std::vector<SlowRank> slow;
  core::Random random{0};
  Picoseconds end = 0;
  bool queued = false;
};

// Coordinates along one axis, folded: the coordinate each class stands for.
// Groups of experts cut across those of the dense mesh, so where any rank differs all are told apart.
std::vector<std::int64_t> fold(const plan::Program& program, plan::Axis axis, const EventOptions& options) {
  std::vector<std::int64_t> named;
  const plan::Mesh& mesh = program.mesh;
  const std::int64_t size = mesh.size(axis);
  const bool experts = program.expert_mesh.ranks() > 1 && !options.slow_ranks.empty();
  if (options.jitter_sigma > 0.0 || experts) {
    for (std::int64_t coordinate = 0; coordinate < size; ++coordinate) named.push_back(coordinate);
    return named;
  }
  for (const SlowRank& slow : options.slow_ranks) named.push_back(mesh.coordinate(slow.rank, axis));
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  for (std::int64_t coordinate = 0; coordinate < size; ++coordinate)
    if (!std::binary_search(named.begin(), named.end(), coordinate)) {
      named.push_back(coordinate);
      break;
    }
  return named;
}

class Engine {
 public:
  Engine(const plan::Program& program, PriceTable& prices, const EventOptions& options)
      : program_(program), prices_(prices), options_(options) {
    check();
    tensor_ = fold(program, plan::Axis::tensor, options);
    data_ = fold(program, plan::Axis::data, options);
    build_stages();
    const auto actors = static_cast<std::int64_t>(program.stages.size() * tensor_.size() * data_.size());
    if (actors > k_most_actors)
      throw core::ConfigurationError("simulation", fmt::format("{} ranks that all differ are more than the event engine takes", actors),
                                     fmt::format("use a smaller cluster, or at most {} distinct ranks", k_most_actors));
    make_actors();
  }

  EventResult run(std::int64_t recorded_from, std::int64_t recorded_to) {
    recorded_from_ = recorded_from;
    records_.assign(at(recorded_to - recorded_from), StageTimeline{});
    for (std::size_t r = 0; r < records_.size(); ++r) {
      records_[r].stage = actors_[at(recorded_from) + r].stage;
      records_[r].arrivals.resize(stages_[at(records_[r].stage)].passes.size());
    }
    for (std::size_t id = 0; id < actors_.size(); ++id) wake(static_cast<std::int32_t>(id));
    settle();
    while (!queue_.empty()) {
      do {
        const Completion completion = queue_.pop();
        ++events_;
        complete(completion.actor, completion.stream);
      } while (queue_.pending_now());
      settle();
    }
    return collect();
  }

  std::int64_t actors() const { return static_cast<std::int64_t>(actors_.size()); }

 private:
  struct Completion {
    std::int32_t actor;
    std::uint8_t stream;
  };

  void check() const {
    for (const SlowRank& slow : options_.slow_ranks) {
      if (slow.rank < 0 || slow.rank >= program_.mesh.ranks())
        throw core::ConfigurationError("simulation.faults", fmt::format("rank {} does not exist", slow.rank),
                                       fmt::format("ranks are 0 to {}", program_.mesh.ranks() - 1));
      if (!(slow.speed > 0.0))
        throw core::ConfigurationError("simulation.faults", fmt::format("rank {} has compute speed {}", slow.rank, slow.speed),
                                       "a speed is above 0; 1 is as priced");
    }
  }

  void build_stages() {
    std::unordered_map<const plan::Block*, const Layout*> known;
    const auto sources = producers(program_);
    stages_.resize(program_.stages.size());
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      for (const plan::Pass* pass : passes_of(program_, static_cast<std::int32_t>(stage))) {
        std::vector<LayoutRun> runs;
        for (const plan::BlockRun& run : pass->runs) {
          const Layout*& layout = known[run.block];
          if (!layout) {
            layouts_.push_back(std::make_unique<Layout>(make_layout(*run.block, prices_.of(*run.block))));
            layout = layouts_.back().get();
          }
          if (run.count > 0) runs.push_back({layout, run.count});
        }
        stages_[stage].passes.push_back(std::move(runs));
      }
      stages_[stage].consumers.resize(stages_[stage].passes.size());
    }
    for (std::size_t stage = 0; stage < stages_.size(); ++stage)
      for (std::size_t position = 0; position < sources[stage].size(); ++position) {
        const PassId source = sources[stage][position];
        if (source.stage >= 0)
          stages_[at(source.stage)].consumers[at(source.position)] = {static_cast<std::int32_t>(stage), static_cast<std::int32_t>(position)};
      }
  }

  void make_actors() {
    const plan::Group tensor = program_.mesh.group(plan::Axis::tensor);
    const plan::Group data = program_.mesh.group(plan::Axis::data);
    const plan::Group pipeline = program_.mesh.group(plan::Axis::pipeline);
    for (std::size_t stage = 0; stage < stages_.size(); ++stage)
      for (std::size_t t = 0; t < tensor_.size(); ++t)
        for (std::size_t d = 0; d < data_.size(); ++d) {
          Actor actor;
          actor.stage = static_cast<std::int32_t>(stage);
          actor.tensor = static_cast<std::int32_t>(t);
          actor.data = static_cast<std::int32_t>(d);
          actor.rank = static_cast<std::int64_t>(stage) * pipeline.stride + tensor_[t] * tensor.stride + data_[d] * data.stride;
          actor.arrived.assign(stages_[stage].passes.size(), 0);
          for (const SlowRank& slow : options_.slow_ranks)
            if (slow.rank == actor.rank) actor.slow.push_back(slow);
          // The seed is hashed first: generators whose seeds lie close together would walk through each other's numbers.
          actor.random = core::Random(core::Random(options_.seed).next() + static_cast<std::uint64_t>(actor.rank));
          for (std::size_t stream = 0; stream < plan::k_streams; ++stream) find_next(actor, stream);
          actors_.push_back(std::move(actor));
        }
    joins_.assign(2 * actors_.size() * plan::k_streams, 0);
  }

  std::int32_t actor_id(std::int32_t stage, std::int32_t tensor, std::int32_t data) const {
    return static_cast<std::int32_t>((at(stage) * tensor_.size() + at(tensor)) * data_.size() + at(data));
  }

  const Layout& layout(const Actor& actor, const Cursor& cursor) const {
    return *stages_[at(actor.stage)].passes[at(cursor.position)][at(cursor.run)].layout;
  }

  // Moves a cursor whose index is past its block's list to the next step of its stream.
  void find_next(Actor& actor, std::size_t stream) {
    Cursor& cursor = actor.cursor[stream];
    const auto& passes = stages_[at(actor.stage)].passes;
    while (at(cursor.position) < passes.size()) {
      const auto& runs = passes[at(cursor.position)];
      if (at(cursor.run) >= runs.size()) {
        ++cursor.position;
        cursor.run = 0;
        cursor.repeat = 0;
        cursor.index = 0;
        continue;
      }
      const LayoutRun& run = runs[at(cursor.run)];
      if (cursor.index < run.layout->counts[stream]) return;
      // A stream that has nothing in this block skips all its repetitions at once.
      const std::int64_t left = run.layout->counts[stream] == 0 ? run.count - cursor.repeat : 1;
      for (std::size_t s = 0; s < plan::k_streams; ++s) cursor.base[s] += left * run.layout->counts[s];
      cursor.index = 0;
      cursor.repeat += left;
      if (cursor.repeat == run.count) {
        ++cursor.run;
        cursor.repeat = 0;
      }
    }
    cursor.done = true;
  }

  bool satisfied(const Actor& actor, const Cursor& cursor, const Layout& layout, plan::Dependency dependency) const {
    if (dependency >= 0) {
      const plan::Step& awaited = layout.block->steps[at(dependency)];
      return actor.completed[at(awaited.stream)] > cursor.base[at(awaited.stream)] + layout.rank[at(dependency)];
    }
    const auto stream = at(~dependency);
    if (stream == at(Stream::arrival)) return actor.arrived[at(cursor.position)] != 0;
    return actor.completed[stream] >= cursor.base[stream];
  }

  bool ready(const Actor& actor, std::size_t stream) const {
    const Cursor& cursor = actor.cursor[stream];
    if (cursor.done || actor.busy[stream]) return false;
    const Layout& here = layout(actor, cursor);
    const std::int32_t index = here.steps[stream][at(cursor.index)];
    const plan::Step& step = here.block->steps[at(index)];
    const bool launch = stream == at(Stream::host) && step.stream != Stream::host;
    if (launch) return true;
    for (std::size_t d = step.first_dependency; d < step.first_dependency + step.dependencies; ++d)
      if (!satisfied(actor, cursor, here, here.block->dependencies[d])) return false;
    return step.launches == 0 ||
           actor.completed[at(Stream::host)] > cursor.base[at(Stream::host)] + here.launch_rank[at(index)];
  }

  void wake(std::int32_t id) {
    if (actors_[at(id)].queued) return;
    actors_[at(id)].queued = true;
    awake_.push_back(id);
  }

  // Starts everything that can start now; work of no duration completes on the spot.
  void settle() {
    for (std::size_t next = 0; next < awake_.size(); ++next) {
      const std::int32_t id = awake_[next];
      actors_[at(id)].queued = false;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t stream = 0; stream < plan::k_streams; ++stream)
          while (ready(actors_[at(id)], stream)) {
            start(id, stream);
            moved = true;
          }
      }
    }
    awake_.clear();
  }

  void start(std::int32_t id, std::size_t stream) {
    Actor& actor = actors_[at(id)];
    const Cursor& cursor = actor.cursor[stream];
    const Layout& here = layout(actor, cursor);
    const plan::Step& step = here.block->steps[at(here.steps[stream][at(cursor.index)])];
    actor.busy[stream] = 1;
    if (stream == at(Stream::host) && step.stream != Stream::host) {
      finish_after(id, stream, step.launches * prices_.host_per_kernel());
      return;
    }
    const Picoseconds priced = step.work < 0 ? 0 : (*here.prices)[at(step.work)].duration;
    if (step.kind == plan::StepKind::transfer && step.axis != plan::Axis::pipeline)
      join(id, stream, step.axis, std::get<plan::Transfer>(here.block->works[at(step.work)]).group, priced);
    else
      finish_after(id, stream, step.kind == plan::StepKind::compute ? computed(actor, priced) : priced);
  }

  // A collective starts when its last participant is ready.
  void join(std::int32_t id, std::size_t stream, plan::Axis axis, const plan::Group& group, Picoseconds duration) {
    if (tensor_.size() * data_.size() == 1) {  // one actor stands for all participants
      finish_after(id, stream, duration);
      return;
    }
    const std::vector<std::int32_t> members =
        plan::group_of(axis) == plan::ParameterGroup::expert ? experts_of(actors_[at(id)], group)
                                                             : peers_of(actors_[at(id)], axis);
    // Groups over domains and inside one may begin with the same rank.
    const bool expert = plan::group_of(axis) == plan::ParameterGroup::expert;
    const std::size_t level = expert && group.stride > program_.expert_mesh.group(axis).stride ? 1 : 0;
    std::int32_t& waiting = joins_[2 * (at(members.front()) * plan::k_streams + stream) + level];
    if (++waiting < static_cast<std::int32_t>(members.size())) return;
    waiting = 0;
    for (const std::int32_t member : members) finish_after(member, stream, duration);
  }

  std::vector<std::int32_t> peers_of(const Actor& actor, plan::Axis axis) const {
    std::vector<std::int32_t> members;
    if (axis == plan::Axis::tensor)
      for (std::size_t k = 0; k < tensor_.size(); ++k)
        members.push_back(actor_id(actor.stage, static_cast<std::int32_t>(k), actor.data));
    else
      for (std::size_t k = 0; k < data_.size(); ++k)
        members.push_back(actor_id(actor.stage, actor.tensor, static_cast<std::int32_t>(k)));
    return members;
  }

  // Every rank is an actor.
  std::vector<std::int32_t> experts_of(const Actor& actor, const plan::Group& group) const {
    const std::int64_t first = actor.rank - actor.rank / group.stride % group.size * group.stride;
    std::vector<std::int32_t> members;
    for (std::int64_t k = 0; k < group.size; ++k) {
      const std::int64_t rank = first + k * group.stride;
      members.push_back(actor_id(actor.stage,
                                 static_cast<std::int32_t>(program_.mesh.coordinate(rank, plan::Axis::tensor)),
                                 static_cast<std::int32_t>(program_.mesh.coordinate(rank, plan::Axis::data))));
    }
    return members;
  }

  void finish_after(std::int32_t id, std::size_t stream, Picoseconds duration) {
    actors_[at(id)].started[stream] = queue_.now();
    if (duration == 0)
      complete(id, static_cast<std::uint8_t>(stream));
    else
      queue_.push(queue_.now() + duration, Completion{id, static_cast<std::uint8_t>(stream)});
  }

  // How long `priced` picoseconds of computation take from now on, under the rank's speed profile and jitter.
  Picoseconds computed(Actor& actor, Picoseconds priced) {
    auto work = static_cast<double>(priced);
    if (options_.jitter_sigma > 0.0) {
      const double sigma = options_.jitter_sigma;
      work = std::round(work * std::exp(sigma * actor.random.normal() - sigma * sigma / 2.0));
    }
    if (actor.slow.empty()) return static_cast<Picoseconds>(work);
    const Picoseconds begin = queue_.now();
    Picoseconds now = begin;
    while (work > 0.0) {
      double speed = 1.0;
      Picoseconds change = std::numeric_limits<Picoseconds>::max();
      for (const SlowRank& slow : actor.slow) {
        if (slow.from <= now && now < slow.until) speed *= slow.speed;
        if (slow.from > now) change = std::min(change, slow.from);
        if (slow.until > now) change = std::min(change, slow.until);
      }
      const double left = work / speed;
      if (left > k_longest_kernel && change == std::numeric_limits<Picoseconds>::max())
        throw core::ConfigurationError("simulation.faults",
                                       fmt::format("rank {} is so slow that one kernel takes more than a day", actor.rank),
                                       "give it a higher compute speed, or an end");
      if (left <= static_cast<double>(change - now)) return now - begin + std::llround(left);
      work -= static_cast<double>(change - now) * speed;
      now = change;
    }
    return now - begin;
  }

  void complete(std::int32_t id, std::uint8_t stream) {
    Actor& actor = actors_[at(id)];
    Cursor& cursor = actor.cursor[stream];
    const Layout& here = layout(actor, cursor);
    const plan::Step& step = here.block->steps[at(here.steps[stream][at(cursor.index)])];
    const Span span{actor.started[stream], queue_.now()};
    record(id, stream, span);
    actor.busy[stream] = 0;
    ++actor.completed[stream];
    actor.end = std::max(actor.end, span.end);
    const std::int32_t position = cursor.position;
    ++cursor.index;
    find_next(actor, stream);
    const bool launch = stream == at(Stream::host) && step.stream != Stream::host;
    if (!launch && step.kind == plan::StepKind::transfer && step.axis == plan::Axis::pipeline) deliver(actor, position, span);
    wake(id);
  }

  void deliver(const Actor& sender, std::int32_t position, Span span) {
    const PassId consumer = stages_[at(sender.stage)].consumers[at(position)];
    if (consumer.stage < 0) return;
    const std::int32_t id = actor_id(consumer.stage, sender.tensor, sender.data);
    actors_[at(id)].arrived[at(consumer.position)] = 1;
    if (const auto slot = record_slot(id); slot >= 0) records_[at(slot)].arrivals[at(consumer.position)] = span;
    wake(id);
  }

  std::int64_t record_slot(std::int32_t id) const {
    const std::int64_t slot = id - recorded_from_;
    return slot >= 0 && slot < static_cast<std::int64_t>(records_.size()) ? slot : -1;
  }

  void record(std::int32_t id, std::size_t stream, Span span) {
    if (const auto slot = record_slot(id); slot >= 0) records_[at(slot)].steps[stream].push_back(span);
  }

  EventResult collect() {
    EventResult result;
    result.events = events_;
    result.actors = actors();
    result.makespan.time = core::k_never;
    std::int32_t last = 0;
    std::int64_t last_rank = 0;
    for (std::size_t id = 0; id < actors_.size(); ++id) {
      const Actor& actor = actors_[id];
      for (const Cursor& cursor : actor.cursor) CAIRN_ASSERT(cursor.done);
      if (actor.end > result.makespan.time || (actor.end == result.makespan.time && actor.rank < last_rank)) {
        result.makespan = {.time = actor.end, .last_stage = actor.stage};
        last = static_cast<std::int32_t>(id);
        last_rank = actor.rank;
      }
    }
    last_ = last;
    for (std::size_t r = 0; r < records_.size(); ++r) records_[r].end = actors_[at(recorded_from_) + r].end;
    if (const auto slot = record_slot(last); slot >= 0) result.last = records_[at(slot)];
    if (options_.all_timelines) {
      const std::size_t per_stage = tensor_.size() * data_.size();
      for (std::size_t stage = 0; stage < stages_.size(); ++stage)
        if (stage * per_stage < records_.size()) result.timelines.push_back(records_[stage * per_stage]);
    }
    return result;
  }

 public:
  std::int32_t last() const { return last_; }

 private:
  const plan::Program& program_;
  PriceTable& prices_;
  const EventOptions& options_;
  std::vector<std::int64_t> tensor_;
  std::vector<std::int64_t> data_;
  std::vector<std::unique_ptr<Layout>> layouts_;
  std::vector<StageProgram> stages_;
  std::vector<Actor> actors_;
  std::vector<std::int32_t> joins_;
  sim::EventQueue<Completion> queue_;
  std::vector<std::int32_t> awake_;
  std::vector<StageTimeline> records_;
  std::int64_t recorded_from_ = 0;
  std::int64_t events_ = 0;
  std::int32_t last_ = 0;
};

}  // namespace

EventResult simulate(const plan::Program& program, PriceTable& prices, const EventOptions& options) {
  Engine engine(program, prices, options);
  if (engine.actors() <= k_actors_recorded_at_once || options.all_timelines) return engine.run(0, engine.actors());
  // Too many to record: find out who ends last, then run again and watch that one. Both runs are identical.
  EventResult result = engine.run(0, 0);
  Engine again(program, prices, options);
  result.last = again.run(engine.last(), engine.last() + 1).last;
  return result;
}

}  // namespace cairn::predict
