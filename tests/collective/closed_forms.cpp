// Published counts of the algorithms, which the lists must give. The closed forms live here alone.
#include <bit>
#include <cmath>

#include "cairn/collective/algorithms.h"
#include "cairn/collective/folds.h"
#include "cairn/collective/least.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::collective;

namespace {

std::int64_t ceil_log2_closed_form(std::int64_t n) {
  std::int64_t log = 0;
  while ((std::int64_t{1} << log) < n) ++log;
  return log;
}

// What nccl-tests calls the bus traffic of a buffer: 2(n-1)/n all-reduce, (n-1)/n of shares, all of one tensor.
double flat_bytes_closed_form(Collective collective, double n, double bytes) {
  switch (collective) {
    case Collective::all_reduce:
      return 2.0 * (n - 1.0) / n * bytes;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send:
      return bytes;
    default:
      return (n - 1.0) / n * bytes;
  }
}

std::int64_t flat_steps_closed_form(Collective collective, std::int64_t n) {
  if (collective == Collective::gather || collective == Collective::send) return 1;
  return collective == Collective::all_reduce ? 2 * (n - 1) : n - 1;
}

}  // namespace

TEST_CASE("a flat group moves the bus traffic, bit by bit") {
  core::Random random(1);
  for (const Collective collective : k_collectives)
    for (std::int64_t n = 2; n <= 1000; ++n) {
      const double bytes = 1e9 * random.uniform();
      INFO(name(collective) << " of " << n);
      CHECK(flat_share(collective, n).bytes(bytes) ==
            flat_bytes_closed_form(collective, static_cast<double>(n), bytes));
      CHECK(flat_steps(collective, n) == flat_steps_closed_form(collective, n));
    }
}

TEST_CASE("of an all-to-all's whole tensor a rank sends (n-1)/n^2, bit by bit") {
  core::Random random(2);
  for (std::int64_t n = 1; n <= 1000; ++n) {
    const double whole = 1e9 * random.uniform(), ranks = static_cast<double>(n);
    CHECK(bytes_sent(Collective::all_to_all, n, whole) == (ranks - 1.0) / (ranks * ranks) * whole);
    CHECK(buffer_bytes(Collective::all_to_all, n, whole) == whole / ranks);
    CHECK(bytes_sent(Collective::all_gather, n, whole) == (ranks - 1.0) / ranks * whole);
    CHECK(buffer_bytes(Collective::all_gather, n, whole) == whole);
  }
  CHECK(bytes_sent(Collective::none, 8, 1e9) == 0.0);
}

TEST_CASE("the flat algorithms cannot be beaten") {
  for (const Collective collective : k_collectives)
    for (std::int64_t n = 1; n <= 64; ++n) {
      INFO(name(collective) << " of " << n);
      const Share share = flat_share(collective, n);
      CHECK(share.bytes(3e9) == Approx(least_bytes(collective, n, 3e9)).epsilon(1e-14));
    }
}

TEST_CASE("a chain passes pieces on while the next arrive") {
  for (const std::int64_t pieces : {1, 2, 7})
    for (std::int64_t n = 2; n <= 20; ++n)
      for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
        const MessageList list = list_of("ring", collective, {.ranks = n, .pieces = pieces});
        CHECK(list.steps == n - 2 + pieces);
        CHECK(busiest(list) == Share{pieces, pieces});
      }
}

TEST_CASE("trees take as many steps as they are deep, and two share the work") {
  for (std::int64_t n = 2; n <= 200; ++n) {
    INFO(n);
    const MessageList pair = list_of("double-tree", Collective::all_reduce, {.ranks = n});
    CHECK(pair.steps == 2 * ceil_log2_closed_form(n));
    CHECK(busiest(pair).chunks <= 2 * pair.chunks);  // 2 S at most
    const MessageList tree = list_of("binomial-tree", Collective::broadcast, {.ranks = n});
    CHECK(tree.steps == ceil_log2_closed_form(n));
    CHECK(busiest(tree) == Share{ceil_log2_closed_form(n), 1});
  }
}

