#include "cairn/cost/memory_bound.h"

#include "catch.h"
#include "cost/rates.h"

namespace cairn::cost {

TEST_CASE("traffic at the achievable bandwidth plus the gap", "[cost][memory]") {
  const MemoryBoundParameters parameters{.memory_efficiency = 0.85, .vector_efficiency = 0.5, .gap_s = 2e-6};
  // 1 GB / (0.85 x 2.04e12) = 576.7 us.
  const KernelTime time = memory_bound_time(1e9, 0.0, parameters, test::a100());
  CHECK(time.total_s == Approx(1e9 / (0.85 * 2.04e12) + 2e-6).epsilon(1e-12));
  CHECK(time.memory_bound());
  CHECK(memory_bound_time(0.0, 0.0, parameters, test::a100()).total_s == 2e-6);
}

TEST_CASE("heavy arithmetic takes over from traffic", "[cost][memory]") {
  const MemoryBoundParameters parameters{
      .memory_efficiency = 0.85, .vector_efficiency = 0.5, .overlap_exponent = 2.0, .gap_s = 0.0};
  // T_mem = 3 us by 0.85 x 2.04e12 x 3e-6 bytes, T_core = 4 us: together 5 us at p = 2.
  const KernelTime time = memory_bound_time(0.85 * 2.04e12 * 3e-6, 0.5 * 19.5e12 * 4e-6, parameters, test::a100());
  CHECK(time.total_s == Approx(5e-6).epsilon(1e-12));
  CHECK(time.hidden_s == Approx(2e-6).epsilon(1e-12));
  CHECK_FALSE(time.memory_bound());
}

}  // namespace cairn::cost
