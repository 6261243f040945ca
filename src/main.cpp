#include <cstdlib>  // defines __GLIBC__ where that is the library

#include "cairn/cli/cli.h"

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace {

// A step of a large cluster touches 20 MiB, and asking the system for them page by page is a fifth of the time of its
// prediction: the heap of the first thread begins with 64 MiB in large pages, where the system has such.
void begin_with_large_pages() {
  constexpr int k_asked_bytes = 32 << 20;
  constexpr std::uintptr_t k_large_page = 2 << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(sbrk(0));
  mallopt(M_TOP_PAD, k_asked_bytes);
  void* volatile grown = std::malloc(k_asked_bytes);  // volatile: it is not left out
  std::free(grown);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t first = (begin + k_large_page - 1) / k_large_page * k_large_page;
  // It is a wish: without large pages all goes on as before.
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace
#endif

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // A command that predicts many steps frees some ten megabytes after each and needs them again. Given back to the
  // system, they would come back as page faults: `cairn validate` has 1.7 million of them so, and 54 thousand otherwise.
  constexpr int k_kept_bytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, k_kept_bytes);
  mallopt(M_TRIM_THRESHOLD, k_kept_bytes);
  begin_with_large_pages();
#endif
  return cairn::cli::run(argc, argv);
}
