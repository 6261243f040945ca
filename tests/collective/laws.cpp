// Laws of every list that the registry has.
#include <algorithm>
#include <set>

#include "cairn/collective/folds.h"
#include "cairn/collective/least.h"
#include "cairn/collective/verify.h"
#include "cairn/core/diagnostics.h"
#include "catch.h"
#include "collective/cases.h"

using namespace cairn;
using namespace cairn::collective;
using test::all_cases;
using test::Case;

TEST_CASE("every list gives every rank exactly the contributions it was promised") {
  for (const Case& each : all_cases()) {
    INFO(each);
    CHECK(find_fault(each.list, messages(each.list)).value_or("") == "");
  }
}

TEST_CASE("both ends of a message know it") {
  for (const Case& each : all_cases()) {
    INFO(each);
    std::vector<Message> sent, received;
    for (std::int64_t node = 0; node < each.list.nodes; ++node) {
      for (const Message& message : sent_by(each.list, node)) {
        CHECK(message.source == node);
        sent.push_back(message);
      }
      for (const Message& message : received_by(each.list, node)) {
        CHECK(message.destination == node);
        received.push_back(message);
      }
    }
    std::sort(sent.begin(), sent.end());
    std::sort(received.begin(), received.end());
    CHECK(sent == received);
  }
}

TEST_CASE("something moves in every step of a list, and after none") {
  for (const Case& each : all_cases()) {
    INFO(each);
    std::set<std::int64_t> steps;
    for (const Message& message : messages(each.list)) steps.insert(message.step);
    CHECK(static_cast<std::int64_t>(steps.size()) == each.list.steps);
    CHECK((steps.empty() || (*steps.begin() == 0 && *steps.rbegin() == each.list.steps - 1)));
  }
}

TEST_CASE("folds count the messages of a list, and its busiest rank is the busiest") {
  for (const Case& each : all_cases()) {
    INFO(each);
    std::vector<std::int64_t> out(static_cast<std::size_t>(each.list.nodes), 0), in = out;
    for (const Message& message : messages(each.list)) {
      ++out[static_cast<std::size_t>(message.source)];
      ++in[static_cast<std::size_t>(message.destination)];
    }
    std::int64_t most = 0;
    for (std::int64_t node = 0; node < each.list.nodes; ++node) {
      const auto at = static_cast<std::size_t>(node);
      CHECK(sent(each.list, node) == Share{out[at], each.list.buffer_chunks()});
      CHECK(received(each.list, node) == Share{in[at], each.list.buffer_chunks()});
      if (node < each.list.group.ranks) most = std::max({most, out[at], in[at]});
    }
    CHECK(busiest(each.list) == Share{most, each.list.buffer_chunks()});
  }
}

// In chunks, which are whole numbers: bytes = the chunks of S. The bounds hold where the network adds nothing up.
TEST_CASE("no list without a switch moves less than the least") {
  for (const Case& each : all_cases()) {
    if (each.list.nodes > each.list.group.ranks) continue;
    INFO(each);
    const auto buffer = static_cast<double>(each.list.buffer_chunks());
    const std::int64_t ranks = each.list.group.ranks;
    const double tolerance = 1e-12 * buffer;  // (n-1)/n of a whole number, rounded
    CHECK(static_cast<double>(busiest(each.list).chunks) >=
          least_bytes(each.list.collective, ranks, buffer) - tolerance);
    CHECK(static_cast<double>(messages(each.list).size()) >=
          least_total_bytes(each.list.collective, ranks, buffer) - tolerance * static_cast<double>(ranks));
  }
}

TEST_CASE("every algorithm does something, and every collective over any number of ranks is done flat") {
  for (const Algorithm& algorithm : algorithms()) {
    INFO(algorithm.name);
    CHECK_FALSE(algorithm.summary.empty());
    CHECK_FALSE(algorithm.source.empty());
    CHECK(&collective::algorithm(algorithm.name) == &algorithm);
    const auto cases = all_cases();
    CHECK(std::any_of(cases.begin(), cases.end(), [&](const Case& each) {
      return each.algorithm == algorithm.name && !messages(each.list).empty();
    }));
  }
  CHECK_THROWS_AS(collective::algorithm("pigeon"), core::ConfigurationError);
  for (const Collective collective : k_collectives)
    for (const std::int64_t ranks : {1, 2, 3, 33, 1000}) {
      INFO(name(collective) << " of " << ranks);
      const MessageList list = flat_list(collective, ranks);
      CHECK(list.collective == collective);
      CHECK(list.group.ranks == ranks);
    }
}

// One rank's bytes of a ring of 2^40 ranks, whose whole list no machine could hold.
TEST_CASE("a rank is asked for its own messages alone") {
  constexpr std::int64_t k_ranks = std::int64_t{1} << 40;
  CHECK(flat_share(Collective::all_reduce, k_ranks) == Share{2 * (k_ranks - 1), k_ranks});
}
