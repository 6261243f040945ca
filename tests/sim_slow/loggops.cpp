// Messages of the LogGOPS model as tasks: a sender's overhead o, the wire's L + (s-1) G, a receiver's overhead o, and a
// network interface that takes the next message g + (s-1) G after the one before. Processors and interfaces serve in
// order.
//   one message: o + L + o + (s-1) G.    Source: Hoefler, Schneider, Lumsdaine, "LogGOPSim", HPDC 2010 (O = 0, S huge).
// Times in nanoseconds, as its tool has them; the kernel's picoseconds carry them exactly.
#include <cstdint>
#include <utility>
#include <vector>

#include "cairn/sim/task_graph.h"
#include "catch.h"

using namespace cairn;
using sim::Discipline;
using sim::TaskId;

namespace {

struct Parameters {
  std::int64_t latency, overhead, gap, gap_per_byte;  // L, o, g, G [ns]
};

class Messages {
 public:
  Messages(std::uint32_t ranks, const Parameters& p) : p_(p) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      processors_.push_back(builder_.add_resource(Discipline::program_order));
      interfaces_.push_back(builder_.add_resource(Discipline::program_order));
    }
  }
  static constexpr TaskId k_none = ~TaskId{0};

  struct Message {
    TaskId sent, arrived;
  };
  // After `before` has ended on the sending rank.
  Message send(std::uint32_t from, std::int64_t bytes, TaskId before) {
    const std::int64_t body = (bytes - 1) * p_.gap_per_byte;
    const TaskId sent = add(p_.overhead, processors_[from]);
    if (before != k_none) builder_.add_dependency(before, sent);
    // A rank's next message waits on the interface, not its processor.
    const TaskId turn = add(0, interfaces_[from]);
    builder_.add_dependency(sent, turn);
    add(p_.gap + body, interfaces_[from]);
    const TaskId wire = add(p_.latency + body, sim::k_no_resource);
    builder_.add_dependency(turn, wire);
    return {sent, wire};
  }
  // Processors serve in the order of the calls: in a step every rank sends before it receives.
  TaskId receive(std::uint32_t to, const Message& message) {
    const TaskId received = add(p_.overhead, processors_[to]);
    builder_.add_dependency(message.arrived, received);
    return received;
  }

  std::int64_t nanoseconds() const {
    const sim::TaskGraph graph = builder_.build();
    const sim::TaskTimes times = sim::run_events(graph);
    CHECK(sim::run_sweep(graph).end == times.end);
    CHECK(times.makespan % 1000 == 0);
    return times.makespan / 1000;
  }

 private:
  TaskId add(std::int64_t nanoseconds, sim::ResourceId resource) {
    return builder_.add_task(1000 * nanoseconds, resource);
  }

  Parameters p_;
  sim::TaskGraphBuilder builder_;
  std::vector<sim::ResourceId> processors_, interfaces_;
};

// Step after step, every rank sends to the one `distance` further and receives, after both of the step before.
std::int64_t shifts(std::uint32_t ranks, const std::vector<std::uint32_t>& distances, std::int64_t bytes,
                    const Parameters& p) {
  Messages messages(ranks, p);
  std::vector<TaskId> received(ranks, Messages::k_none);
  std::vector<Messages::Message> sent(ranks);
  for (const std::uint32_t distance : distances) {
    for (std::uint32_t r = 0; r < ranks; ++r) sent[r] = messages.send(r, bytes, received[r]);
    for (std::uint32_t r = 0; r < ranks; ++r)
      received[(r + distance) % ranks] = messages.receive((r + distance) % ranks, sent[r]);
  }
  return messages.nanoseconds();
}

std::int64_t ring(std::uint32_t ranks, std::int64_t chunk, const Parameters& p) {
  return shifts(ranks, std::vector<std::uint32_t>(2 * (ranks - 1), 1), chunk, p);
}

std::int64_t dissemination(std::uint32_t ranks, std::int64_t bytes, const Parameters& p) {
  std::vector<std::uint32_t> distances;
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) distances.push_back(distance);
  return shifts(ranks, distances, bytes, p);
}

// Rank r sends to r + 2^k for every 2^k > r, once it has received from r without its highest bit.
std::int64_t binomial(std::uint32_t ranks, std::int64_t bytes, const Parameters& p) {
  Messages messages(ranks, p);
  std::vector<TaskId> received(ranks, Messages::k_none);
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2)
    for (std::uint32_t r = 0; r < distance && r + distance < ranks; ++r)
      received[r + distance] = messages.receive(r + distance, messages.send(r, bytes, received[r]));
  return messages.nanoseconds();
}

}  // namespace

TEST_CASE("LogGOPS: rings take 2 (P-1) (L + 2o + (s-1) G)") {
  // 2 x 63 x (1000 + 999,999) = 126,125,874; with o = 200: 510 x (1000 + 400 + 999,999) = 510,713,490.
  CHECK(ring(64, 1'000'000, {.latency = 1000, .overhead = 0, .gap = 0, .gap_per_byte = 1}) == 126'125'874);
  CHECK(ring(256, 1'000'000, {.latency = 1000, .overhead = 0, .gap = 0, .gap_per_byte = 1}) == 510'509'490);
  CHECK(ring(256, 1'000'000, {.latency = 1000, .overhead = 200, .gap = 5, .gap_per_byte = 1}) == 510'713'490);
}

TEST_CASE("LogGOPS: dissemination and binomial trees take ceil(log2 P) (L + 2o + (s-1) G)") {
  const Parameters p{.latency = 1000, .overhead = 200, .gap = 5, .gap_per_byte = 1};
  // A message of 1024 bytes takes 1000 + 400 + 1023 = 2423: 6 of them 14,538, 10: 24,230, 16: 38,768.
  CHECK(dissemination(64, 1024, p) == 14'538);
  CHECK(dissemination(1024, 1024, p) == 24'230);
  CHECK(binomial(64, 1024, p) == 14'538);
  CHECK(binomial(1024, 1024, p) == 24'230);
  CHECK(binomial(65536, 1024, p) == 38'768);
}

TEST_CASE("LogGOPS: 65,536 ranks and large rings, message by message") {
  const Parameters p{.latency = 1000, .overhead = 200, .gap = 5, .gap_per_byte = 1};
  CHECK(dissemination(65536, 1024, p) == 38'768);
  // The wire alone (o = g = 0): one task per message, of 1000 + 999,999 ns; 1022 steps of 512 ranks, 2046 of 1024.
  for (const auto& [ranks, makespan] : {std::pair{512U, 1'023'020'978'000}, std::pair{1024U, 2'048'043'954'000}}) {
    const std::uint32_t steps = 2 * (ranks - 1);
    sim::TaskGraphBuilder builder;
    for (std::uint32_t i = 0; i < ranks * steps; ++i) builder.add_task(1000 * (1000 + 999'999));
    for (std::uint32_t i = 0; i < ranks * (steps - 1); ++i) {
      const std::uint32_t next = (i / ranks + 1) * ranks;
      builder.add_dependency(i, next + i % ranks);
      builder.add_dependency(i, next + (i + 1) % ranks);
    }
    const sim::TaskGraph graph = builder.build();
    CHECK(sim::run_events(graph).makespan == makespan);
    CHECK(sim::run_sweep(graph).makespan == makespan);
  }
}
