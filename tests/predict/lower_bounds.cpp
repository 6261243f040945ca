// Lower bounds by hand.
#include "cairn/predict/bounds/lower_bounds.h"

#include "cairn/plan/lowering.h"
#include "cairn/predict/bounds/traffic.h"
#include "catch.h"
#include "predict/priced_machine.h"
#include "support/passes.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

plan::Strategy stages(std::int64_t p, std::int64_t m) {
  plan::Strategy s;
  s.pipeline = p;
  s.micro_batches = m;
  s.stage_layers.assign(static_cast<std::size_t>(p), 1);
  return s;
}

program::Transfer transfer(program::Collective collective, std::int64_t size, std::int64_t stride, double bytes) {
  program::Transfer result;
  result.collective = collective;
  result.group.size = size;
  result.group.stride = stride;
  result.bytes = bytes;
  return result;
}

}  // namespace

TEST_CASE("Traffic of two layers of two products, by hand") {
  // Per layer 2 x 8 x 16 weights of two bytes: 512 bytes; gradients of four bytes: 1,024; saved x (4 x 8) and inner
  // (4 x 16) of two bytes: 192. Update of 512 parameters: gradient, master and two moments of four bytes read, the last
  // three and two bytes of each parameter written.
  const ir::Model model = two_products({.layers = 2});
  plan::Lowering lowering(model, 4, {});
  plan::Strategy strategy;
  strategy.micro_batches = 3;
  strategy.stage_layers = {2};
  const program::Program& program = lowering.lower(strategy);
  const double weights = 1024, saved = 384, gradients = 2048, update_read = 4 * 2048, update_written = 3 * 2048 + 1024;

  // Without a chip, kernel by kernel. A layer's products read x and W1 (64 + 256 bytes) and write inner (128), read
  // inner and W2 (128 + 256) and write y (64). Backward, dy and W2 give 128 bytes, dy and inner 512, the gradient of
  // inner and W1 64, the same and x 512: 320 + 192 + 384 + 192 bytes read. The gradients' norm reads them once more.
  const predict::Traffic all = predict::least_traffic(program, 0.0)[0];
  CHECK(all.loads == 3 * 2 * 704 + 3 * 2 * 1088 + 2 * gradients + gradients + update_read);
  CHECK(all.stores == 3 * 2 * 192 + 3 * 2 * 1216 + update_written);

  // A chip that holds what any product touches: pass by pass, and the norm and the update as kernels.
  const double chip = 1000;
  const predict::Traffic some = predict::least_traffic(program, chip)[0];
  CHECK(some.loads == 3 * (weights - chip) + 3 * (weights + saved - chip) + 2 * gradients + (gradients - chip) +
                          (update_read - chip));
  CHECK(some.stores == 3 * (gradients - chip) + update_written - chip);  // what is saved stays on the chip

  CHECK(predict::least_traffic(program, 1e9)[0].total() == 0.0);
}

TEST_CASE("Traffic: weights that are split or held in part count for what the stage holds") {
  const ir::Model model = two_products({.layers = 2});
  plan::Lowering lowering(model, 4, {});
  plan::Strategy strategy;
  strategy.tensor = 2;
  strategy.stage_layers = {2};
  // One micro-batch, half of the weights and gradients: forward 512, backward 512 and what was saved.
  const program::Program& program = lowering.lower(strategy);
  double saved = 0.0;
  for (const program::BlockRun& run : testing::forward_pass(program, 0).runs)
    for (const program::MemoryEvent& event : run.block->memory)
      if (event.category == program::Category::activations) saved += static_cast<double>(run.count) * event.bytes;
  CHECK(saved > 0.0);
  // A kernel reads 192 or 128 bytes, so that with 100 on the chip passes prove more; the norm reads 1,024.
  const double chip = 100;
  CHECK(predict::least_traffic(program, chip)[0].loads ==
        (512 - chip) + (512 + saved - chip) + (1024 - chip) + (4 * 1024 - chip));
}

TEST_CASE("Memory bound: kernels that move more than the chip holds, along the longest path") {
  // x and W of 4,096 x 4,096 in two bytes: each of the six products reads 64 MiB, those of the gradients of weights add
  // to or write 64 MiB in four bytes, the others write 32 MiB; the chip holds 16 MiB of each.
  PricedMachine a100("dgx-a100", "a100-sxm4-80gb");
  const ir::Model model = two_products({.layers = 1, .hidden = 4096, .ffn = 4096});
  plan::Lowering lowering(model, 4096, {});
  constexpr double k_mib = 1024.0 * 1024.0, k_chip = 16 * k_mib, k_rate = 1e12;
  const predict::DeviceLimits limits{.memory_bytes_per_s = k_rate, .on_chip_bytes = k_chip};
  const predict::Bounds bounds = predict::plan_bounds(lowering.lower(stages(1, 1)), a100.pricer, limits);
  // What forward saves, x and what lies between the products, is 64 MiB: 16 MiB more than its two kernels prove.
  const double products = 4 * (48 + 16) * k_mib + 2 * (48 + 48) * k_mib + (64 - 16 - 2 * 16) * k_mib;
  // 2^25 gradients of four bytes: the norm reads 128 MiB; the update reads four such values and writes three and 64
  // MiB.
  const double update = (128 - 16) * k_mib + (512 - 16) * k_mib + (448 - 16) * k_mib;
  CHECK(*bounds.memory_s == Approx((products + update) / k_rate).epsilon(1e-9));
  // Kernels wait for the larger of arithmetic and memory, so that the two together prove more than either.
  CHECK(*bounds.together_s > *bounds.compute_s);
  CHECK(*bounds.together_s > *bounds.memory_s);
}

