// Bytes and times by operator class and communication label, by hand.
#include "cairn/predict/bounds/class_floors.h"

#include "cairn/plan/lowering.h"
#include "catch.h"
#include "predict/priced_machine.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

const predict::ClassFloor& row(const std::vector<predict::ClassFloor>& rows, const std::string& label) {
  for (const predict::ClassFloor& each : rows)
    if (each.label == label) return each;
  FAIL("no " << label);
  return rows.front();
}

}  // namespace

TEST_CASE("Floors by class: two products, two micro-batches") {
  // x (4 x 8) W1 (8 x 16) W2 (16 x 8): 32, 128, 64, 128 and 32 elements of two bytes. A product or an input's gradient
  // touches 224 of them, 448 bytes; a weight's gradient 96 of two bytes and adds to 128 of four: 192 + 2 x 512 = 1,216.
  const ir::Model model = two_products({.layers = 1});
  plan::Lowering lowering(model, 4, {});
  plan::Strategy strategy;
  strategy.micro_batches = 2;
  strategy.stage_layers = {1};
  PricedMachine m("dgx-a100", "a100-sxm4-80gb");
  predict::ShardFloors floors(m.pricer.shards(), 1e6);
  const auto rows = predict::class_floors(lowering.lower(strategy), m.pricer, m.prices, 0, floors);
  const predict::ClassFloor& products = row(rows, "contraction");
  CHECK(products.floor_bytes == 2 * (4 * 448 + 2 * 1216));
  CHECK(products.bytes == products.floor_bytes);
  // Six products of 4 x 8 x 16 multiply-adds in each micro-batch are done long before their operands are there: 1,024
  // FLOP at 312 TFLOP/s against 448 bytes at 2 TB/s.
  const double rate = m.calibration.machine.memory_bandwidth;
  CHECK(products.floor_s == Approx((2 * (4 * 448 + 2 * 1216)) / rate).epsilon(1e-12));
  CHECK(products.time_s > products.floor_s);
  // The gradients' norm reads four bytes each. The update: gradient, master and two moments of four bytes read, the
  // last three and a parameter of two written.
  CHECK(row(rows, "elementwise").floor_bytes == 256 * (4 + 4 * 4 + 3 * 4 + 2));
  CHECK(row(rows, "elementwise").floor_s == Approx(256 * (4 + 4 * 4 + 3 * 4 + 2) / rate).epsilon(1e-12));
}

TEST_CASE("Floors by class: gradients over four ranks") {
  // 256 gradients of four bytes: 2 x 3/4 x 1,024 bytes leave a rank in an all-reduce, its links carry no fewer.
  const ir::Model model = two_products({.layers = 1});
  plan::Lowering lowering(model, 4, {});
  plan::Strategy strategy;
  strategy.data = 4;
  strategy.stage_layers = {1};
  PricedMachine m("dgx-a100", "a100-sxm4-80gb");
  predict::ShardFloors floors(m.pricer.shards(), 1e6);
  const auto rows = predict::class_floors(lowering.lower(strategy), m.pricer, m.prices, 0, floors);
  const predict::ClassFloor& gradients = row(rows, "dp");
  CHECK(gradients.bytes == 1536.0);
  CHECK(gradients.floor_bytes == 1536.0);
  const double rate = m.machine.network.levels.front().gpu_bandwidth().base();
  CHECK(gradients.floor_s == Approx(1536.0 / rate).epsilon(1e-12));
  CHECK(gradients.time_s > gradients.floor_s);
}

TEST_CASE("Floors by class: a product that the chip does not hold moves more than its operands once") {
  // 4,096 cubed with 32,768 words on the chip: 2 n^3 / sqrt(S) - 2 S words at least, S + 1 for the zero of a new sum.
  const ir::Model model = two_products({.layers = 1, .hidden = 4096, .ffn = 4096});
  plan::Lowering lowering(model, 4096, {});
  plan::Strategy strategy;
  strategy.stage_layers = {1};
  PricedMachine m("dgx-a100", "a100-sxm4-80gb");
  constexpr double k_words = 32768.0, k_n = 4096.0;
  predict::ShardFloors floors(m.pricer.shards(), 2.0 * k_words);
  const auto rows = predict::class_floors(lowering.lower(strategy), m.pricer, m.prices, 0, floors);
  const double closed_form = 2.0 * k_n * k_n * k_n / std::sqrt(k_words + 1.0) - 2.0 * (k_words + 1.0);
  CHECK(row(rows, "contraction").floor_bytes >= 6 * 2.0 * (closed_form - 1.0));
  CHECK(row(rows, "contraction").bytes >= row(rows, "contraction").floor_bytes);
  // So small a chip is held up by memory: some sqrt(S) / 2 = 91 FLOP a byte against 153 at the peak.
  const double rate = m.calibration.machine.memory_bandwidth;
  CHECK(row(rows, "contraction").floor_s == Approx(row(rows, "contraction").floor_bytes / rate).epsilon(1e-12));
  // Everything on the chip: arithmetic, six products of 2 n^3.
  predict::ShardFloors held_floors(m.pricer.shards(), 1e9);
  const auto held = predict::class_floors(lowering.lower(strategy), m.pricer, m.prices, 0, held_floors);
  const double peak = m.machine.accelerator.value.matrix_peak(numerics::Format::bf16)->base();
  CHECK(row(held, "contraction").floor_s == Approx(6 * 2.0 * k_n * k_n * k_n / peak).epsilon(1e-12));
}
