#include "cairn/program/pass_order.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "cairn/core/assert.h"
#include "cairn/core/out_of_range.h"
#include "cairn/program/side_rows.h"

namespace cairn::program {
namespace {

bool is_split(const pipeline::Operation& operation) {
  return operation.phase == pipeline::Phase::input_gradient || operation.phase == pipeline::Phase::weight_gradient;
}

// As narrow as sweeps keep them; of() has seen that all fit.
std::uint16_t slot_of(const PassOrder& order, const PassKey& key) {
  return static_cast<std::uint16_t>(order.layout.slot(key));
}

// The kind of pass that an operation of a device's own row runs.
PassKind kind_of(pipeline::Phase phase) {
  switch (phase) {
    case pipeline::Phase::forward:
      return PassKind::forward;
    case pipeline::Phase::input_gradient:
      return PassKind::input_gradient;
    case pipeline::Phase::weight_gradient:
      return PassKind::weight_gradient;
    case pipeline::Phase::optimizer:
      return PassKind::update;
    default:
      return PassKind::backward;
  }
}

// Marks PassKey::special: the operations of a device's row that are the first forward of their chunk, or the last that
// computes its weight gradients, between two updates.
std::vector<char> specials(const pipeline::Schedule& schedule, std::int32_t device) {
  const auto row = schedule.row(device);
  std::vector<char> result(row.size(), 0);
  const auto mark = [&](std::vector<char>& met, std::size_t at, bool wanted) {
    if (row[at].phase == pipeline::Phase::optimizer) std::fill(met.begin(), met.end(), 0);
    char& known = met[static_cast<std::size_t>(row[at].chunk)];
    if (!wanted || known) return;
    known = result[at] = 1;
  };
  std::vector<char> begun(static_cast<std::size_t>(schedule.chunks), 0);
  std::vector<char> ended = begun;
  for (std::size_t i = 0; i < row.size(); ++i) mark(begun, i, row[i].phase == pipeline::Phase::forward);
  for (std::size_t i = row.size(); i-- > 0;) mark(ended, i, makes_gradients(row[i].phase));
  return result;
}

// What the operations of a device's row run; `order` has its layout.
void append_slots(const pipeline::Schedule& schedule, std::int32_t device, const PassOrder& order,
                  std::vector<std::uint16_t>& slots) {
  const auto row = schedule.row(device);
  const std::vector<char> special = specials(schedule, device);
  for (std::size_t i = 0; i < row.size(); ++i)
    slots.push_back(slot_of(order, {.kind = kind_of(row[i].phase), .chunk = row[i].chunk, .special = special[i] != 0}));
}

void append_stretches(std::span<const PassOrder::Entry> row, std::uint16_t nothing,
                      std::vector<PassOrder::Stretch>& stretches) {
  for (std::size_t i = 0; i < row.size();) {
    std::size_t alone = i + 1;
    while (alone < row.size() && row[alone].slot == row[i].slot) ++alone;
    std::size_t pairs = i;
    while (pairs + 1 < row.size() && row[pairs].slot == row[i].slot && row[pairs + 1].slot == row[i + 1].slot)
      pairs += 2;
    const bool in_turn = alone == i + 1 && (pairs - i > 2 || i + 2 == row.size());
    stretches.push_back({.slot = row[i].slot,
                         .then = in_turn ? row[i + 1].slot : nothing,
                         .times = static_cast<std::int32_t>(in_turn ? (pairs - i) / 2 : alone - i)});
    i = in_turn ? pairs : alone;
  }
}

Stream stream_of(pipeline::Phase phase) {
  if (phase == pipeline::Phase::communication) return Stream::data;
  return phase == pipeline::Phase::offload ? Stream::to_host : Stream::to_device;
}

// Appends to the sweep the operations of all devices, what their side rows put between them, and the ends of their
// rows.
class Sequence {
 public:
  Sequence(const pipeline::Schedule& schedule, PassOrder& order)
      : schedule_(schedule), order_(order), done_(static_cast<std::size_t>(schedule.stages), 0), rows_(done_.size()) {
    slots_.reserve(static_cast<std::size_t>(schedule.row_begin[done_.size()]));
    for (std::int32_t device = 0; device < schedule.stages; ++device) append_slots(schedule, device, order, slots_);
    if (!order.layout.sides()) return;
    const std::vector<std::int32_t> waiters = first_waiters(schedule);
    told_.assign(schedule.operations.size(), k_not_yet);
    between_.resize(done_.size());
    next_.assign(done_.size(), 0);
    for (std::int32_t device = 0; device < schedule.stages; ++device)
      between_[static_cast<std::size_t>(device)] = side_entries(schedule, device, waiters);
    for (std::int32_t device = 0; device < schedule.stages; ++device) append_between(device);
  }

