#include "cairn/contrast/shares.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::contrast {
namespace {

using core::Picoseconds;

__extension__ using Wide = __int128;  // n! times a difference of times

// numerators / denominator in whole numbers that add up to sum(numerators) / denominator, which is whole.
std::vector<Picoseconds> whole_shares(const std::vector<Wide>& numerators, std::int64_t denominator) {
  std::vector<Picoseconds> shares;
  std::vector<Wide> remainders;
  Wide left = 0;
  for (const Wide numerator : numerators) {
    Wide share = numerator / denominator;
    Wide remainder = numerator % denominator;
    if (remainder < 0) {
      --share;
      remainder += denominator;
    }
    shares.push_back(static_cast<Picoseconds>(share));
    remainders.push_back(remainder);
    left += remainder;
  }
  CAIRN_ASSERT(left % denominator == 0);
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; i < static_cast<std::size_t>(left / denominator); ++i) ++shares[order[i]];
  return shares;
}

Coalition bit(std::size_t i) { return Coalition{1} << i; }

std::int64_t factorial(std::size_t n) { return n < 2 ? 1 : static_cast<std::int64_t>(n) * factorial(n - 1); }

// What orders over groups pass through, the smallest first; of equal size that of the first groups.
std::vector<Coalition> coalitions(std::size_t groups) {
  std::vector<Coalition> all;
  const Coalition whole = bit(groups) - 1;
  if (groups <= k_all_orders) {
    for (Coalition each = 0; each <= whole; ++each) all.push_back(each);
  } else {
    for (std::size_t i = 0; i <= groups; ++i) {
      all.push_back(bit(i) - 1);
      all.push_back(whole & ~(bit(groups - i) - 1));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](Coalition a, Coalition b) {
    if (std::popcount(a) != std::popcount(b)) return std::popcount(a) < std::popcount(b);
    // The first that only one of them has decides.
    return a != b && (a & bit(static_cast<std::size_t>(std::countr_zero(a ^ b)))) != 0;
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

class Attributing {
 public:
  Attributing(std::size_t changes, const std::function<Outcome(Coalition)>& value) : value_(value) {
    for (std::size_t i = 0; i < changes; ++i) groups_.push_back({.changes = {i}});
  }

  Attribution all() {
    while (join_once()) {
    }
    share();
    const bool all_orders = groups_.size() <= k_all_orders;
    return {.groups = std::move(groups_), .all_orders = all_orders, .evaluated = known_.size()};
  }

 private:
  Coalition whole() const { return bit(groups_.size()) - 1; }

  // The changes of a set of groups.
  Coalition changes_of(Coalition set) const {
    Coalition changes = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      if ((set & bit(i)) != 0)
        for (const std::size_t change : groups_[i].changes) changes |= bit(change);
    return changes;
  }
  const Outcome& at(Coalition set) {
    const Coalition changes = changes_of(set);
    const auto found = known_.find(changes);
    return found != known_.end() ? found->second : known_.emplace(changes, value_(changes)).first->second;
  }
  bool possible(Coalition set) { return set == 0 || set == whole() || at(set).obstacle.empty(); }

  bool join_once() {
    for (const Coalition set : coalitions(groups_.size())) {
      if (possible(set)) continue;
      const std::string reason = at(set).obstacle;
      join(needing(set), lacking(set), reason);
      return true;
    }
    return false;
  }

  std::size_t needing(Coalition set) {
    for (std::size_t i = groups_.size(); i-- > 0;)
      if ((set & bit(i)) != 0 && possible(set & ~bit(i))) return i;
    return static_cast<std::size_t>(std::bit_width(set)) - 1;
  }

  // Groups beyond the set that make it possible.
  Coalition lacking(Coalition set) {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      if ((set & bit(i)) == 0) others.push_back(i);
    const std::size_t most = groups_.size() <= k_all_orders ? others.size() : std::min<std::size_t>(2, others.size());
    for (std::size_t count = 1; count <= most; ++count)
      if (const Coalition found = lacking(set, others, 0, count); found != 0) return found;
    Coalition added = 0;
    for (const std::size_t other : others) {
      added |= bit(other);
      if (possible(set | added)) break;
    }
    for (const std::size_t other : others)
      if ((added & bit(other)) != 0 && possible(set | (added & ~bit(other)))) added &= ~bit(other);
    return added;
  }
  Coalition lacking(Coalition set, const std::vector<std::size_t>& others, std::size_t from, std::size_t count) {
    for (std::size_t i = from; i + count <= others.size(); ++i) {
      const Coalition one = bit(others[i]);
      if (count == 1) {
        if (possible(set | one)) return one;
      } else if (const Coalition rest = lacking(set | one, others, i + 1, count - 1); rest != 0) {
        return one | rest;
      }
    }
    return 0;
  }

  void join(std::size_t group, Coalition others, const std::string& reason) {
    Group joined = std::move(groups_[group]);
    std::vector<Group> left;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i == group) continue;
      if ((others & bit(i)) == 0) {
        left.push_back(std::move(groups_[i]));
        continue;
      }
      joined.changes.insert(joined.changes.end(), groups_[i].changes.begin(), groups_[i].changes.end());
      joined.reasons.insert(joined.reasons.end(), groups_[i].reasons.begin(), groups_[i].reasons.end());
    }
    std::sort(joined.changes.begin(), joined.changes.end());
    joined.reasons.push_back(reason);
    left.push_back(std::move(joined));
    std::sort(left.begin(), left.end(),
              [](const Group& a, const Group& b) { return a.changes.front() < b.changes.front(); });
    groups_ = std::move(left);
  }

  void share() {
    std::vector<Picoseconds> shares;
    if (groups_.size() <= k_all_orders) {
      std::vector<Picoseconds> values;
      for (Coalition each = 0; each <= whole(); ++each) values.push_back(at(each).value);
      shares = shapley(values);
    } else {
      std::vector<Picoseconds> forward, backward;
      for (std::size_t i = 0; i <= groups_.size(); ++i) {
        forward.push_back(at(bit(i) - 1).value);
        backward.push_back(at(whole() & ~(bit(groups_.size() - i) - 1)).value);
      }
      shares = two_orders(forward, backward);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].share = shares[i];
  }

  const std::function<Outcome(Coalition)>& value_;
  std::vector<Group> groups_;
  std::map<Coalition, Outcome> known_;
};

}  // namespace

