#include "actor.h"

#include <algorithm>

namespace cairn::predict {
namespace {

constexpr std::int64_t k_lap = 2;        // block instances that a stream runs before the other streams get a turn
constexpr std::size_t k_first_ring = 4;  // instances; a power of two, doubled as needed

}  // namespace

Actor::Actor(std::int64_t id, std::int64_t rank, const StageScript& script, const EventOptions& options)
    : id_(id), script_(&script), speed_(options, rank), ring_(k_first_ring), times_(script.passes()) {}

void Actor::run(Surroundings& surroundings) {
  for (bool moved = true; moved;) {
    moved = false;
    const std::int64_t lap = made_ + k_lap;
    std::int64_t slowest = lap;
    for (const std::size_t stream : script_->busy) {
      const Cursor& cursor = cursors_[stream];
      const std::int64_t instance = cursor.instance;
      const std::int32_t task = cursor.task;
      // The host runs when a stream needs its launches. Beyond that it only keeps up with the others, for nothing would
      // stop it from running through the whole step at once.
      advance(stream, stream == k_host ? slowest + 1 : lap, Need::k_entry, surroundings);
      moved = moved || cursor.past(instance, task);
      slowest = std::min(slowest, cursor.instance);
    }
  }
}

bool Actor::done() const {
  const auto ended = [this](std::size_t stream) {
    const Cursor& cursor = cursors_[stream];
    return cursor.instance + 1 == made_ && has_left(cursor, stream);
  };
  return stretch_ == script_->stretches.size() && std::all_of(script_->busy.begin(), script_->busy.end(), ended);
}

void Actor::joined(std::size_t stream, core::Picoseconds start) { cursors_[stream].start = start; }

// Appends the record of the next block instance.
void Actor::make_instance() {
  if (made_ - oldest_ == static_cast<std::int64_t>(ring_.size())) make_room();
  const StageScript::Stretch& stretch = script_->stretches[stretch_];
  Instance& next = instance(made_++);
  next.block = stretch.block;
  next.pass = stretch.pass;
  next.known.assign(stretch.block->slots(), k_unknown);
  for (const std::size_t stream : script_->idle) next.known[stream] = 0;
  if (++repeat_ == stretch.times) {
    ++stretch_;
    repeat_ = 0;
  }
}

bool Actor::has_left(const Cursor& cursor, std::size_t stream) const {
  return cursor.instance < 0 || cursor.task == instance(cursor.instance).block->count(stream);
}

// Streams that have nothing to run in the oldest instances leave them first.
void Actor::make_room() {
  oldest_ = made_;
  for (const std::size_t stream : script_->busy) {
    const Cursor& cursor = cursors_[stream];
    while (cursor.instance + 1 < made_ && has_left(cursor, stream)) enter_next(stream);
    oldest_ = std::min(oldest_, std::max<std::int64_t>(cursor.instance, 0));
  }
  if (made_ - oldest_ <= static_cast<std::int64_t>(ring_.size() / 2)) return;
  std::vector<Instance> larger(2 * ring_.size());
  for (std::int64_t index = oldest_; index < made_; ++index)
    larger[static_cast<std::size_t>(index) & (larger.size() - 1)] = std::move(instance(index));
  ring_ = std::move(larger);
}

// Leaves the instance a stream stands in. A stream with nothing to run in the next waits until another makes that, and
// the instances that are kept stay few; false then, and at the end of the script.
bool Actor::enter_next(std::size_t stream) {
  Cursor& cursor = cursors_[stream];
  if (cursor.instance + 1 == made_) {
    if (stretch_ == script_->stretches.size() || script_->stretches[stretch_].block->count(stream) == 0) return false;
    make_instance();
  }
  ++cursor.instance;
  cursor.task = 0;
  instance(cursor.instance).known[stream] = cursor.free;
  return true;
}

// Runs a stream until it has run `task` of `index`, or, with Need::k_entry, has entered it; false when it stops before.
bool Actor::advance(std::size_t stream, std::int64_t index, std::int32_t task, Surroundings& surroundings) {
  Cursor& cursor = cursors_[stream];
  if (cursor.running) return cursor.past(index, task);
  cursor.running = true;
  const bool reached = run_to(stream, index, task, surroundings);
  cursor.running = false;
  return reached;
}

bool Actor::run_to(std::size_t stream, std::int64_t index, std::int32_t task, Surroundings& surroundings) {
  Cursor& cursor = cursors_[stream];
  while (!cursor.past(index, task)) {
    if (has_left(cursor, stream)) {
      if (!enter_next(stream)) return false;
      continue;
    }
    // Other streams may make instances meanwhile; the record stays where it is while this stream stands in it.
    const Instance& here = instance(cursor.instance);
    const BlockLayout& block = *here.block;
    core::Picoseconds* known = instance(cursor.instance).known.data();
    const std::int32_t pass = here.pass;
    const std::int32_t until = cursor.instance < index ? block.count(stream) : task + 1;
    for (; cursor.task < until; ++cursor.task)
      if (!execute(stream, block, known, pass, surroundings)) return false;
  }
  return true;
}

// Makes what the record of instance `index` lacks; false when it is not known yet.
bool Actor::pull(const Need& need, std::int64_t index, Surroundings& surroundings) {
  const auto stream = static_cast<std::size_t>(need.stream);
  if (stream == k_arrival) {
    Instance& here = instance(index);
    here.known[k_arrival] = times_.arrival(here.pass).end;
    return here.known[k_arrival] != k_unknown;
  }
  // One launch is never awaited alone: the host issues the rest of the block, as far as it comes, in the same go.
  if (stream == k_host) advance(k_host, index, instance(index).block->count(k_host) - 1, surroundings);
  return advance(stream, index, need.task, surroundings);
}

// Runs the task a stream stands before; false when its start is not known yet.
bool Actor::execute(std::size_t stream, const BlockLayout& block, core::Picoseconds* known, std::int32_t pass,
                    Surroundings& surroundings) {
  Cursor& cursor = cursors_[stream];
  const Task& task = block.task(stream, cursor.task);
  core::Picoseconds start = cursor.free;
  for (const Need& need : block.needs(task)) {
    const core::Picoseconds& awaited = known[static_cast<std::size_t>(need.slot)];
    if (awaited == k_unknown && !pull(need, cursor.instance, surroundings)) return false;
    start = std::max(start, awaited);
  }
  const core::Picoseconds duration = speed_.duration(task, start);
  if (task.kind == TaskKind::joins) {
    if (!cursor.joining) cursor.start = surroundings.join(*this, stream, task, start);
    cursor.joining = cursor.start == k_unknown;
    if (cursor.joining) return false;
    start = cursor.start;
  }
  const Span span{.start = start, .end = start + duration};
  known[static_cast<std::size_t>(task.slot)] = span.end;
  cursor.free = span.end;
  times_.add(stream, pass, span);
  if (task.kind == TaskKind::sends) surroundings.sent(*this, pass, span);
  return true;
}

}  // namespace cairn::predict
