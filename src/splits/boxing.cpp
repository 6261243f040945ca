#include "cairn/splits/boxing.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::splits {
namespace {

using Kind = Placement::Kind;

bool same_monoid(const Placement& from, const Placement& to) {
  return from.kind != Kind::partial || to.kind != Kind::partial || from.monoid == to.monoid;
}

// Times that differ by rounding are equal: the first found, with the fewest changes, is kept.
constexpr double k_rounding = 1e-12;

}  // namespace

core::Bytes boxing_bytes(const Placement& from, const Placement& to, std::int64_t devices, core::Bytes bytes) {
  CAIRN_ASSERT(devices >= 1 && same_monoid(from, to));
  const auto others = static_cast<double>(devices - 1);
  if (from == to || from.kind == Kind::replicate || to.kind == Kind::partial) return {};
  if (from.kind == Kind::shard)
    return bytes * (to.kind == Kind::shard ? others / static_cast<double>(devices) : others);
  return bytes * (to.kind == Kind::shard ? others : 2.0 * others);
}

core::Bytes boxing_bytes_apart(const Placement& from, const Placement& to, std::int64_t senders, std::int64_t receivers,
                               core::Bytes bytes) {
  CAIRN_ASSERT(senders >= 1 && receivers >= 1 && same_monoid(from, to));
  const auto copies = static_cast<double>(to.kind == Kind::replicate ? receivers : 1);
  const auto summands = static_cast<double>(from.kind == Kind::partial ? senders : 1);
  return bytes * (summands + copies - 1.0);
}

program::Collective boxing_collective(const Placement& from, const Placement& to) {
  if (to.kind == Kind::partial) return program::Collective::none;
  return program::redistribute(from, to);
}

core::Seconds boxing_time(const Placement& from, const Placement& to, const MeshAxis& axis, core::Bytes bytes) {
  const program::Collective collective = boxing_collective(from, to);
  if (collective == program::Collective::none || axis.devices == 1) return {};
  const double rounds = collective == program::Collective::all_reduce ? 2.0 : 1.0;
  const core::Bytes received = boxing_bytes(from, to, axis.devices, bytes) / static_cast<double>(axis.devices);
  return axis.latency * (rounds * static_cast<double>(axis.devices - 1)) + received / axis.bandwidth;
}

std::string text(const NdPlacement& placement) {
  std::string result;
  for (const Placement& each : placement) {
    if (!result.empty()) result += ' ';
    if (each.kind == Kind::shard)
      result += "S(" + std::to_string(each.dim) + ')';
    else
      result += each.kind == Kind::replicate ? 'B' : 'P';
  }
  return result;
}

TensorBoxing::TensorBoxing(std::vector<std::int64_t> extents, core::Bytes bytes, Mesh mesh)
    : extents_(std::move(extents)), bytes_(bytes), mesh_(std::move(mesh)) {
  CAIRN_ASSERT(mesh_.size() <= k_max_mesh_axes);
  placements_ = {{.kind = Kind::replicate}, {.kind = Kind::partial}};
  for (std::size_t dim = 0; dim < extents_.size(); ++dim)
    placements_.push_back({.kind = Kind::shard, .dim = static_cast<std::uint8_t>(dim)});
  for (std::size_t axis = 0; axis < mesh_.size(); ++axis) states_ *= placements_.size();
  changes_.resize(states_);
}

bool TensorBoxing::fits(const NdPlacement& placement) const {
  for (std::size_t dim = 0; dim < extents_.size(); ++dim) {
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis)
      if (placement[axis].kind == Kind::shard && placement[axis].dim == dim) parts *= mesh_[axis].devices;
    if (extents_[dim] % parts != 0) return false;
  }
  return true;
}

std::size_t TensorBoxing::state(const NdPlacement& placement) const {
  CAIRN_ASSERT(placement.size() == mesh_.size() && fits(placement));
  std::size_t result = 0;
  for (const Placement& each : placement) {
    const auto found = std::find(placements_.begin(), placements_.end(), each);
    CAIRN_ASSERT(found != placements_.end());
    result = result * placements_.size() + static_cast<std::size_t>(found - placements_.begin());
  }
  return result;
}

