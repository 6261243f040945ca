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

#if defined(__linux__)
#include <sched.h>
#endif

namespace cairn::core {

// So many; where `asked` is 0, as many as the cores that the calling thread may run on: a job of a shared machine, and
// a process that its launcher has bound, have fewer than there are. A limit of time on them (cpu.max) is not read.
inline std::size_t threads(std::int64_t asked) {
  if (asked > 0) return static_cast<std::size_t>(asked);
#if defined(__linux__)
  // The kernel refuses a mask that is shorter than its own, which may have places for more cores than cpu_set_t.
  constexpr std::size_t k_longest = 64;
  for (std::size_t length = 1; length <= k_longest; length *= 2) {
    std::vector<cpu_set_t> mine(length);
    const std::size_t bytes = length * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mine.data()) == 0)
      return static_cast<std::size_t>(std::max(1, CPU_COUNT_S(bytes, mine.data())));
  }
#endif
  return std::max(1U, std::thread::hardware_concurrency());
}

// work(0), ..., work(count - 1), each once, taken in this order by `threads` of them; fewer where `stop` says so
// between two. What a piece throws ends the others after their current piece, and is thrown here: of several the first
// in order.
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
