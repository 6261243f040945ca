#include "cairn/profile/step.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::profile {
namespace {

using core::Picoseconds;

std::size_t at(KernelClass kind) { return static_cast<std::size_t>(kind); }
std::size_t at(Group group) { return static_cast<std::size_t>(group); }

// Instant by instant, from one beginning or end to the next.
class Sweep {
 public:
  Sweep(const Step& step, Summary& into) : step_(step), into_(into) {}

  void run() {
    for (std::uint32_t i = 0; i < step_.work.size(); ++i) {
      const Work& work = step_.work[i];
      leave_until(work.start);
      if (running_.empty()) gap(work.start, work.issued);
      pass(work.start);
      if (work.end > work.start) enter(i);
    }
    leave_until(step_.span);
    gap(step_.span, step_.next_issued);
  }

 private:
  using Entry = std::tuple<Group, Picoseconds, std::uint32_t>;
  Entry entry(std::uint32_t i) const {
    return {group_of(step_.kernels[step_.work[i].kernel].kind), step_.work[i].start, i};
  }
  void enter(std::uint32_t i) {
    const Entry each = entry(i);
    running_.insert(each);
    ++of_group_[at(std::get<Group>(each))];
    ends_.emplace(step_.work[i].end, i);
  }
  void leave_until(Picoseconds time) {
    while (!ends_.empty() && ends_.top().first <= time) {
      pass(ends_.top().first);
      const Entry each = entry(ends_.top().second);
      running_.erase(each);
      --of_group_[at(std::get<Group>(each))];
      ends_.pop();
    }
  }
  void gap(Picoseconds until, Picoseconds issued) {
    const Picoseconds length = until - now_;
    const Picoseconds host = issued == Work::k_unknown ? 0 : std::clamp<Picoseconds>(issued - now_, 0, length);
    into_.host += host;
    into_.wait += length - host;
    now_ = until;
  }
  void pass(Picoseconds time) {
    const Picoseconds length = time - now_;
    now_ = time;
    if (length == 0 || running_.empty()) return;
    for (std::size_t group = 0; group < k_groups; ++group)
      if (of_group_[group] > 0) into_.busy[group] += length;
    const auto& [group, start, i] = *running_.begin();
    into_.exposed[at(group)] += length;
    into_.classes[at(step_.kernels[step_.work[i].kernel].kind)].counted += length;
  }

  const Step& step_;
  Summary& into_;
  std::set<Entry> running_;  // in the order in which instants are theirs
  using End = std::pair<Picoseconds, std::uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;  // the earliest on top
  std::array<std::int64_t, k_groups> of_group_{};
  Picoseconds now_ = 0;
};

void add_streams(const Step& step, Summary& into) {
  std::vector<std::array<Picoseconds, k_groups>> groups(step.streams.size());
  std::vector<Picoseconds> until(step.streams.size(), 0);
  for (const std::string& name : step.streams) into.streams.push_back({.name = name});
  for (const Work& work : step.work) {
    StreamUse& use = into.streams[work.stream];
    use.count += work.count;
    groups[work.stream][at(group_of(step.kernels[work.kernel].kind))] += work.end - work.start;
    use.busy += std::max<Picoseconds>(0, work.end - std::max(work.start, until[work.stream]));
    until[work.stream] = std::max(until[work.stream], work.end);
  }
  for (std::size_t i = 0; i < step.streams.size(); ++i)
    into.streams[i].group =
        static_cast<Group>(std::max_element(groups[i].begin(), groups[i].end()) - groups[i].begin());
}

}  // namespace

Summary summary(const Step& step) {
  Summary result;
  result.span = step.span;
  CAIRN_ASSERT(std::is_sorted(step.work.begin(), step.work.end(),
                              [](const Work& a, const Work& b) { return a.start < b.start; }));
  Sweep(step, result).run();
  add_streams(step, result);
  std::map<std::pair<std::string_view, KernelClass>, KernelUse> kernels;
  for (const Work& work : step.work) {
    const Kernel& kernel = step.kernels[work.kernel];
    ClassUse& use = result.classes[at(kernel.kind)];
    use.count += work.count;
    use.time += work.end - work.start;
    KernelUse& mine = kernels[{kernel.name, kernel.kind}];
    mine.count += work.count;
    mine.time += work.end - work.start;
  }
  for (auto& [key, use] : kernels) {
    use.name = key.first;
    use.kind = key.second;
    result.kernels.push_back(std::move(use));
  }
  std::stable_sort(result.kernels.begin(), result.kernels.end(),
                   [](const KernelUse& a, const KernelUse& b) { return a.time > b.time; });
  return result;
}

}  // namespace cairn::profile
