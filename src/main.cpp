#include <cstdlib>  // defines __GLIBC__ where that is the library

#include "cairn/cli/cli.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // A command that predicts many steps frees some ten megabytes after each and needs them again. Given back to the
  // system, they would come back as page faults: `cairn validate` has 1.7 million of them so, and 54 thousand otherwise.
  constexpr int k_kept_bytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, k_kept_bytes);
  mallopt(M_TRIM_THRESHOLD, k_kept_bytes);
#endif
  return cairn::cli::run(argc, argv);
}
