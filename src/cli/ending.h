// Work that ends early with what it has.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

namespace cairn::cli {

// Tells work to end, and lets who interrupted it wait until the result is written.
class Ending {
 public:
  bool asked() const { return asked_; }
  void ask_and_wait() {
    asked_ = true;
    std::unique_lock lock(mutex_);
    over_.wait(lock, [&] { return done_; });
  }
  void done() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    over_.notify_all();
  }

  // Whoever waits may go on when it is gone.
  struct Scope {
    Ending& ending;
    ~Scope() { ending.done(); }
  };

 private:
  std::atomic<bool> asked_ = false;
  bool done_ = false;
  std::mutex mutex_;
  std::condition_variable over_;
};

// When work ends by itself: --time-limit.
class Deadline {
 public:
  // From now on, as in "30s"; empty: never. Throws core::ConfigurationError for what is no time to work in.
  explicit Deadline(const std::string& limit);
  bool passed() const { return at_ && Clock::now() >= *at_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> at_ = {};
};

}  // namespace cairn::cli
