// What each of several processes does of a search, which are threads here, and what becomes of boxes that fail.
#include "catch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cairn/core/diagnostics.h"
#include "cairn/core/out_of_range.h"
#include "cairn/search/crew.h"
#include "crew.h"
#include "explorer.h"
#include "findings_json.h"
#include "search/letters.h"
#include "search/small_search.h"
#include "serving.h"

using namespace cairn;
using namespace cairn::search_tests;
using nlohmann::json;

namespace {

void wait_until(const std::function<bool()>& true_at_last) {
  for (int i = 0; i < 60000 && !true_at_last(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE(true_at_last());
}

// A wire that counts the boxes whose findings it carries.
class Counting : public search::Wire {
 public:
  Counting(search::Wire& wire, std::atomic<std::size_t>& found) : wire_(wire), found_(found) {}
  std::size_t rank() const override { return wire_.rank(); }
  std::size_t ranks() const override { return wire_.ranks(); }
  std::size_t ranks_here() const override { return wire_.ranks_here(); }
  void send(std::size_t to, std::vector<std::uint8_t> bytes) override {
    const json words = json::from_cbor(bytes);
    if (words.contains("found")) found_ += words["found"].size();
    wire_.send(to, std::move(bytes));
  }
  std::optional<search::Message> receive() override { return wire_.receive(); }

 private:
  search::Wire& wire_;
  std::atomic<std::size_t>& found_;
};

// What happens whenever a box is begun, beside the reading of its tensor parallelism. Of one test at a time.
std::function<void(std::int64_t tp)>& hook() {
  static std::function<void(std::int64_t)> each;
  return each;
}
void (*read_tp)(const experiment::StrategyChoice& from, experiment::StrategyChoice& to) = nullptr;
void read_with_hook(const experiment::StrategyChoice& from, experiment::StrategyChoice& to) {
  hook()(from.tp);
  read_tp(from, to);
}
search::Space hooked(search::Space space, std::function<void(std::int64_t)> each) {
  hook() = std::move(each);
  for (search::Axis& axis : space.axes) {
    if (axis.key != "tp") continue;
    read_tp = axis.copy;
    axis.copy = read_with_hook;
  }
  return space;
}

constexpr std::int64_t k_bad = 4;  // of the search's degrees 1, 2 and 4
void fail_where_bad(std::int64_t tp) {
  if (tp == k_bad) throw std::runtime_error("a degree that fails");
}

// The boxes of the small search: those that fail_where_bad() fails in, and the others.
struct Boxes {
  std::vector<search::Box> good = {};
  std::vector<search::Box> bad = {};

  explicit Boxes(const SmallSearch& small) {
    const search::Request request = small.request();
    search::Explorer explorer(request);
    for (search::Box& each : explorer.found().boxes)
      (explorer.choice_of(each.first).tp == k_bad ? bad : good).push_back(std::move(each));
    REQUIRE(good.size() > 1);
    REQUIRE(bad.size() > 1);
  }
};

// What rank 0 throws when another process throws `problem` and declines.
template <class Problem>
std::exception_ptr declined(const Problem& problem) {
  SmallSearch small;
  Others others(2, [&](search::Wire& wire) { search::decline(wire, std::make_exception_ptr(problem)); });
  wait_until([&] { return others.waiting() == 1; });
  for (int trial = 0; trial < 1000; ++trial) {  // a short search may end before the other is heard
    try {
      small.run(k_never, false, 1, others.wire());
    } catch (const std::exception&) {
      return std::current_exception();
    }
  }
  FAIL("the other process was never heard");
  return {};
}

template <class Thrown>
void check_declined(const std::exception_ptr& problem, const std::string& text) {
  try {
    std::rethrow_exception(problem);
  } catch (const Thrown& error) {
    CHECK(typeid(error) == typeid(Thrown));
    CHECK(std::string(error.what()) == text);
  } catch (const std::exception& error) {
    FAIL("of another type: " << error.what());
  }
}

}  // namespace

TEST_CASE("Every process gets boxes of a search, and each box goes to one") {
  SmallSearch small;
  small.exhaustive = true;
  constexpr std::size_t k_ranks = 4;
  std::vector<std::atomic<std::size_t>> found(k_ranks);
  {
    Others others(k_ranks, [&](search::Wire& wire) {
      Counting counting(wire, found[wire.rank()]);
      search::Request request = small.request();
      request.wire = &counting;
      search::serve(request);
    });
    wait_until([&] { return others.waiting() == k_ranks - 1; });  // all have begun
    small.run(k_never, true, 1, others.wire());
  }
  const auto lines = static_cast<std::size_t>(std::count(small.text.begin(), small.text.end(), '\n')) - 1;
  std::size_t by_others = 0;
  for (std::size_t rank = 1; rank < k_ranks; ++rank) {
    INFO("process " << rank << " of " << lines << " boxes");
    CHECK(found[rank] > 0);
    by_others += found[rank];
  }
  CHECK(by_others < lines);
}

TEST_CASE("A process that is dismissed begins no further box") {
  const SmallSearch small;
  std::atomic<std::size_t> begun = 0;
  std::atomic<bool> open = false;
  const search::Space space = hooked(small.space(), [&](std::int64_t) {
    ++begun;
    open.wait(false);
  });
  LetterBoxes boxes(2);
  Letters first(boxes, 0), second(boxes, 1);
  constexpr std::size_t k_threads = 2;
  search::Request request = small.request(k_threads, space);
  request.wire = &second;
  std::thread process([&] {
    search::Serving serving(request);
    serving.run();
    open = true;  // its threads go on, now that it was dismissed
    open.notify_all();
  });
  const auto say = [&](const json& words) { first.send(1, json::to_cbor(words)); };
  const json box = search::json_of({.state = search::Box::State::layers});  // its values are read once
  say({{"boxes", {box, box, box, box, box, box}}});
  wait_until([&] { return begun == k_threads; });
  say({{"end", true}});
  process.join();
  CHECK(begun == k_threads);
}

TEST_CASE("What a box throws that is looked at ahead is thrown once it is asked for, by its type") {
  const SmallSearch small;
  const Boxes boxes(small);
  for (const bool refused : {false, true}) {
    const search::Space space = hooked(small.space(), [&](std::int64_t tp) {
      if (refused && tp == k_bad) throw core::ConfigurationError("strategy.tp", "too many", "use 2");
      fail_where_bad(tp);
    });
    for (const std::size_t ranks : {1, 3}) {
      INFO(ranks << " processes, refused " << refused);
      Others others(ranks, [&](search::Wire& wire) {
        search::Request request = small.request(1, space);
        request.wire = &wire;
        search::serve(request);
      });
      search::Request request = small.request(2, space);
      request.wire = others.wire();
      constexpr std::size_t k_at_once = 16;
      search::Crew crew(request, k_at_once);
      wait_until([&] { return others.waiting() == ranks - 1; });
      for (const search::Box& each : boxes.good) {
        const auto found = crew.explored({each}, boxes.bad);
        REQUIRE(found.size() == 1);
        CHECK(found.front().has_value());
      }
      const auto explore_bad = [&] { crew.explored({boxes.bad.front()}, {}); };
      if (refused)
        CHECK_THROWS_AS(explore_bad(), core::ConfigurationError);
      else
        CHECK_THROWS_AS(explore_bad(), std::runtime_error);
    }
  }
}

TEST_CASE("Boxes before one that fails are explored, and those after it need not be") {
  const SmallSearch small;
  const Boxes boxes(small);
  std::atomic<std::size_t> good = 0;
  const search::Space space = hooked(small.space(), [&](std::int64_t tp) {
    fail_where_bad(tp);
    ++good;
  });
  const search::Request request = small.request(1, space);
  search::Crew crew(request, 1);
  CHECK_THROWS_AS(crew.explored({boxes.bad.front(), boxes.good.front()}, {}), std::runtime_error);
  CHECK(good == 0);
  CHECK_THROWS_AS(crew.explored({boxes.good.front(), boxes.bad.front(), boxes.good.back()}, {}), std::runtime_error);
  const std::size_t once = good;
  CHECK(once > 0);
  CHECK(crew.explored({boxes.good.front()}, {}).front().has_value());
  CHECK(good == 2 * once);  // the first one again, which alone was explored
}

TEST_CASE("What another process throws is thrown by the first, by its type") {
  const std::string said = "out of order", told = "process 1: out of order";
  check_declined<std::runtime_error>(declined(std::logic_error(said)), told);
  check_declined<core::CapabilityError>(declined(core::CapabilityError(said)), told);
  check_declined<core::CapabilityError>(declined(std::bad_alloc()), "process 1: this machine has too little memory");
  check_declined<core::InputOutputError>(declined(core::InputOutputError(said)), told);
  check_declined<core::ConfigurationError>(declined(core::OutOfRange("too large", "use less")),
                                           "error: process 1: too large (use less)");
  const std::vector<core::Diagnostic> wrong{{.severity = core::Severity::warning,
                                             .file = "a.yaml",
                                             .line = 3,
                                             .column = 7,
                                             .key_path = "model",
                                             .message = "old",
                                             .hint = ""},
                                            {.severity = core::Severity::error,
                                             .file = "",
                                             .line = 0,
                                             .column = 0,
                                             .key_path = "strategy.tp",
                                             .message = "3 of 4",
                                             .hint = "use 2"}};
  check_declined<core::ConfigurationError>(declined(core::ConfigurationError(wrong)),
                                           "a.yaml:3:7: warning: model: process 1: old\n"
                                           "error: strategy.tp: process 1: 3 of 4 (use 2)");
}
