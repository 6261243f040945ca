// Filling: links fill in the order of their levels, and the flows of a link that is full settle.
#include <algorithm>

#include "cairn/sim/fair_share.h"

namespace cairn::sim {
namespace {

// Two moments of the filling closer than this are one: rounding in sums over thousands of flows stays well below.
constexpr double k_same_moment = 1e-12;

// A running sum that subtractions have brought down to this share of its start has lost three digits: sum afresh.
constexpr double k_worn = 1e-3;

// Marks in one order of filling, at most; and a mark, which copies what is left of every link, is worth it where it may
// save this many visits of flows per link.
constexpr std::uint32_t k_marks = 8;
constexpr std::uint32_t k_visits_per_mark = 4;

// Links of the order of before among which the next to fill is looked for.
constexpr std::size_t k_window = 8;

// Rounding in sums over thousands of flows overfills a link by less than this share of its capacity.
constexpr double k_overfull = 1e-11;

}  // namespace

void FairShare::solve() {
  moved_.clear();
  solved_.clear();
  ++solve_;
  nearby_.clear();
  for (const LinkId link : touched_) {
    check_marks(link);
    groups_[links_[link].group].touched.push_back(link);
  }
  std::size_t next = 0;
  while (next < touched_.size()) {  // taking groups apart adds to the list
    const LinkId link = touched_[next++];
    links_[link].touched = false;
    const Group& old = groups_[links_[link].group];
    if (old.solved == solve_) continue;
    if (old.departures > 0 && old.departures >= old.flows) take_apart(links_[link].group);
    fill(links_[link].group);
  }
  touched_.clear();
  for (const FlowId flow : alone_)
    if (standing_[flow].active && !standing_[flow].grouped) run_alone(flow);
  alone_.clear();
}

FairShare::Solved FairShare::solved(std::size_t i) const {
  const Filled& filled = solved_[i];
  if (filled.group == k_alone) {
    const std::span<const LinkId> link(&filled.link, 1);
    return {.group = k_alone, .links = link, .renewed = link};
  }
  const std::span<const LinkId> order = groups_[filled.group].order;
  const std::span<const LinkId> from = filled.nearby ? std::span<const LinkId>(nearby_) : order;
  return {.group = filled.group, .links = order, .renewed = from.subspan(filled.begin, filled.count)};
}

double FairShare::load(LinkId link) const {
  double load = 0.0;
  for (const Member& member : links_[link].members) load += amounts_[member.use] * rate(member.flow);
  return load;
}

void FairShare::run_alone(FlowId id) {
  LinkId narrowest = k_no_link;
  double level = k_unbounded;
  for (const Use& use : uses(id)) {
    const double pull = links_[use.link].pull;
    if (links_[use.link].capacity >= level * pull) continue;
    level = links_[use.link].capacity / pull;
    narrowest = use.link;
  }
  level_[narrowest] = level;
  settle_at(id, narrowest);
  solved_.push_back({.group = k_alone, .link = narrowest, .begin = 0, .count = 0, .nearby = false});
}

// Marks at which the touched link was full, or after which it now fills at a lower level, do not hold any more.
void FairShare::check_marks(LinkId touched) {
  Group& group = groups_[links_[touched].group];
  for (; group.valid_marks > 0; --group.valid_marks) {
    const Mark& last = group.marks[group.valid_marks - 1];
    const Filling& then = last.links[links_[touched].slot];
    if (rank_[touched + 1] >= last.filled && then.left >= last.level * then.growing) return;
  }
}

// To the last mark that holds. Returns the number of links of the sequence before it.
std::size_t FairShare::rewind(Group& group) {
  if (group.valid_marks == 0) {
    for (const LinkId link : group.order) rank_[link + 1] = k_unfilled;
    group.order.clear();
    for (const LinkId id : group.links) filling_[id] = unfilled_[id];
    if (group.uneven > 0)
      for (const LinkId id : group.links) pull_[id] = links_[id].pull;
    return 0;
  }
  const Mark& last = group.marks[group.valid_marks - 1];
  for (std::size_t i = last.filled; i < group.order.size(); ++i) rank_[group.order[i] + 1] = k_unfilled;
  group.order.resize(last.filled);
  for (std::size_t slot = 0; slot < group.links.size(); ++slot) filling_[group.links[slot]] = last.links[slot];
  return last.passed;
}

void FairShare::fill(GroupId id) {
  Group& group = groups_[id];
  group.solved = solve_;
  const bool nearby = solve_nearby(group);
  group.touched.clear();
  if (nearby) {
    const auto count = static_cast<std::uint32_t>(near_filled_.size());
    solved_.push_back({.group = id,
                       .link = k_no_link,
                       .begin = static_cast<std::uint32_t>(nearby_.size()) - count,
                       .count = count,
                       .nearby = true});
    return;
  }
  if (group.uneven > 0) group.valid_marks = 0;
  const std::uint32_t marks = group.valid_marks;
  const std::size_t moves = moved_.size();
  std::size_t begin = rewind(group);
  const auto kept = static_cast<std::uint32_t>(group.order.size());
  bool filled = !group.sequence.empty();
  if (filled) {
    filled = group.uneven == 0 ? fill_as_before<true>(group, begin) : fill_as_before<false>(group, begin);
    if (!filled) {
      take_back(moves);
      group.valid_marks = marks;
      begin = rewind(group);
    }
  } else {
    group.sequence = group.links;
  }
  if (!filled) group.uneven == 0 ? fill_by_heap<true>(group, begin) : fill_by_heap<false>(group, begin);
  const auto count = static_cast<std::uint32_t>(group.order.size()) - kept;
  solved_.push_back({.group = id, .link = k_no_link, .begin = kept, .count = count, .nearby = false});
}

void FairShare::take_back(std::size_t moves) {
  for (std::size_t i = moves; i < moved_.size(); ++i) bottleneck_[moved_[i].flow] = moved_[i].from;
  moved_.resize(moves);
}

void FairShare::plan_marks(Group& group, std::size_t begin) {
  mark_spacing_ = next_mark_ = k_unfilled;
  if (group.uneven > 0) return;
  std::uint64_t visits = 0;
  std::uint32_t links = 0;
  for (std::size_t i = begin; i < group.sequence.size(); ++i) {
    visits += filling_[group.sequence[i]].growing;
    links += filling_[group.sequence[i]].growing > 0 ? 1 : 0;
  }
  const auto worth = static_cast<std::uint32_t>(visits / (k_visits_per_mark * group.links.size()));
  if (begin == 0) group.busy = worth > 0;
  if (worth == 0) return;
  mark_spacing_ = links / std::min(worth, k_marks) + 1;
  next_mark_ = static_cast<std::uint32_t>(group.order.size()) + mark_spacing_;
}

void FairShare::mark(Group& group, std::size_t passed) {
  if (group.order.size() != next_mark_) return;
  next_mark_ += mark_spacing_;
  if (group.valid_marks == group.marks.size()) group.marks.emplace_back();
  Mark& mark = group.marks[group.valid_marks++];
  mark.filled = static_cast<std::uint32_t>(group.order.size());
  mark.passed = static_cast<std::uint32_t>(passed);
  mark.level = level_[group.order.back()];
  mark.links.resize(group.links.size());
  for (std::size_t slot = 0; slot < group.links.size(); ++slot) mark.links[slot] = filling_[group.links[slot]];
}

template <bool plain>
double FairShare::level_now(LinkId link) {
  if constexpr (plain) return filling_[link].left / filling_[link].growing;
  if (pull_[link] <= k_worn * links_[link].pull) renew(link);
  return filling_[link].left / pull_[link];
}

// False when the guess was wrong.
template <bool plain>
bool FairShare::fill_as_before(Group& group, std::size_t begin) {
  plan_marks(group, begin);
  std::vector<LinkId>& sequence = group.sequence;
  double last = group.order.empty() ? 0.0 : level_[group.order.back()];
  for (std::size_t at = begin; at < sequence.size(); ++at) {
    std::size_t lowest = at;
    double level = k_unbounded;
    const std::size_t end = std::min(at + k_window, sequence.size());
    for (std::size_t i = at; i < end; ++i) {
      if (filling_[sequence[i]].growing == 0) continue;
      const double its = level_now<plain>(sequence[i]);
      if (its < level) level = its, lowest = i;
    }
    const LinkId link = sequence[lowest];
    for (std::size_t i = lowest; i > at; --i) sequence[i] = sequence[i - 1];
    sequence[at] = link;
    if (filling_[link].growing == 0) {
      if (filling_[link].left < -k_overfull * links_[link].capacity) return false;
      continue;
    }
    if (level < last * (1.0 - k_same_moment)) return false;
    last = std::max(level, last);
    settle_link<plain>(group, link, last);
    mark(group, at + 1);
  }
  return true;
}

// A link fills later than foreseen when some of its flows have settled at a lower level: then it waits again.
template <bool plain>
void FairShare::fill_by_heap(Group& group, std::size_t begin) {
  plan_marks(group, begin);
  moments_.clear();
  std::size_t passed = begin;
  for (std::size_t i = begin; i < group.sequence.size(); ++i) {
    const LinkId link = group.sequence[i];
    if (filling_[link].growing == 0)
      group.sequence[passed++] = link;
    else
      moments_.push_back({.level = level_now<plain>(link), .link = link});
  }
  std::make_heap(moments_.begin(), moments_.end(), Later());
  while (!moments_.empty()) {
    std::pop_heap(moments_.begin(), moments_.end(), Later());
    const Moment moment = moments_.back();
    moments_.pop_back();
    if (filling_[moment.link].growing == 0) {
      group.sequence[passed++] = moment.link;
      continue;
    }
    const double level = std::max(level_now<plain>(moment.link), moment.level);
    if (level > moment.level * (1.0 + k_same_moment)) {
      moments_.push_back({.level = level, .link = moment.link});
      std::push_heap(moments_.begin(), moments_.end(), Later());
      continue;
    }
    group.sequence[passed++] = moment.link;
    settle_link<plain>(group, moment.link, level);
    mark(group, passed);
  }
}

// What is left for the growing flows, afresh.
void FairShare::renew(LinkId id) {
  double left = links_[id].capacity, pull = 0.0;
  for (const Member& member : links_[id].members) {
    if (settled(member.flow))
      left -= amounts_[member.use] * rate(member.flow);
    else
      pull += amounts_[member.use] * weight_[member.flow];
  }
  filling_[id].left = left;
  pull_[id] = pull;
}

// First which flows, then what they leave of other links: neither loop has a branch that is hard to foretell.
template <bool plain>
void FairShare::settle_link(Group& group, LinkId id, double level) {
  const std::vector<Member>& members = links_[id].members;
  if (settling_.size() < members.size()) settling_.resize(members.size());
  std::size_t flows = 0;
  for (const Member& member : members) {
    settling_[flows] = member.flow;
    flows += settled(member.flow) ? 0 : 1;
  }
  for (std::size_t i = 0; i < flows; ++i) {
    const FlowId flow = settling_[i];
    settle_at(flow, id);
    const Uses list = spans_[flow];
    for (std::uint32_t use = list.first; use < list.first + list.count; ++use) {
      const LinkId link = uses_[use].link;
      if (link == id) continue;
      Filling& other = filling_[link];
      --other.growing;
      if constexpr (plain) {
        other.left -= level;
      } else {
        other.left -= amounts_[use] * weight_[flow] * level;
        pull_[link] -= amounts_[use] * weight_[flow];
      }
    }
  }
  level_[id] = level;
  filling_[id].growing = 0;
  rank_[id + 1] = static_cast<std::uint32_t>(group.order.size());
  group.order.push_back(id);
}

}  // namespace cairn::sim
