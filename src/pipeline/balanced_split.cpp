#include "cairn/pipeline/balanced_split.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::pipeline {
namespace {

// Parts are cut at boundaries 0 = b_0 <= b_1 <= ... <= b_parts = L; a part may not leave fewer items than the parts
// behind it must hold, nor before it.
class Splitter {
 public:
  Splitter(std::span<const std::int64_t> costs, std::int32_t parts, SplitExtras extras)
      : items_(static_cast<std::int32_t>(costs.size())), parts_(parts), extras_(extras), prefix_{0} {
    prefix_.reserve(costs.size() + 1);
    for (const std::int64_t cost : costs) {
      CAIRN_ASSERT(cost >= 0);
      largest_ = std::max(largest_, cost);
      prefix_.push_back(prefix_.back() + cost);
    }
  }

  Split run() const {
    const std::int64_t limit = bottleneck();
    Split split{.counts = {}, .bottleneck = limit};
    const std::vector<std::int32_t> lowest = lowest_boundaries(limit);
    std::int32_t begin = 0;
    for (std::int32_t part = 0; part < parts_; ++part) {
      const std::int32_t end = part + 1 == parts_ ? items_ : choose_end(begin, part, lowest[part + 1], limit);
      split.counts.push_back(end - begin);
      begin = end;
    }
    return split;
  }

 private:
  std::int64_t extra(std::int32_t part) const {
    return (part == 0 ? extras_.first : 0) + (part + 1 == parts_ ? extras_.last : 0);
  }
  // Items that a part holds at least, and those of all parts before `end`.
  std::int32_t least(std::int32_t part) const { return extra(part) > 0 ? 0 : 1; }
  std::int32_t least_before(std::int32_t end) const {
    return end - (end > 0 ? 1 - least(0) : 0) - (end == parts_ && parts_ > 1 ? 1 - least(parts_ - 1) : 0);
  }

  // The last boundary that part can reach from begin within the limit, leaving what each part behind it must hold;
  // begin if not even one item fits.
  std::int32_t reach(std::int32_t begin, std::int32_t part, std::int64_t limit) const {
    const std::int32_t behind = least_before(parts_) - least_before(part + 1);
    const auto last = prefix_.begin() + (items_ - behind) + 1;
    const auto it = std::upper_bound(prefix_.begin() + begin, last, prefix_[begin] + limit - extra(part));
    return std::max(begin, static_cast<std::int32_t>(it - prefix_.begin()) - 1);
  }

  // Parts that are filled in turn, each as far as the limit allows.
  struct Filling {
    bool fits = false;
    std::int64_t largest = 0;  // cost of a part
    std::int64_t next = 0;     // the least limit under which a part would hold more
  };
  Filling filled(std::int64_t limit) const {
    Filling filling{.next = std::numeric_limits<std::int64_t>::max()};
    std::int32_t begin = 0;
    for (std::int32_t part = 0; part < parts_; ++part) {
      const std::int32_t end = reach(begin, part, limit);
      const auto cost = [&](std::int32_t to) { return prefix_[to] - prefix_[begin] + extra(part); };
      if (end < items_ && cost(end + 1) > limit) filling.next = std::min(filling.next, cost(end + 1));
      if (end < begin + least(part)) return filling;
      filling.largest = std::max(filling.largest, cost(end));
      begin = end;
    }
    filling.fits = begin == items_;
    return filling;
  }

  // Each step jumps to a limit that some parts attain, so that few are needed.
  std::int64_t bottleneck() const {
    std::int64_t high = prefix_.back() + extras_.first + extras_.last;
    std::int64_t low = std::max({largest_, high / parts_, extras_.first, extras_.last});
    while (low < high) {
      const Filling filling = filled(low + (high - low) / 2);
      if (filling.fits)
        high = std::max(low, filling.largest);
      else
        low = std::min(high, filling.next);
    }
    return high;
  }

