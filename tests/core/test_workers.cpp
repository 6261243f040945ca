#include "cairn/core/workers.h"
#include "catch.h"

using cairn::core::threads;

TEST_CASE("as many threads as are asked for") {
  CHECK(threads(1) == 1);
  CHECK(threads(1000) == 1000);
  CHECK(threads(0) >= 1);
}

#if defined(__linux__)
TEST_CASE("where none is asked for, one for each core that this thread may run on") {
  cpu_set_t all;
  CPU_ZERO(&all);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;  // a machine of more cores than a cpu_set_t has
  CHECK(threads(0) == static_cast<std::size_t>(CPU_COUNT(&all)));
  std::size_t first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  std::size_t bound = 0;
  std::thread([&] {  // the affinity of this thread alone
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) bound = threads(0);
  })
      .join();
  CHECK(bound == 1);
}
#endif
