// A search by several processes, which are threads here, against one by a single process.
#include "cairn/search/crew.h"

#include "catch.h"

#include <cstddef>
#include <exception>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "cairn/core/diagnostics.h"
#include "search/letters.h"
#include "search/small_search.h"

using namespace cairn;
using namespace cairn::search_tests;

namespace {

Others::Life serving(const SmallSearch& small, std::size_t threads, const std::string& of = k_of) {
  return [&small, threads, of](search::Wire& wire) {
    search::Request request = small.request(threads);
    request.wire = &wire;
    request.of = of;
    search::serve(request);
  };
}

}  // namespace

TEST_CASE("Any number of processes and threads gives the same answer") {
  SmallSearch small;
  for (const bool exhaustive : {false, true}) {
    search::Request alone = small.request();
    alone.exhaustive = exhaustive;
    const search::Answer whole = search::search(alone);
    REQUIRE(whole.complete);
    for (const std::size_t ranks : {1, 2, 3, 8})
      for (const std::size_t threads : {1, 3}) {
        INFO(ranks << " processes of " << threads << " threads, exhaustive " << exhaustive);
        Others others(ranks, serving(small, threads));
        search::Request request = small.request(threads);
        request.exhaustive = exhaustive;
        request.wire = others.wire();
        same(search::search(request), whole);
      }
  }
}

TEST_CASE("What processes found together goes on with any number of them") {
  SmallSearch small;
  const search::Answer whole = small.run(k_never, false);
  small.text.clear();
  std::size_t cuts = 0;
  std::size_t looks = 10;
  for (bool complete = false; !complete; looks += 10) {
    Others others(1 + cuts % 3, serving(small, 1));
    const search::Answer answer = small.run(looks, true, 1, others.wire());
    complete = answer.complete;
    CHECK(answer.verdict.defect.empty());
    if (complete) same(answer, whole);
    ++cuts;
  }
  CHECK(cuts > 3);
  same(small.run(k_never), whole);
}

// Where every box is asked for, no look ahead is in vain, and the journal has a line for each time that one was
// explored.
TEST_CASE("Every box is explored once, by whatever process") {
  SmallSearch small;
  small.exhaustive = true;
  const auto lines = [&] {
    std::multiset<std::string> all;
    std::istringstream text(small.text);
    for (std::string line; std::getline(text, line);) all.insert(line);
    return all;
  };
  small.run(k_never);
  const std::multiset<std::string> alone = lines();
  CHECK(std::set<std::string>(alone.begin(), alone.end()).size() == alone.size());
  for (const std::size_t ranks : {2, 3}) {
    INFO(ranks << " processes");
    small.text.clear();
    Others others(ranks, serving(small, 1));
    small.run(k_never, true, 1, others.wire());
    CHECK(lines() == alone);
  }
}

TEST_CASE("A process that cannot serve ends the search with what it says") {
  SmallSearch small;
  const auto fails = [&](const Others::Life& life, const std::string& words) {
    Others others(2, life);
    // A short search may end before the other is heard.
    for (int trial = 0; trial < 1000; ++trial) {
      try {
        small.run(k_never, false, 1, others.wire());
      } catch (const core::CapabilityError& error) {
        CHECK(std::string(error.what()).find(words) != std::string::npos);
        return;
      }
    }
    FAIL("the other process was never heard");
  };
  fails(
      [](search::Wire& wire) { search::decline(wire, std::make_exception_ptr(core::CapabilityError("no such file"))); },
      "process 1: no such file");
  fails(serving(small, 1, R"({"experiment": "yours"})"), "process 1 has another program");
}
