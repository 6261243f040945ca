// Lists that are broken on purpose. What a mutation does is found out by another machine than the verifier's: every
// contribution is a random number, nodes add and replace numbers as real ones would, and the results are compared.
#include <algorithm>
#include <map>
#include <utility>

#include "cairn/collective/verify.h"
#include "cairn/core/random.h"
#include "catch.h"
#include "collective/cases.h"

using namespace cairn;
using namespace cairn::collective;
using test::all_cases;
using test::Case;

namespace {

using Place = std::pair<std::int64_t, std::int64_t>;  // node, chunk

// Unsigned numbers wrap around: sums of any order are equal, and wrong ones are so with probability 2^-64.
class Numbers {
 public:
  Numbers(const MessageList& list, core::Random& random) : list_(list), n_(list.group.ranks) {
    for (std::int64_t chunk = 0; chunk < list.chunks; ++chunk)
      for (std::int64_t rank = 0; rank < n_; ++rank)
        if (adds() || rank == source(chunk)) contribute(rank, chunk, random);
  }

  bool right_after(std::vector<Message> all) {
    std::stable_sort(all.begin(), all.end(), [](const Message& a, const Message& b) { return a.step < b.step; });
    for (std::size_t first = 0; first < all.size();) {
      std::size_t last = first;
      const std::map<Place, std::uint64_t> before = held_;
      for (std::int64_t node = n_; node < list_.nodes; ++node)
        for (std::int64_t chunk = 0; chunk < list_.chunks; ++chunk) held_.erase({node, chunk});
      for (; last < all.size() && all[last].step == all[first].step; ++last) {
        const Message& message = all[last];
        const auto found = before.find({message.source, message.chunk});
        const std::uint64_t number = found == before.end() ? 0 : found->second;
        std::uint64_t& there = held_[{message.destination, message.chunk}];
        there = message.reduces ? there + number : number;
      }
      first = last;
    }
    for (std::int64_t chunk = 0; chunk < list_.chunks; ++chunk)
      for (std::int64_t rank = 0; rank < n_; ++rank)
        if (wanted(rank, chunk) && held_[{rank, chunk}] != whole_[chunk]) return false;
    return true;
  }

 private:
  void contribute(std::int64_t rank, std::int64_t chunk, core::Random& random) {
    const std::uint64_t number = random.next();
    held_[{rank, chunk}] = number;
    whole_[chunk] += number;
  }
  bool adds() const {
    return list_.collective == Collective::all_reduce || list_.collective == Collective::reduce_scatter ||
           list_.collective == Collective::reduce;
  }
  std::int64_t source(std::int64_t chunk) const {
    if (list_.collective == Collective::broadcast || list_.collective == Collective::send) return 0;
    return chunk * n_ / list_.chunks;
  }
  bool wanted(std::int64_t rank, std::int64_t chunk) const {
    if (list_.collective == Collective::send) return rank == 1;
    if (list_.collective == Collective::reduce || list_.collective == Collective::gather) return rank == 0;
    if (list_.collective == Collective::reduce_scatter) return rank == chunk * n_ / list_.chunks;
    if (list_.collective == Collective::all_to_all) return rank == chunk * n_ * n_ / list_.chunks % n_;
    return true;
  }

  const MessageList& list_;
  std::int64_t n_;
  std::map<Place, std::uint64_t> held_;
  std::map<std::int64_t, std::uint64_t> whole_;
};

// Cases with messages, small enough to be tried often.
std::vector<Case> moving_cases() {
  constexpr std::int64_t k_most_ranks = 12;
  std::vector<Case> cases = all_cases();
  std::erase_if(cases,
                [](const Case& each) { return each.list.group.ranks > k_most_ranks || messages(each.list).empty(); });
  return cases;
}

std::size_t any(core::Random& random, const std::vector<Message>& all) {
  return static_cast<std::size_t>(random.below(all.size()));
}

}  // namespace

TEST_CASE("numbers added and handed on by a list come out right") {
  core::Random random(1);
  for (const Case& each : moving_cases()) {
    INFO(each);
    CHECK(Numbers(each.list, random).right_after(messages(each.list)));
  }
}

TEST_CASE("no message can be left out") {
  core::Random random(2);
  for (const Case& each : moving_cases()) {
    std::vector<Message> all = messages(each.list);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(any(random, all)));
    INFO(each);
    CHECK(find_fault(each.list, all));
  }
}

