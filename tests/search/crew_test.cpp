// A search by several processes, which are threads here, against one by a single process.
#include "cairn/search/crew.h"

#include "catch.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "search/small_search.h"

using namespace cairn;
using namespace cairn::search_tests;

namespace {

// Boxes of letters, one for each rank.
class LetterBoxes {
 public:
  explicit LetterBoxes(std::size_t ranks) : letters_(ranks) {}
  std::size_t ranks() const { return letters_.size(); }
  void put(std::size_t to, search::Message letter) {
    const std::lock_guard lock(mutex_);
    letters_.at(to).push_back(std::move(letter));
  }
  std::optional<search::Message> take(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    if (letters_[rank].empty()) return std::nullopt;
    search::Message letter = std::move(letters_[rank].front());
    letters_[rank].pop_front();
    return letter;
  }

 private:
  std::mutex mutex_;
  std::vector<std::deque<search::Message>> letters_;
};

class Letters : public search::Wire {
 public:
  Letters(LetterBoxes& boxes, std::size_t rank) : boxes_(boxes), rank_(rank) {}
  std::size_t rank() const override { return rank_; }
  std::size_t ranks() const override { return boxes_.ranks(); }
  std::size_t ranks_here() const override { return boxes_.ranks(); }
  void send(std::size_t to, std::vector<std::uint8_t> bytes) override {
    boxes_.put(to, {.from = rank_, .bytes = std::move(bytes)});
  }
  std::optional<search::Message> receive() override { return boxes_.take(rank_); }

 private:
  LetterBoxes& boxes_;
  std::size_t rank_;
};

// What the others do, until this goes.
class Others {
 public:
  using Life = std::function<void(search::Wire&)>;
  Others(std::size_t ranks, const Life& life) : boxes_(ranks), first_(boxes_, 0) {
    for (std::size_t rank = 1; rank < ranks; ++rank)
      threads_.emplace_back([this, rank, life] {
        Letters wire(boxes_, rank);
        life(wire);
      });
  }
  ~Others() {
    search::dismiss(first_);
    for (std::thread& each : threads_) each.join();
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;
  search::Wire* wire() { return &first_; }

 private:
  LetterBoxes boxes_;
  Letters first_;
  std::vector<std::thread> threads_;
};

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

// Where every box is asked for, no look ahead is in vain, and the journal has a line for each time that one was explored.
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
  fails([](search::Wire& wire) { search::decline(wire, "no such file"); }, "process 1: no such file");
  fails(serving(small, 1, R"({"experiment": "yours"})"), "process 1 has another program");
}
