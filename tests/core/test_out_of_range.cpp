#include "cairn/core/out_of_range.h"
#include "cairn/core/time.h"
#include "catch.h"

using namespace cairn;

namespace {

constexpr core::Counted k_sheep{.key_path = "flock.sheep", .what = "sheep", .hint = "keep fewer"};

}  // namespace

TEST_CASE("A count becomes narrower where it fits, and is refused where it does not") {
  constexpr std::int64_t most = 2147483647;
  CHECK(core::narrow<std::int32_t>(most, k_sheep) == 2147483647);
  CHECK(core::narrow<std::int32_t>(-most - 1, k_sheep) == -2147483647 - 1);
  try {
    (void)core::narrow<std::int32_t>(most + 1, k_sheep);
    FAIL("2^31 does not fit 32 bits");
  } catch (const core::ConfigurationError& error) {
    CHECK(std::string(error.what()) ==
          "error: flock.sheep: 2147483648 sheep are more than the 2147483647 that can be listed (keep fewer)");
  }
  // 34,359,738,400 / 8 = 2^32 + 4, which would be 4 in 32 bits.
  CHECK_THROWS_AS(core::narrow<std::int32_t>(4'294'967'300, k_sheep), core::ConfigurationError);
}

TEST_CASE("Times are rounded half away from zero, and refused beyond 2^61 ps") {
  CHECK(core::to_picoseconds(1.4e-12) == 1);
  CHECK(core::to_picoseconds(2.5e-12) == 3);
  CHECK(core::to_picoseconds(-2.5e-12) == -3);
  CHECK(core::to_picoseconds(2.3e6) == 2'300'000'000'000'000'000);  // 2^61 = 2.3058e18
  CHECK_THROWS_AS(core::to_picoseconds(2.31e6), core::OutOfRange);
  CHECK_THROWS_AS(core::to_picoseconds(-2.31e6), core::OutOfRange);
  CHECK_THROWS_AS(core::to_picoseconds(1e30), core::OutOfRange);
  CHECK_THROWS_AS(core::to_picoseconds(std::numeric_limits<double>::quiet_NaN()), core::OutOfRange);
}

TEST_CASE("A number out of range becomes an error of the setting that is too large") {
  const core::OutOfRange problem("too many");
  CHECK(std::string(problem.of("scores").at("training.seq_len", "use fewer").what()) ==
        "error: training.seq_len: scores: too many (use fewer)");
}
