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

constexpr core::Picoseconds k_unreached = std::numeric_limits<core::Picoseconds>::max();

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

std::int64_t devices(const Mesh& mesh) {
  std::int64_t product = 1;
  for (const MeshAxis& axis : mesh) product *= axis.devices;
  return product;
}

program::Group group_of(const Mesh& mesh, std::size_t axis) {
  program::Group group{.axis = program::Axis::tensor, .size = mesh[axis].devices};
  for (std::size_t inner = axis + 1; inner < mesh.size(); ++inner) group.stride *= mesh[inner].devices;
  return group;
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

TensorBoxing::TensorBoxing(std::vector<std::int64_t> extents, core::Bytes bytes, Mesh mesh, predict::Pricer& pricer)
    : extents_(std::move(extents)), bytes_(bytes), mesh_(std::move(mesh)), pricer_(pricer) {
  CAIRN_ASSERT(mesh_.size() <= k_max_mesh_axes);
  placements_ = {{.kind = Kind::replicate}, {.kind = Kind::partial}};
  for (std::size_t dim = 0; dim < extents_.size(); ++dim)
    placements_.push_back({.kind = Kind::shard, .dim = static_cast<std::uint8_t>(dim)});
  for (std::size_t axis = 0; axis < mesh_.size(); ++axis) states_ *= placements_.size();
  changes_.resize(states_);
  for (std::size_t state = 0; state < states_; ++state) fits_.push_back(fits(placement(state)) ? 1 : 0);
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
  CAIRN_ASSERT(placement.size() == mesh_.size());
  std::size_t result = 0;
  for (const Placement& each : placement) {
    const std::size_t position = each.kind == Kind::replicate ? 0 : each.kind == Kind::partial ? 1 : 2 + each.dim;
    CAIRN_ASSERT(position < placements_.size() && placements_[position] == each);
    result = result * placements_.size() + position;
  }
  CAIRN_ASSERT(fits_[result] != 0);
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

BoxingStep TensorBoxing::step(const NdPlacement& from, std::size_t axis, const Placement& to) const {
  BoxingStep step{.axis = axis};
  const program::Collective collective = boxing_collective(from[axis], to);
  const double bytes = shared_bytes(from, axis).base();
  if (collective == program::Collective::none || mesh_[axis].devices == 1 || bytes == 0.0) return step;
  step.transfer = {.collective = collective, .group = group_of(mesh_, axis), .bytes = bytes};
  step.time = pricer_.transfer(step.transfer).duration;
  return step;
}

const std::vector<TensorBoxing::Change>& TensorBoxing::changes(std::size_t from) {
  auto& found = changes_[from];
  if (found) return *found;
  found.emplace();
  const NdPlacement current = placement(from);
  for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
    for (const Placement& to : placements_) {
      if (!may_change(current, axis, to)) continue;
      NdPlacement after = current;
      after[axis] = to;
      found->push_back({.to = state(after), .step = step(current, axis, to)});
    }
  }
  return *found;
}

// Dijkstra's algorithm.
const TensorBoxing::Reached& TensorBoxing::reach(std::size_t from) {
  const auto [found, fresh] = reached_.try_emplace(from);
  Reached& reached = found->second;
  if (!fresh) return reached;
  reached.times.assign(states_, k_unreached);
  reached.before.assign(states_, from);
  reached.moved.assign(states_, 0);
  reached.times[from] = 0;
  std::vector<char> settled(states_, 0);
  using Entry = std::pair<core::Picoseconds, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  open.emplace(0, from);
  while (!open.empty()) {
    const std::size_t next = open.top().second;
    open.pop();
    if (std::exchange(settled[next], 1) != 0) continue;
    for (const Change& change : changes(next)) {
      const core::Picoseconds time = reached.times[next] + change.step.time;
      if (time >= reached.times[change.to]) continue;
      reached.times[change.to] = time;
      reached.before[change.to] = next;
      reached.moved[change.to] =
          reached.moved[next] != 0 || change.step.transfer.collective != program::Collective::none;
      open.emplace(time, change.to);
    }
  }
  return reached;
}

core::Picoseconds TensorBoxing::time(const NdPlacement& from, const NdPlacement& to) {
  return reach(state(from)).times[state(to)];
}

bool TensorBoxing::moves(const NdPlacement& from, const NdPlacement& to) {
  return reach(state(from)).moved[state(to)] != 0;
}

BoxingSteps TensorBoxing::steps(const NdPlacement& from, const NdPlacement& to) {
  const std::size_t first = state(from);
  const Reached& reached = reach(first);
  BoxingSteps result;
  for (std::size_t last = state(to); last != first; last = reached.before[last]) {
    for (const Change& change : changes(reached.before[last]))
      if (change.to == last && change.step.transfer.collective != program::Collective::none)
        result.push_back(change.step);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::vector<NdPlacement> TensorBoxing::wholes() const {
  std::vector<NdPlacement> result;
  for (std::size_t state = 0; state < states_; ++state) {
    NdPlacement each = placement(state);
    const auto is_partial = [](const Placement& along) { return along.kind == Kind::partial; };
    if (fits(each) && std::none_of(each.begin(), each.end(), is_partial)) result.push_back(std::move(each));
  }
  return result;
}

NdPlacement TensorBoxing::whole_between(const NdPlacement& from, const std::optional<NdPlacement>& to) {
  core::Picoseconds least = k_unreached;
  NdPlacement best;
  for (const NdPlacement& whole : wholes()) {
    const core::Picoseconds there = time(from, whole);
    if (there >= least) continue;
    const core::Picoseconds time = there + (to ? this->time(whole, *to) : 0);
    if (time >= least) continue;
    least = time;
    best = whole;
  }
  return best;
}

}  // namespace cairn::splits