TEST_CASE("no message can be sent twice, in its step or in a later one") {
  core::Random random(3);
  for (const Case& each : moving_cases()) {
    std::vector<Message> all = messages(each.list);
    Message again = all[any(random, all)];
    INFO(each << ", step " << again.step << " chunk " << again.chunk);
    all.push_back(again);
    CHECK(find_fault(each.list, all));
    again.step += static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(each.list.steps - again.step)));
    all.back() = again;
    CHECK(find_fault(each.list, all));
  }
}

TEST_CASE("a changed list whose numbers come out wrong is refused") {
  core::Random random(4);
  std::int64_t wrong = 0, harmless = 0;
  for (const Case& each : moving_cases())
    for (int trial = 0; trial < 6; ++trial) {
      std::vector<Message> all = messages(each.list);
      Message& changed = all[any(random, all)];
      const auto other = [&](std::int64_t now, std::int64_t count) {
        return count < 2
                   ? now
                   : (now + 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count - 1)))) % count;
      };
      switch (trial) {
        case 0:
          changed.destination = other(changed.destination, each.list.nodes);
          break;
        case 1:
          changed.source = other(changed.source, each.list.nodes);
          break;
        case 2:
          changed.chunk = other(changed.chunk, each.list.chunks);
          break;
        case 3:
          changed.reduces = !changed.reduces;
          break;
        case 4:  // too early
          changed.step = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(changed.step + 1)));
          break;
        default:
          changed.step = other(changed.step, each.list.steps);
      }
      const bool right = Numbers(each.list, random).right_after(all);
      right ? ++harmless : ++wrong;
      INFO(each << ", trial " << trial << ", step " << changed.step << " " << changed.source << " -> "
                << changed.destination << " chunk " << changed.chunk);
      if (!right) CHECK(find_fault(each.list, all));
    }
  // Both kinds are met: an own chunk that leaves early harms nobody.
  CHECK(wrong > 1000);
  CHECK(harmless > 0);
}

// By hand, on the ring all-reduce of two ranks: chunk 1 of rank 0 and chunk 0 of rank 1 are added in step 0, the sums
// come back in step 1.
TEST_CASE("a fault is named with its message") {
  const MessageList list = *algorithm("ring").list(Collective::all_reduce, {.ranks = 2});
  const std::vector<Message> right{{0, 0, 1, 1, true}, {0, 1, 0, 0, true}, {1, 0, 1, 0, false}, {1, 1, 0, 1, false}};
  std::vector<Message> all = messages(list);
  std::sort(all.begin(), all.end());
  REQUIRE(all == right);
  const auto fault = [&](std::size_t which, const Message& message) {
    std::vector<Message> changed = right;
    changed[which] = message;
    return find_fault(list, changed).value_or("");
  };
  CHECK(fault(0, {0, 0, 0, 1, true}) == "step 0, 0 -> 0, chunk 1: it stays where it is");
  CHECK(fault(0, {0, 0, 2, 1, true}) == "step 0, 0 -> 2, chunk 1: there is no such node");
  CHECK(fault(0, {0, 0, 1, 2, true}) == "step 0, 0 -> 1, chunk 2: there is no such chunk");
  CHECK(fault(3, {2, 1, 0, 1, false}) == "step 2, 1 -> 0, chunk 1: there is no such step");
  CHECK(fault(2, {1, 0, 1, 0, true}) == "step 1, 0 -> 1, chunk 0: it adds what is in the sum already");
  CHECK(fault(0, {0, 0, 1, 1, false}) ==
        "step 0, 0 -> 1, chunk 1: it brings nothing new, or replaces what it does not contain");
  CHECK(fault(0, {0, 0, 1, 0, true}) ==
        "step 1, 0 -> 1, chunk 0: it brings nothing new, or replaces what it does not contain");
}

TEST_CASE("a switch forgets, and a rank has nothing to give before it got it") {
  const MessageList list = *algorithm("in-switch").list(Collective::all_reduce, {.ranks = 2});
  std::vector<Message> late = messages(list);
  for (Message& message : late)
    if (message.source == 2 && message.step == 1 && message.chunk == 0) message.step = 2;
  CHECK(find_fault(list, late).value_or("") == "switch 2 loses chunk 0");

  const MessageList chain = *algorithm("ring").list(Collective::broadcast, {.ranks = 3});
  std::vector<Message> early = messages(chain);
  for (Message& message : early) message.step = 0;
  CHECK(find_fault(chain, early).value_or("") == "step 0, 1 -> 2, chunk 0: the source does not hold it");
}