  // lowest[k]: the smallest b_k from which parts k .. parts-1 still fit within the limit.
  std::vector<std::int32_t> lowest_boundaries(std::int64_t limit) const {
    std::vector<std::int32_t> lowest(parts_ + 1, items_);
    for (std::int32_t part = parts_ - 1; part > 0; --part) {
      const std::int64_t bound = prefix_[lowest[part + 1]] - (limit - extra(part));
      const auto it = std::lower_bound(prefix_.begin() + least_before(part),
                                       prefix_.begin() + lowest[part + 1] - least(part), bound);
      lowest[part] = static_cast<std::int32_t>(it - prefix_.begin());
    }
    return lowest;
  }

  std::int32_t choose_end(std::int32_t begin, std::int32_t part, std::int32_t lowest, std::int64_t limit) const {
    const std::int32_t first = std::max(begin + least(part), lowest);
    const std::int32_t last = reach(begin, part, limit);
    const std::int64_t left = prefix_.back() - prefix_[begin] + (part == 0 ? extras_.first : 0) + extras_.last;
    const std::int64_t aim = prefix_[begin] + left / (parts_ - part) - extra(part);
    const auto above = std::lower_bound(prefix_.begin() + first, prefix_.begin() + last, aim);
    const auto end = static_cast<std::int32_t>(above - prefix_.begin());
    return end > first && aim - prefix_[end - 1] <= prefix_[end] - aim ? end - 1 : end;
  }

  std::int32_t items_;
  std::int32_t parts_;
  SplitExtras extras_;
  std::vector<std::int64_t> prefix_;
  std::int64_t largest_ = 0;
};

// `may_be_empty`: of the parts.
void check(std::span<const std::int64_t> costs, std::int32_t parts, SplitExtras extras, std::int32_t may_be_empty) {
  if (parts < 1)
    throw core::ConfigurationError("stages", "the number of stages must be at least 1", "use one stage or more");
  const std::int64_t most = costs.empty() ? 0 : std::ssize(costs) + may_be_empty;
  if (parts > most)
    throw core::ConfigurationError(
        "stages", std::to_string(costs.size()) + " layers cannot fill " + std::to_string(parts) + " stages",
        "use at most " + std::to_string(most) + " stages, or list the layers of each, of which some may have none");
  CAIRN_ASSERT(extras.first >= 0 && extras.last >= 0);
}

}  // namespace

Split balanced_split(std::span<const std::int64_t> costs, std::int32_t parts, SplitExtras extras) {
  check(costs, parts, extras, (extras.first > 0 ? 1 : 0) + (extras.last > 0 ? 1 : 0));
  return Splitter(costs, parts, extras).run();
}

std::vector<std::int32_t> filled_split(std::span<const std::int64_t> costs, std::int32_t parts, SplitExtras extras) {
  check(costs, parts, extras, extras.last > 0 ? 1 : 0);
  const std::int64_t whole = std::accumulate(costs.begin(), costs.end(), extras.last);
  const auto count = static_cast<std::size_t>(parts);
  std::vector<std::int32_t> counts(count, 0);
  std::size_t part = 0;
  std::int64_t so_far = 0;
  for (const std::int64_t cost : costs) {
    ++counts[part];
    so_far += cost;
    // so_far > (part + 1) / parts x whole, in integers
    const auto share = static_cast<std::int64_t>(part + 1) * (whole / parts) +
                       static_cast<std::int64_t>(part + 1) * (whole % parts) / parts;
    if (so_far > share && part + 1 < count) ++part;
  }
  // The head is in `part`; what it shares that stage with moves to the last one.
  if (part + 1 < count) std::swap(counts[part], counts.back());
  for (std::size_t empty = part; empty + 1 < count; ++empty) {
    if (counts[empty] > 0) continue;
    const auto most = std::max_element(counts.rbegin(), counts.rend());
    --(*most > 1 ? *most : counts.back());
    ++counts[empty];
  }
  return counts;
}

}  // namespace cairn::pipeline