TEST_CASE("algorithms over powers of two take logarithmically many steps") {
  for (std::int64_t log = 1; log <= 12; ++log) {
    const std::int64_t n = std::int64_t{1} << log;
    const MessageList halving = list_of("recursive-halving", Collective::all_reduce, {.ranks = n});
    CHECK(halving.steps == 2 * log);
    CHECK(sent(halving, n - 1) == Share{2 * (n - 1), n});
    const MessageList doubling = list_of("recursive-doubling", Collective::all_reduce, {.ranks = n});
    CHECK(doubling.steps == log);
    CHECK(sent(doubling, 1) == Share{log, 1});
    const MessageList cube = list_of("hypercube", Collective::all_to_all, {.ranks = n});
    CHECK(cube.steps == log);
    CHECK(sent(cube, 1) == Share{log * n / 2, n});  // S/2 in each
    CHECK_FALSE(algorithm("hypercube").list(Collective::all_to_all, {.ranks = n + 1}));
  }
}

// S reduced in the switch and S/n multicast.
TEST_CASE("a switch that adds takes S (1 + 1/n) from a rank and gives it S") {
  for (std::int64_t n = 2; n <= 33; ++n) {
    const MessageList list = list_of("in-switch", Collective::all_reduce, {.ranks = n});
    CHECK(in_switch_share(n) == Share{n + 1, n});
    for (std::int64_t rank = 0; rank < n; ++rank) {
      CHECK(sent(list, rank) == Share{n + 1, n});
      CHECK(received(list, rank) == Share{n, n});
    }
  }
}

TEST_CASE("a switch that sends all ranks the sum takes S from each and gives it S") {
  for (std::int64_t n = 2; n <= 33; ++n) {
    const MessageList list = list_of("switch-to-all", Collective::all_reduce, {.ranks = n});
    CHECK(list.steps == 2);
    for (std::int64_t rank = 0; rank < n; ++rank) {
      CHECK(sent(list, rank) == Share{1, 1});
      CHECK(received(list, rank) == Share{1, 1});
    }
  }
}

// m domains of r ranks: 2(m-1)/m S/r of an all-reduce leave a domain per rank, (m-1)/m S/r of a gather or scattering
// reduction, (m-1)/m S of an all-to-all, S/r of a broadcast.
TEST_CASE("what leaves a domain of two levels") {
  for (const std::int64_t m : {2, 3, 4, 7})
    for (const std::int64_t r : {1, 2, 3, 8}) {
      const Group group{.ranks = m * r, .domain = r};
      const auto across = [&](Collective collective, std::int64_t rank) {
        const Share share = sent_across(list_of("two-level", collective, group), rank);
        return static_cast<double>(share.chunks) / static_cast<double>(share.of);
      };
      const double domains = static_cast<double>(m), ranks = static_cast<double>(r), others = (domains - 1.0) / domains;
      INFO(m << " domains of " << r);
      for (std::int64_t rank = 0; rank < m * r; ++rank) {
        CHECK(across(Collective::all_reduce, rank) == Approx(2.0 * others / ranks));
        CHECK(across(Collective::all_gather, rank) == Approx(others / ranks));
        CHECK(across(Collective::reduce_scatter, rank) == Approx(others / ranks));
        CHECK(across(Collective::all_to_all, rank) == Approx(others));
        const bool last = rank / r == m - 1;  // the end of the chains
        CHECK(across(Collective::broadcast, rank) == Approx(last ? 0.0 : 1.0 / ranks));
      }
      CHECK(list_of("two-level", Collective::all_reduce, group).steps == 2 * (m - 1) + 2 * (r - 1));
    }
}

TEST_CASE("what has no list is refused") {
  CHECK_THROWS_AS(list_of("hypercube", Collective::all_to_all, {.ranks = 3}), core::ConfigurationError);
  CHECK_THROWS_AS(list_of("ring", Collective::gather, {.ranks = 3}), core::ConfigurationError);
  CHECK_THROWS_AS(flat_list(Collective::all_to_all, k_most_paired + 1), core::ConfigurationError);
  CHECK(flat_list(Collective::all_to_all, k_most_paired).steps == k_most_paired - 1);
}

TEST_CASE("least bytes of one rank are none, of all ranks together as published") {
  for (const Collective collective : k_collectives) {
    CHECK(least_bytes(collective, 1, 1e9) == 0.0);
    CHECK(least_total_bytes(collective, 1, 1e9) == 0.0);
  }
  CHECK(least_total_bytes(Collective::all_reduce, 4, 100.0) == 600.0);  // gossip: 2 x 3 x 100
  CHECK(least_total_bytes(Collective::broadcast, 4, 100.0) == 300.0);
  CHECK(least_total_bytes(Collective::all_to_all, 4, 100.0) == 300.0);  // 3/4 of each of four buffers
  CHECK(least_total_bytes(Collective::gather, 4, 100.0) == 75.0);
}
