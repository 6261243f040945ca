#include <map>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/sim/event_queue.h"
#include "cairn/sim/shared_work.h"
#include "catch.h"

using namespace cairn;
using core::Picoseconds;
using sim::Demand;
using sim::SharedWork;

namespace {

constexpr Picoseconds k_ms = 1'000'000'000;

// Lets all work that has been started at 0 end.
std::map<SharedWork::Tag, Picoseconds> run(SharedWork& shared) {
  sim::EventQueue<std::uint32_t> events;
  std::map<SharedWork::Tag, Picoseconds> ends;
  const auto settle = [&] {
    shared.settle(events.now());
    for (const SharedWork::Wake& wake : shared.wakes()) events.push(wake.time, wake.slot);
  };
  settle();
  while (!events.empty()) {
    std::vector<SharedWork::Tag> ended;
    do {
      const std::uint32_t slot = events.pop();
      shared.wake(slot, events.now(), ended);
    } while (events.pending_now());
    for (const SharedWork::Tag tag : ended) REQUIRE(ends.emplace(tag, events.now()).second);
    settle();
  }
  return ends;
}

using Ends = std::map<SharedWork::Tag, Picoseconds>;

}  // namespace

TEST_CASE("work alone on its units takes its own time") {
  SharedWork shared;
  const auto memory = shared.add_link(1);
  shared.start(std::vector<Demand>{{memory, 0.8}}, 0.25, 7, 1, 1);  // a quarter of a second at full speed
  shared.start(std::vector<Demand>{}, 0.5, 8, 1, 1);                // uses nothing that is shared
  CHECK(run(shared) == Ends{{7, 250 * k_ms}, {8, 500 * k_ms}});
}

TEST_CASE("two kernels slow each other down until one ends") {
  // Shares 0.8 and 0.4 at full speed: both at 1/1.2. The second, of 0.5 s, ends at 0.6 s; the first has 0.5 s left and
  // the memory for itself: 1.1 s.
  SharedWork shared;
  const auto memory = shared.add_link(1);
  shared.start(std::vector<Demand>{{memory, 0.8}}, 1.0, 0, 1, 1);
  shared.start(std::vector<Demand>{{memory, 0.4}}, 0.5, 1, 1, 1);
  CHECK(run(shared) == Ends{{0, 1100 * k_ms}, {1, 600 * k_ms}});
}

TEST_CASE("a kernel and a transfer meet at the memory, each weighed by its speed alone") {
  // Memory 100 bytes/s. The kernel takes 80 of them at full speed (x = 1); the transfer passes the memory once per byte
  // and its link gives it 50 bytes/s. Weights 1 and 50 slow both by the same factor t: 80 t + 50 t = 100, t = 10/13.
  // Kernel of 1 s: 1.3 s. Transfer of 25 bytes: 25 / (50 t) = 0.65 s, when the kernel has 1/2 s left and full speed
  // again: 1.15 s.
  SharedWork shared;
  const auto memory = shared.add_link(100), link = shared.add_link(50);
  shared.start(std::vector<Demand>{{memory, 80.0}}, 1.0, 0, 1, 1);
  shared.start(std::vector<Demand>{{memory, 1.0}, {link, 1.0}}, 25, 1, 50);
  CHECK(run(shared) == Ends{{0, 1150 * k_ms}, {1, 650 * k_ms}});
}

TEST_CASE("weights of 1 / rate alone share a link by equal rates") {
  // A link of 10 bytes/s, two transfers that reach 10 and 5 bytes/s alone, of 10 bytes each: 1 and 2 s. Equal slowing:
  // 10 x + 5 x = 10, x = 2/3: the fast ends at 1.5 s with the slow one half done, which then runs at full speed: 2.5 s.
  // Equal rates of 5: the fast one ends at 2 s, as does the slow one.
  const auto ends = [](double fast, double slow) {
    SharedWork shared;
    const auto link = shared.add_link(10);
    shared.start(std::vector<Demand>{{link, 10.0}}, 1.0, 0, fast, 1);
    shared.start(std::vector<Demand>{{link, 5.0}}, 2.0, 1, slow, 1);
    return run(shared);
  };
  CHECK(ends(1, 1) == Ends{{0, 1500 * k_ms}, {1, 2500 * k_ms}});
  CHECK(ends(1.0 / 10, 1.0 / 5) == Ends{{0, 2000 * k_ms}, {1, 2000 * k_ms}});
}

TEST_CASE("a capacity changes and a wake is overtaken") {
  SharedWork shared;
  const auto link = shared.add_link(10);
  shared.start(std::vector<sim::LinkId>{link}, 10, 0);
  shared.settle(0);
  REQUIRE(shared.wakes().size() == 1);
  const SharedWork::Wake overtaken = shared.wakes()[0];
  CHECK(overtaken.time == 1000 * k_ms);
  shared.set_capacity(link, 5);  // at 0.5 s half is done; the rest takes 1 s
  shared.settle(500 * k_ms);
  REQUIRE(shared.wakes().size() == 1);
  const SharedWork::Wake wake = shared.wakes()[0];
  CHECK(wake.time == 1500 * k_ms);
  std::vector<SharedWork::Tag> ended;
  shared.wake(overtaken.slot, overtaken.time, ended);
  CHECK(ended.empty());
  shared.wake(wake.slot, wake.time, ended);
  CHECK(ended == std::vector<SharedWork::Tag>{0});
}

TEST_CASE("bounds that come and go join nobody: devices stay apart") {
  // Each device runs two kernels on its own memory, again and again. A change on one is never solved with the other.
  core::Random random(53);
  sim::FairShare share;
  const sim::LinkId memories[] = {share.add_link(1), share.add_link(1)};
  std::vector<sim::FlowId> kernels[2];
  for (int i = 0; i < 2000; ++i) {
    const std::size_t device = random.below(2);
    if (kernels[device].size() == 2) {
      share.remove_flow(kernels[device].back());
      kernels[device].pop_back();
    } else {
      kernels[device].push_back(share.add_flow(std::vector<Demand>{{memories[device], 0.7}}, 1, 1));
    }
    share.solve();
    REQUIRE(share.group(memories[0]) != share.group(memories[1]));
    for (const std::size_t d : {0, 1})
      for (const sim::FlowId kernel : kernels[d])
        REQUIRE(share.rate(kernel) == Approx(kernels[d].size() == 1 ? 1.0 : 1 / 1.4).epsilon(1e-12));
  }
  CHECK(share.links() <= 2 + 8);
}
