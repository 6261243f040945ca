// Last words of work that is cut off.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include <signal.h>

namespace cairn::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP end the program only after `last_words`, which runs on a thread of its own
// and may do what a signal handler may not. Made before any other thread, which would take the signals instead.
class Interruption {
 public:
  explicit Interruption(std::function<void()> last_words);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  void wait(const std::function<void()>& last_words) const;

  sigset_t waited_for_{};
  sigset_t before_{};
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace cairn::cli
