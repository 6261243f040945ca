// Who explores the boxes of a search: threads of this process, and other processes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "cairn/search/crew.h"
#include "explorer.h"
#include "findings_json.h"

namespace cairn::search {

// How long to sleep until something may have come: the longer the longer nothing has.
class Nap {
 public:
  std::chrono::microseconds next();
  void wake() { length_ = k_shortest; }

 private:
  static constexpr std::chrono::microseconds k_shortest{50};
  std::chrono::microseconds length_ = k_shortest;
};

class Crew {
 public:
  // `most`: boxes that are asked for together.
  Crew(const Request& request, std::size_t most);

  // This process's own, while none of its boxes is explored.
  Explorer& first() { return *explorers_.front(); }
  // So many boxes it likes to know of beyond those that are asked for; alone none.
  std::size_t ahead() const;

  // What is found of each box, in their order; none of those that nobody has explored when the search is asked to end.
  // `next`: boxes that are likely to be asked for thereafter, the first first. Processes explore them when there is
  // nothing better to do, and what is found is kept. What one of `boxes` throws is thrown once all before it are
  // explored, as where they are explored in order; what one of `next` throws is kept until it is asked for.
  std::vector<std::optional<Findings>> explored(const std::vector<Box>& boxes, const std::vector<Box>& next);

 private:
  // A box that nobody was given so far.
  struct Open {
    const Box* box = nullptr;
    std::optional<std::size_t> place = {};  // in the round; none: it is one of those that come next
    std::uint64_t layers = 0;               // Explorer::layers_of()
    bool known = false;                     // the journal has it
  };
  // Boxes that are asked for together.
  struct Round {
    const std::vector<Box>& boxes;
    std::vector<std::optional<Findings>> found;
    std::exception_ptr problem = {};
    std::size_t end = boxes.size();      // the place of the box that threw it: it and those after it are not needed
    std::size_t missing = boxes.size();  // those before the end that nothing was found of so far
    std::vector<Open> open = {};
    std::size_t busy = 0;   // threads of this process that explore
    bool failed = false;    // another process has, or what was said to it
    std::mutex mutex = {};  // of all this, and of lent_ and explored_by_
    std::condition_variable changed = {};

    bool over() const { return failed || (missing == 0 && busy == 0); }
    bool needs(const Open& each) const { return each.place ? *each.place < end : end == boxes.size(); }
    // What became of the box at a place.
    void settle(std::size_t place, std::optional<Findings> outcome, const std::exception_ptr& thrown);
  };
  // Another process.
  struct Hand {
    std::size_t room = 0;  // boxes it may hold at once; 0: it has not begun
    std::size_t holds = 0;
    std::vector<nlohmann::json> parcel;  // boxes that it is sent next
  };
  // A box that another process has, or that was explored before it was asked for.
  struct Lent {
    Box box;
    std::optional<std::size_t> place = {};  // in the round
    std::optional<Findings> found = {};
    std::exception_ptr problem = {};

    bool settled() const { return found || problem; }
  };

  bool stopped() const { return request_.stop && request_.stop(); }
  void work(Round& round, Explorer& explorer);
  Findings found_of(const Box& box, Explorer& explorer) const;

  void open_up(Round& round, const std::vector<Box>& next);
  std::optional<std::size_t> price(const Open& open, std::size_t rank) const;
  std::optional<Open> next_of(Round& round, std::size_t rank);

  void lead(Round& round);
  void hand_out(Round& round);
  bool hear(Round& round);
  void keep(Round& round, const nlohmann::json& line, const std::exception_ptr& problem);

  const Request& request_;
  std::vector<std::unique_ptr<Explorer>> explorers_;  // one a thread
  std::vector<Hand> hands_;                           // by rank; the first is this process
  std::map<BoxKey, Lent> lent_;
  std::map<std::uint64_t, std::vector<bool>> explored_by_;  // by layers, the ranks that have had boxes of them
  const std::size_t most_;
};

}  // namespace cairn::search
