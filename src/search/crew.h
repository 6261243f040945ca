// Who explores the boxes of a search: threads of this process, and other processes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
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
  // `most`: explorers of this process.
  Crew(const Request& request, std::size_t most);

  // This process's own, while none of its boxes is explored.
  Explorer& first() { return *explorers_.front(); }
  // So many boxes it likes to know of beyond those that are asked for.
  std::size_t ahead() const;

  // What is found of each box, in their order; none of those that nobody has explored when the search is asked to end.
  // `next`: boxes that are likely to be asked for thereafter. Other processes explore them when there is nothing else
  // to do, and what they find is kept. Of what goes wrong the first in the order of boxes is thrown.
  std::vector<std::optional<Findings>> explored(const std::vector<Box>& boxes, const std::vector<Box>& next);

 private:
  // Boxes that are asked for together.
  struct Round {
    const std::vector<Box>& boxes;
    std::vector<std::optional<Findings>> found;
    std::vector<std::exception_ptr> problems;
    std::vector<std::size_t> left = {};  // not yet given to anybody, the last first
    std::size_t missing = 0;             // those that nothing was found of so far
    bool failed = false;
    std::mutex mutex = {};
    std::condition_variable changed = {};
  };
  // Another process.
  struct Hand {
    std::size_t room = 0;  // boxes it may hold at once; 0: it has not begun
    std::size_t holds = 0;
    std::vector<nlohmann::json> parcel;  // boxes that it is sent next
  };
  // A box that another process has.
  struct Lent {
    Box box;
    std::optional<std::size_t> place = {};  // in the round
    std::optional<Findings> found = {};
  };

  bool stopped() const { return request_.stop && request_.stop(); }
  void work(Round& round, Explorer& explorer);
  Findings found_of(const Box& box, Explorer& explorer) const;

  void lead(Round& round, const std::vector<Box>& next);
  void hand_out(Round& round, const std::vector<Box>& next);
  std::optional<Lent> to_lend(Round& round, const std::vector<Box>& next, std::size_t& seen);
  bool hear(Round& round);
  void keep(Round& round, const nlohmann::json& line);

  const Request& request_;
  std::vector<std::unique_ptr<Explorer>> explorers_;  // one a thread
  std::vector<Hand> hands_;                           // by rank; the first is this process
  std::map<BoxKey, Lent> lent_;
};

}  // namespace cairn::search
