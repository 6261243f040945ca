// What collectives that run beside kernels take from them.
#include "cairn/core/time.h"
#include "catch.h"
#include "predict/priced_machine.h"
#include "predict/timed.h"
#include "support/two_products.h"
#include "support/units.h"

using namespace cairn;
using namespace cairn::testing;
using program::Axis;
using program::Collective;

namespace {

program::Transfer over(std::int64_t size, std::int64_t stride, Collective collective = Collective::all_gather) {
  return {.collective = collective, .group = {.size = size, .stride = stride}, .bytes = 1e8};
}

core::Picoseconds exposed(Timed& plan, Axis axis) {
  return plan.parts(plan.event().last).exposed[static_cast<std::size_t>(axis)];
}

}  // namespace

TEST_CASE("A tensor-parallel sum is charged where the weight gradient runs beside it, and not where it is awaited") {
  // As without charges 630 (closed_forms.cpp), and 7 of the backward sum.
  const ir::Model model = two_products();
  plan::Strategy s = on_ranks(1, 1);
  s.tensor = 2;
  const Prices prices{.kernels = kernels_of_100(), .transfers = {{Axis::tensor, 30}}, .beside = {{Axis::tensor, 7}}};
  Timed beside(model, s, prices);
  CHECK(beside.analytic().time == 637);
  CHECK(beside.event().makespan.time == 637);
  CHECK(exposed(beside, Axis::tensor) == 37);
  s.overlap_tensor = false;
  Timed apart(model, s, prices);
  CHECK(apart.analytic().time == 660);
  CHECK(exposed(apart, Axis::tensor) == 60);
}

TEST_CASE("Reductions beside the backward pass slow it, unless they themselves take longer") {
  // Two layers, gradients at 600, 800, 1000, 1200. The charges of three messages of 9 delay the last to 1227 to 1297; its
  // own lies within it.
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s = on_ranks(2, 2);
  Prices prices{.kernels = kernels_of_100(), .transfers = {{Axis::data, 70}}, .beside = {{Axis::data, 9}}};
  Timed hidden(model, s, prices);
  CHECK(hidden.analytic().time == 1297);
  CHECK(hidden.event().makespan.time == 1297);
  CHECK(exposed(hidden, Axis::data) == 97);
  CHECK(hidden.parts(hidden.event().last).total() == 1297);
  // Messages of 300 and charges of 90: gradients at 600, 890, 1180, 1470, messages at 600, 900, 1200, 1500, to 1800.
  prices.transfers[Axis::data] = 300;
  prices.beside[Axis::data] = 90;
  Timed queued(model, s, prices);
  CHECK(queued.analytic().time == 1800);
  // Reduced at the end, nothing runs beside.
  s.overlap_gradient_reduce = false;
  Timed at_end(model, s, prices);
  CHECK(at_end.analytic().time == 1500);
}

TEST_CASE("A collective holds a multiprocessor for every 12.5 GB/s that it sends, and 16 at most") {
  PricedMachine hopper("dgx-h100", "h100-sxm5-80gb", {"nodes=2"});
  CHECK(hopper.pricer.multiprocessors_held(over(2, 8, Collective::send)) == 2.0);
  // Inside a node at more than 200 GB/s: all 16.
  CHECK(hopper.pricer.multiprocessors_held(over(8, 1)) == 16.0);
  // One rank a node sends half of 100 MB: 4 ms of one multiprocessor. While it waits it holds one.
  const program::Transfer transfer = over(2, 8);
  const cost::TransferTime time = hopper.pricer.transfer_time(transfer);
  REQUIRE(time.total_s > time.bandwidth_s);
  CHECK(hopper.pricer.multiprocessors_held(transfer) == Approx(4e-3 / time.bandwidth_s));
  const double charged_s = core::to_seconds(hopper.pricer.interference({transfer}).duration);
  CHECK(charged_s == Approx((4e-3 + time.total_s - time.bandwidth_s) / 132.0).margin(1e-12));
  // As many bytes over half the network: as many multiprocessor-seconds, and 108 of them.
  PricedMachine ampere("dgx-a100", "a100-sxm4-80gb", {"nodes=2"});
  const cost::TransferTime slower = ampere.pricer.transfer_time(transfer);
  CHECK(slower.bandwidth_s > time.bandwidth_s);
  CHECK(core::to_seconds(ampere.pricer.interference({transfer}).duration) ==
        Approx((4e-3 + slower.total_s - slower.bandwidth_s) / 108.0).margin(1e-12));
}
