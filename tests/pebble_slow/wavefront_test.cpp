#include "cairn/pebble/wavefront.h"

#include "cairn/pebble/generators.h"
#include "catch.h"

using namespace cairn::pebble;

TEST_CASE("wavefront: a graph of 100,000 vertices") {
  // softmax of 33,000: after the last addition 33,001 interior words are alive, 2 * 33,001 - 2 * 1,000 beyond the
  // compulsory 66,000.
  const Cdag softmax = softmax_graph(33'000);
  CHECK(softmax.size() >= 100'000);
  CHECK(wavefront_bound(softmax, 1'000, 8).words == 66'000 + 2 * (33'001 - 1'000));
  const Cdag sweeps = jacobi1d_graph(1000, 99);
  CHECK(sweeps.size() == 100'000);
  CHECK(wavefront_bound(sweeps, 100, 16).words > 2'000);
}
