// Long simulations say how far they have come.
#include <algorithm>

#include "catch.h"
#include "predict/timed.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

TEST_CASE("A simulation tells its progress, which grows up to all there is to do") {
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s;
  s.pipeline = 2;
  s.micro_batches = 3;
  s.stage_layers = {1, 1};
  Timed timed(model, s, {.kernels = kernels_of_100(), .transfers = {}});
  std::vector<std::size_t> done;
  std::size_t all = 0;
  predict::EventOptions options;
  options.progress = [&](std::size_t now, std::size_t of) {
    done.push_back(now);
    all = of;
  };
  const predict::EventResult told = predict::simulate(timed.program(), timed.table(), options);
  CHECK(told.makespan.time == timed.event().makespan.time);
  REQUIRE(!done.empty());
  CHECK(std::is_sorted(done.begin(), done.end()));
  CHECK(done.back() == all);
}
