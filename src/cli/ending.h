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
  // For who is interrupted and has no time to end well. Whether all may end now: false where the result is being
  // written, which ask_and_wait() waits for; else none is begun.
  bool cut_off() {
    const std::lock_guard lock(mutex_);
    cut_off_ = !writing_ && !done_;
    return cut_off_;
  }
  // Before the first byte of the result. It does not return once all is cut off.
  void begin_writing() {
    std::unique_lock lock(mutex_);
    over_.wait(lock, [&] { return !cut_off_; });
    writing_ = true;
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
  bool writing_ = false;
  bool cut_off_ = false;
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