TEST_CASE("Compute bound: fill and drain of a pipeline at peak") {
  // Sizes at which a product takes whole microseconds: forward 2 x 2 x 4096^3 FLOP at 989 TFLOP/s, backward twice that.
  PricedMachine h100("dgx-h100", "h100-sxm5-80gb");
  const ir::Model model = two_products({.layers = 4, .hidden = 4096, .ffn = 4096});
  plan::Lowering lowering(model, 4096, {});
  predict::CostPricer& pricer = h100.pricer;
  for (std::int64_t m : {1, 2, 7}) {
    const predict::Bounds bounds = predict::plan_bounds(lowering.lower(stages(4, m)), pricer, {});
    const double forward_s = 4.0 * 4096.0 * 4096.0 * 4096.0 / 989e12;
    CHECK(*bounds.compute_s == Approx(static_cast<double>(4 - 1 + m) * 3.0 * forward_s).epsilon(1e-6));
    CHECK(*bounds.together_s >= *bounds.compute_s);
    CHECK(*bounds.network_s > 0.0);
    CHECK_FALSE(bounds.memory_s.has_value());  // nothing is known about the chip
    CHECK(*bounds.best_s() == *bounds.together_s);
  }
}

TEST_CASE("Least bytes of transfers") {
  using program::Collective;
  // Eight ranks in a domain; 450 GB/s inside, 50 GB/s across; the switch inside adds.
  PricedMachine h100("dgx-h100", "h100-sxm5-80gb");
  const auto least = [&](const program::Transfer& t) { return h100.pricer.least_bytes(t); };
  CHECK(least(transfer(Collective::all_gather, 8, 1, 800)).inside == 700);
  CHECK(least(transfer(Collective::all_reduce, 8, 1, 800)).inside == 800);
  // 32 ranks of four domains: a domain lacks three quarters, which its eight links share.
  const predict::LinkBytes gather = least(transfer(Collective::all_gather, 32, 1, 3200));
  CHECK(gather.either == 3100);
  CHECK(gather.across == 3.0 / 4.0 * 3200 / 8);
  // One rank in each of four domains: everything crosses, and no switch adds on the way.
  CHECK(least(transfer(Collective::all_reduce, 4, 8, 800)).across == 2.0 * 3.0 / 4.0 * 800);
  // 12 ranks fill no whole number of domains: only what both kinds of links carry is proved.
  CHECK(least(transfer(Collective::all_gather, 12, 1, 1200)).across == 0.0);
  CHECK(least(transfer(Collective::all_gather, 12, 1, 1200)).either == 1100);
  CHECK(least(transfer(Collective::send, 4, 8, 64)).across == 64);

  CHECK(h100.pricer.link_floor_s({.inside = 450e9, .either = 0.0, .across = 0.0}) == Approx(1.0));
  CHECK(h100.pricer.link_floor_s({.inside = 0.0, .either = 0.0, .across = 50e9}) == Approx(1.0));
  CHECK(h100.pricer.link_floor_s({.inside = 100e9, .either = 900e9, .across = 0.0}) == Approx(2.0));

  // No switch that adds: 2 (n-1)/n.
  PricedMachine a100("dgx-a100", "a100-sxm4-80gb");
  CHECK(a100.pricer.least_bytes(transfer(Collective::all_reduce, 8, 1, 800)).inside == 1400);
}

TEST_CASE("Bounds of the problem") {
  // 2 layers of 2 products of 8 x 16 weights in bf16: 1,024 bytes; 3 devices that keep 100 bytes each.
  const ir::Model model = two_products({.layers = 2});
  const predict::DeviceLimits limits{.peak_flops = 10.0, .memory_bytes_per_s = 2.0, .on_chip_bytes = 100.0};
  const predict::Batch batch{.contraction_flops = 600.0};
  const predict::Bounds bounds = predict::problem_bounds(model, batch, 3.0, limits);
  CHECK(*bounds.compute_s == 600.0 / 30.0);
  CHECK(*bounds.memory_s == (1024.0 - 300.0) / 6.0);
  CHECK_FALSE(bounds.network_s.has_value());
  CHECK(*bounds.best_s() == (1024.0 - 300.0) / 6.0);
  // Everything stays on the chips: nothing is proved, which is not the same as nothing to do.
  CHECK_FALSE(predict::problem_bounds(model, batch, 30.0, limits).memory_s.has_value());
}