  void append(const pipeline::SweepStep& step) {
    const auto row = static_cast<std::size_t>(step.device);
    const std::int32_t operation = schedule_.row_begin[row] + done_[row]++;
    const pipeline::Phase phase = step.operation.phase;
    PassOrder::Step made{
        .producer = step.producer < 0 ? step.producer : place_[static_cast<std::size_t>(step.producer)],
        .device = static_cast<std::uint16_t>(step.device),
        .slot = slots_[static_cast<std::size_t>(operation)],
        .sends_to = phase == pipeline::Phase::forward ? Stream::next : Stream::previous};
    if (phase == pipeline::Phase::optimizer) {
      push_end(step.device, PassKind::finalize, std::exchange(made.producer, k_not_yet), operation);
      made.sends_to = Stream::next;
    }
    place_.push_back(push(made, kind_of(phase), operation));
    if (!between_.empty()) append_between(step.device);
  }
  // Skips an operation of a side row: append_between() places these.
  void pass_over() { place_.push_back(k_not_yet); }

  // The ends of all rows.
  void append_ends(const ReplicaGroups& replicas) {
    std::vector<std::int32_t> told(done_.size(), k_not_yet);  // by device: that its gradients are final
    for (const std::vector<std::int32_t>& group : replicas.groups)
      for (const std::int32_t device : group)
        told[static_cast<std::size_t>(device)] = push_end(device, PassKind::finalize, k_not_yet);
    for (const std::vector<std::int32_t>& group : replicas.groups)
      for (const std::int32_t device : group) {
        std::vector<std::int32_t> others;
        for (const std::int32_t other : group)
          if (other != device) others.push_back(told[static_cast<std::size_t>(other)]);
        for (std::size_t i = 0; i < others.size(); ++i)
          push_end(device, i + 1 < others.size() ? PassKind::await : PassKind::update, others[i]);
      }
    order_.tails = order_.sweep.size();
    order_.has_tail.assign(done_.size(), 0);
    for (std::size_t device = 0; device < done_.size(); ++device) {
      if (told[device] != k_not_yet) continue;
      order_.has_tail[device] = 1;
      push_end(static_cast<std::int32_t>(device), PassKind::finalize, k_not_yet);
      push_end(static_cast<std::int32_t>(device), PassKind::update, k_not_yet);
    }
  }

  // For schedules that contain their parameter updates: no end of the step follows.
  void append_no_ends() {
    order_.tails = order_.sweep.size();
    order_.has_tail.assign(done_.size(), 0);
  }

  void finish() {
    for (const std::vector<PassOrder::Entry>& row : rows_) {
      order_.entry_begin.push_back(static_cast<std::int32_t>(order_.entries.size()));
      order_.entries.insert(order_.entries.end(), row.begin(), row.end());
    }
    order_.entry_begin.push_back(static_cast<std::int32_t>(order_.entries.size()));
    for (const std::vector<PassOrder::Entry>& row : rows_) {
      auto last = row.rbegin();
      while (std::next(last) != row.rend() && last->operation < 0) ++last;
      order_.last_slot.push_back(last->slot);
    }
  }

 private:
  static constexpr std::int32_t k_not_yet = -1;

  // Its position in the sweep.
  std::int32_t push(const PassOrder::Step& step, PassKind kind, std::int32_t operation) {
    rows_[step.device].push_back({.operation = operation, .slot = step.slot, .kind = kind});
    order_.sweep.push_back(step);
    return static_cast<std::int32_t>(order_.sweep.size()) - 1;
  }

  std::int32_t push_end(std::int32_t device, PassKind kind, std::int32_t producer, std::int32_t operation = -1) {
    return push({.producer = producer,
                 .device = static_cast<std::uint16_t>(device),
                 .slot = slot_of(order_, {.kind = kind}),
                 .sends_to = Stream::next},
                kind, operation);
  }