std::vector<Picoseconds> shapley(std::span<const Picoseconds> values) {
  const auto n = static_cast<std::size_t>(std::bit_width(values.size())) - 1;
  CAIRN_ASSERT(values.size() == bit(n) && n <= k_all_orders);
  std::vector<Wide> numerators(n, 0);
  for (Coalition set = 0; set < values.size(); ++set) {
    const auto size = static_cast<std::size_t>(std::popcount(set));
    for (std::size_t i = 0; i < n; ++i)
      if ((set & bit(i)) == 0)
        numerators[i] += Wide{factorial(size) * factorial(n - 1 - size)} * (values[set | bit(i)] - values[set]);
  }
  return whole_shares(numerators, factorial(n));
}

std::vector<Picoseconds> two_orders(std::span<const Picoseconds> forward, std::span<const Picoseconds> backward) {
  CAIRN_ASSERT(!forward.empty() && forward.size() == backward.size());
  const std::size_t n = forward.size() - 1;
  std::vector<Wide> numerators;
  for (std::size_t i = 0; i < n; ++i)
    numerators.push_back(Wide{forward[i + 1] - forward[i]} + Wide{backward[n - i] - backward[n - i - 1]});
  return whole_shares(numerators, 2);
}

Attribution attribute(std::size_t changes, const std::function<Outcome(Coalition)>& value) {
  CAIRN_ASSERT(changes <= k_most_changes);
  return Attributing(changes, value).all();
}

}  // namespace cairn::contrast
