// What a process of a search does that is not the first (cairn/search/crew.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cairn/search/crew.h"
#include "cairn/search/search.h"
#include "explorer.h"

namespace cairn::search {

// Threads that explore the boxes that have come, beside one that speaks with rank 0.
class Serving {
 public:
  explicit Serving(const Request& request);
  ~Serving() { end(); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  // Until it is dismissed: then no further box is begun, and what is under way ends soon.
  void run();

 private:
  void speak();
  void end();
  void take(const nlohmann::json& boxes);
  nlohmann::json::array_t found();
  nlohmann::json::array_t thrown();
  void explore(const std::stop_token& stop, Explorer& explorer);

  Wire& wire_;
  Request request_;
  std::atomic<bool> over_ = false;
  std::vector<std::unique_ptr<Explorer>> explorers_;
  std::mutex mutex_;
  std::condition_variable_any come_;
  std::deque<Box> boxes_;              // not yet begun
  nlohmann::json::array_t lines_;      // not yet sent
  nlohmann::json::array_t thrown_;     // nor these: of boxes that threw
  std::vector<std::jthread> threads_;  // the last: they end before what they use
};

}  // namespace cairn::search