  void append_between(std::int32_t device) {
    const auto row = static_cast<std::size_t>(device);
    const std::vector<SideEntry>& entries = between_[row];
    for (std::size_t& i = next_[row]; i < entries.size() && entries[i].gap == done_[row]; ++i) {
      const SideEntry& entry = entries[i];
      const pipeline::Operation& operation = schedule_.operations[static_cast<std::size_t>(entry.operation)];
      std::int32_t& told = told_[static_cast<std::size_t>(entry.operation)];
      const bool awaits = entry.side == PassKind::fetched || entry.side == PassKind::sent;
      PassOrder::Step step{.producer = awaits ? told : k_not_yet,
                           .device = static_cast<std::uint16_t>(device),
                           .slot = slot_of(order_, {.kind = entry.side, .chunk = operation.chunk})};
      if (entry.place == SideEntry::Place::issue && !awaits) {
        step.sends_to = stream_of(operation.phase);
        told = static_cast<std::int32_t>(order_.sweep.size());
        order_.awaited_streams |= std::uint32_t{1} << static_cast<unsigned>(step.sends_to);
      }
      push(step, entry.side, entry.operation);
    }
  }

  const pipeline::Schedule& schedule_;
  PassOrder& order_;
  std::vector<std::int32_t> done_;    // operations of each device placed so far
  std::vector<std::uint16_t> slots_;  // by position in Schedule::operations, of the devices' own rows
  std::vector<std::vector<PassOrder::Entry>> rows_;
  std::vector<std::int32_t> place_;              // in the sweep, by position in SweepOrder::steps
  std::vector<std::vector<SideEntry>> between_;  // by device; empty where there are no side rows
  std::vector<std::size_t> next_;                // of these
  std::vector<std::int32_t> told_;               // by operation: the step of the sweep whose end is awaited
};

// The same passes again.
struct Alike {
  std::span<const PassOrder::Step> steps;

  std::int32_t size() const { return static_cast<std::int32_t>(steps.size()); }
  std::int32_t producer(std::int32_t i) const { return step(i).producer; }
  bool joined(std::int32_t) const { return false; }
  bool repeats(std::int32_t i, std::int32_t period) const {
    const PassOrder::Step& a = step(i);
    const PassOrder::Step& b = step(i + period);
    return a.device == b.device && a.slot == b.slot && a.sends_to == b.sends_to;
  }

 private:
  const PassOrder::Step& step(std::int32_t i) const { return steps[static_cast<std::size_t>(i)]; }
};

}  // namespace

PassOrder PassOrder::of(const pipeline::Schedule& schedule, const pipeline::SweepOrder& order,
                        const ReplicaGroups& replicas) {
  PassOrder result;
  const auto any = [&](auto property) {
    return std::any_of(schedule.operations.begin(), schedule.operations.end(), property);
  };
  const bool updates_within = any([](const auto& operation) { return operation.phase == pipeline::Phase::optimizer; });
  CAIRN_ASSERT(!updates_within || replicas.groups.empty());
  const bool awaits = std::any_of(replicas.groups.begin(), replicas.groups.end(),
                                  [](const std::vector<std::int32_t>& group) { return group.size() > 2; });
  // Side rows come last, and may be empty.
  const std::int32_t side_begin = schedule.row_begin[static_cast<std::size_t>(schedule.stages)];
  result.layout = PassLayout(schedule.chunks, any(is_split), awaits, side_begin < schedule.row_begin.back());
  CAIRN_ASSERT(schedule.stages <= 0xffff);
  const auto nothing = core::narrow<std::uint16_t>(
      result.layout.size(),
      {.key_path = "strategy.schedule.chunks", .what = "passes of one device", .hint = "use fewer chunks"});
  result.sweep.reserve(order.steps.size() + 2 * static_cast<std::size_t>(schedule.stages));
  Sequence sequence(schedule, result);
  for (const pipeline::SweepStep& step : order.steps) {
    if (step.device < schedule.stages)
      sequence.append(step);
    else
      sequence.pass_over();
  }
  if (updates_within)
    sequence.append_no_ends();
  else
    sequence.append_ends(replicas);
  sequence.finish();
  for (const Step& step : result.sweep)
    if (step.producer >= 0) result.sweep[static_cast<std::size_t>(step.producer)].awaited = true;
  result.repetitions = pipeline::find_repetitions(Alike{std::span(result.sweep).first(result.tails)});
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    result.row_begin.push_back(static_cast<std::int32_t>(result.stretches.size()));
    append_stretches(result.row(device), nothing, result.stretches);
  }
  result.row_begin.push_back(static_cast<std::int32_t>(result.stretches.size()));
  return result;
}

}  // namespace cairn::program
