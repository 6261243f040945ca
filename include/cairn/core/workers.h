// Independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace cairn::core {

// So many; where `asked` is 0, as many as the machine runs at once.
inline std::size_t threads(std::int64_t asked) {
  return asked > 0 ? static_cast<std::size_t>(asked) : std::max(1U, std::thread::hardware_concurrency());
}

// work(0), ..., work(count - 1), each once, taken in this order by `threads` of them; fewer where `stop` says so between
// two. What a piece throws ends the others after their current piece, and is thrown here: of several the first in order.
inline void work_on_all(std::size_t count, std::size_t threads, const std::function<bool()>& stop,
                        const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr problem;
  std::size_t problem_at = count;
  const auto take = [&] {
    for (std::size_t i = next++; i < count && !failed && !(stop && stop()); i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = true;
        if (i >= problem_at) continue;
        problem_at = i;
        problem = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  others.reserve(std::min(threads, count));
  try {
    for (std::size_t i = 1; i < threads && i < count; ++i) others.emplace_back(take);
  } catch (const std::system_error&) {
    // The machine gives no more threads: those that there are do all of it.
  } catch (const std::bad_alloc&) {
    // Nor memory for them.
  }
  take();
  for (std::thread& each : others) each.join();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace cairn::core
