// Steps that simulated time, 2^61 ps, does not reach are refused; those just below are exact.
#include "cairn/core/out_of_range.h"
#include "catch.h"
#include "predict/timed.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

plan::Strategy one_stage(std::int64_t micro_batches) {
  plan::Strategy s;
  s.micro_batches = micro_batches;
  s.stage_layers = {1};
  return s;
}

Prices slow(Picoseconds each) {
  Prices prices{.kernels = {{"fc1", each}}, .transfers = {}};
  return prices;
}

}  // namespace

TEST_CASE("The longest step that simulated time reaches is exact, one that it does not reach is refused") {
  const ir::Model model = two_products({.layers = 1});
  constexpr Picoseconds k_day = 86'400'000'000'000'000;  // 26 days are 2.2464e18 ps, 27 are 2.3328e18; 2^61 = 2.3058e18
  Timed below(model, one_stage(26), slow(k_day));
  CHECK(below.analytic().time == 26 * k_day);
  CHECK(below.event().makespan.time == 26 * k_day);
  Timed above(model, one_stage(27), slow(k_day));
  CHECK_THROWS_AS(above.analytic(), core::OutOfRange);
}

TEST_CASE("A pass of many layers is refused before its matrix is multiplied out of range") {
  const ir::Model model = two_products({.layers = 64});
  plan::Strategy s = one_stage(1);
  s.stage_layers = {64};
  Timed timed(model, s, slow(Picoseconds{1} << 60));  // 64 x 2^60 is 0 in 64 bits
  CHECK_THROWS_AS(timed.analytic(), core::OutOfRange);
}

TEST_CASE("Shares of a price whose product with a share's number is beyond 64 bits add up to it") {
  constexpr Picoseconds k_price = (Picoseconds{1} << 60) + 7;
  StatedPricer pricer;
  pricer.of_transfer = [](const program::Transfer&) { return k_price; };
  predict::PriceTable table(pricer);
  program::Block block;
  constexpr std::int32_t k_parts = 1000;
  for (std::int32_t part = 0; part < k_parts; ++part) {
    program::Transfer transfer;
    transfer.part = part;
    transfer.parts = k_parts;
    block.works.emplace_back(transfer);
  }
  Picoseconds sum = 0;
  for (const predict::Price& price : table.of(block)) {
    CHECK(price.duration >= k_price / k_parts);
    CHECK(price.duration <= k_price / k_parts + 1);
    sum += price.duration;
  }
  CHECK(sum == k_price);
}

TEST_CASE("Jitter and slow ranks cannot carry a step beyond simulated time") {
  const ir::Model model = two_products({.layers = 1});
  Timed timed(model, one_stage(4), slow(Picoseconds{1} << 58));
  CHECK(timed.event().makespan.time == Picoseconds{1} << 60);
  CHECK_THROWS_AS(timed.event({{.rank = 0, .speed = 0.25}}), core::ConfigurationError);  // 4 x 4 x 2^58 = 2^62
}