NdPlacement TensorBoxing::placement(std::size_t state) const {
  NdPlacement result(mesh_.size());
  for (std::size_t axis = mesh_.size(); axis-- > 0; state /= placements_.size())
    result[axis] = placements_[state % placements_.size()];
  return result;
}

core::Bytes TensorBoxing::shared_bytes(const NdPlacement& placement, std::size_t axis) const {
  core::Bytes bytes = bytes_;
  for (std::size_t other = 0; other < mesh_.size(); ++other)
    if (other != axis && placement[other].kind == Kind::shard)
      bytes = bytes / static_cast<double>(mesh_[other].devices);
  return bytes;
}

bool TensorBoxing::may_change(const NdPlacement& from, std::size_t axis, const Placement& to) const {
  if (from[axis] == to) return false;
  for (std::size_t inner = axis + 1; inner < mesh_.size(); ++inner)
    if (from[inner].kind == Kind::shard && (from[inner] == from[axis] || from[inner] == to)) return false;
  NdPlacement after = from;
  after[axis] = to;
  return fits(after);
}

const std::vector<TensorBoxing::Change>& TensorBoxing::changes(std::size_t from) {
  auto& found = changes_[from];
  if (found) return *found;
  found.emplace();
  const NdPlacement current = placement(from);
  for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
    const core::Bytes shared = shared_bytes(current, axis);
    for (const Placement& to : placements_) {
      if (!may_change(current, axis, to)) continue;
      NdPlacement after = current;
      after[axis] = to;
      const double seconds = boxing_time(current[axis], to, mesh_[axis], shared) / core::k_second;
      found->push_back({.to = state(after), .seconds = seconds});
    }
  }
  return *found;
}

// Dijkstra's algorithm.
const TensorBoxing::Reached& TensorBoxing::reach(std::size_t from) {
  const auto [found, fresh] = reached_.try_emplace(from);
  Reached& reached = found->second;
  if (!fresh) return reached;
  reached.seconds.assign(states_, std::numeric_limits<double>::infinity());
  reached.before.assign(states_, from);
  reached.seconds[from] = 0.0;
  std::vector<char> settled(states_, 0);
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  open.emplace(0.0, from);
  while (!open.empty()) {
    const std::size_t next = open.top().second;
    open.pop();
    if (std::exchange(settled[next], 1) != 0) continue;
    for (const Change& change : changes(next)) {
      const double seconds = reached.seconds[next] + change.seconds;
      if (!(seconds < reached.seconds[change.to] * (1.0 - k_rounding))) continue;
      reached.seconds[change.to] = seconds;
      reached.before[change.to] = next;
      open.emplace(seconds, change.to);
    }
  }
  return reached;
}

core::Seconds TensorBoxing::time(const NdPlacement& from, const NdPlacement& to) {
  return core::Seconds::from_base(reach(state(from)).seconds[state(to)]);
}

std::vector<BoxingStep> TensorBoxing::steps(const NdPlacement& from, const NdPlacement& to) {
  const std::size_t first = state(from);
  const Reached& reached = reach(first);
  std::vector<BoxingStep> result;
  for (std::size_t last = state(to); last != first; last = reached.before[last]) {
    const NdPlacement after = placement(last), before = placement(reached.before[last]);
    std::size_t axis = 0;
    while (before[axis] == after[axis]) ++axis;
    const core::Bytes bytes = shared_bytes(before, axis);
    result.push_back({.axis = axis,
                      .collective = boxing_collective(before[axis], after[axis]),
                      .bytes = bytes,
                      .time = boxing_time(before[axis], after[axis], mesh_[axis], bytes)});
  }
  std::reverse(result.begin(), result.end());
  return result;
}

core::Seconds TensorBoxing::time_through_whole(const NdPlacement& from, const NdPlacement& to) {
  const Reached& there = reach(state(from));
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t whole = 0; whole < states_; ++whole) {
    const NdPlacement between = placement(whole);
    const auto is_partial = [](const Placement& each) { return each.kind == Kind::partial; };
    if (!fits(between) || std::any_of(between.begin(), between.end(), is_partial)) continue;
    least = std::min(least, there.seconds[whole] + time(between, to) / core::k_second);
  }
  return core::Seconds::from_base(least);
}

}  // namespace cairn::splits
