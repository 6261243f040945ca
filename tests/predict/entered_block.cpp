// What CostPricer remembers of the block that it is in: the clock that its kernels share, and no longer.
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/out_of_range.h"
#include "catch.h"
#include "predict/priced_machine.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

// Products of any size and a kernel that waits for memory, on an H100 that knows its limit of power.
class LimitedMachine {
 public:
  LimitedMachine() : h100_("dgx-h100", "h100-sxm5-80gb") {
    h100_.calibration.power = cost::PowerLaw{.limit_w = 700.0, .idle_w = 133.0, .memory_w = 600.0};
    h100_.calibration.share_common();
    using namespace small_models;
    constexpr auto k_format = numerics::Format::bf16;
    const Dims square{{"rows", extent(1)}, {"columns", extent(1)}};
    const ir::TensorId x = tensor(graph_, "x", square, ir::Role::activation, k_format);
    const ir::TensorId w = tensor(graph_, "w", square, ir::Role::parameter, k_format);
    const ir::TensorId y = tensor(graph_, "y", square, ir::Role::activation, k_format);
    const ir::TensorId z = tensor(graph_, "z", square, ir::Role::activation, k_format);
    graph_.set_inputs({x});
    append(graph_,
           operation("product", ir::Kind::contraction, {{"rows", extent(1)}, {"columns", extent(1)}, {"k", extent(1)}},
                     2.0),
           {read(x, {at(0), at(2)}), read(w, {at(1), at(2)}), accumulate(y, {at(0), at(1)})});
    append(graph_, operation("scale", ir::Kind::pointwise, {{"rows", extent(1)}, {"columns", extent(1)}}, 1.0),
           {read(y, {at(0), at(1)}), write(z, {at(0), at(1)})});
  }

  ir::Shard product(std::int64_t rows) const { return shard(0, {{0, rows}, {0, 4096}, {0, 4096}}); }
  ir::Shard scaling(std::int64_t rows) const { return shard(1, {{0, rows}, {0, rows}}); }
  predict::CostPricer& pricer() { return h100_.pricer; }
  core::Picoseconds time(const ir::Shard& kernel) { return pricer().shard(kernel).duration; }
  // Inside a block.
  core::Picoseconds time(const ir::Shard& kernel, const program::Block& block) {
    pricer().enter(block);
    const core::Picoseconds time = this->time(kernel);
    pricer().leave();
    return time;
  }

 private:
  ir::Shard shard(std::size_t op, loopnest::Box box) const {
    return {.op = &graph_.operators()[op], .graph = &graph_, .box = std::move(box)};
  }

  PricedMachine h100_;
  ir::Graph graph_;
};

// A step for each number, which does the work of that number.
program::Block block_of(const std::vector<ir::Shard>& works, const std::vector<std::int32_t>& steps) {
  program::Block block;
  block.works.assign(works.begin(), works.end());
  for (const std::int32_t work : steps)
    block.steps.push_back({.kind = program::StepKind::compute, .launches = 1, .work = work});
  return block;
}

}  // namespace

// Alone on and on, a product draws all of the limit. Gaps and kernels that wait for memory draw less and leave it a higher
// clock: R of cost/clock.h is 0, then more than 0, then still more.
TEST_CASE("A kernel has the clock of its block, and its own again when the block is left") {
  LimitedMachine machine;
  const ir::Shard product = machine.product(4096), scaling = machine.scaling(1 << 14);
  const core::Picoseconds alone = machine.time(product);
  const core::Picoseconds with_gaps = machine.time(product, block_of({product}, {0}));
  CHECK(with_gaps < alone);
  CHECK(machine.time(product, block_of({product, scaling}, {0, 1})) < with_gaps);
  CHECK(machine.time(product) == alone);
}

TEST_CASE("Every kernel of a block of many is found, and none that it lacks") {
  LimitedMachine machine;
  std::vector<ir::Shard> works;
  std::vector<std::int32_t> steps;
  for (std::int64_t rows = 2048; rows <= 8192; rows += 256) {
    steps.push_back(static_cast<std::int32_t>(works.size()));
    works.push_back(machine.product(rows));
  }
  const ir::Shard other = machine.product(2049);
  std::vector<core::Picoseconds> alone;
  for (const ir::Shard& work : works) alone.push_back(machine.time(work));
  const core::Picoseconds other_alone = machine.time(other);
  machine.pricer().enter(block_of(works, steps));
  for (std::size_t i = 0; i < works.size(); ++i) CHECK(machine.time(works[i]) < alone[i]);
  CHECK(machine.time(other) == other_alone);
  machine.pricer().leave();
  for (std::size_t i = 0; i < works.size(); ++i) CHECK(machine.time(works[i]) == alone[i]);
}

// The clock is that of what runs: how often a kernel does, not how often it is written down, nor in how many pieces.
TEST_CASE("Equal kernels share a clock alike as one work, as two, and in pieces") {
  LimitedMachine machine;
  const ir::Shard product = machine.product(4096), scaling = machine.scaling(1 << 13);
  const program::Block once = block_of({product, scaling}, {0, 0, 1});
  const core::Picoseconds time = machine.time(product, once);
  CHECK(machine.time(product, block_of({product, product, scaling}, {0, 1, 2})) == time);
  std::vector<ir::Shard> pieces(4, product);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].part = static_cast<std::int32_t>(i);
    pieces[i].parts = static_cast<std::int32_t>(pieces.size());
  }
  pieces.push_back(product);
  pieces.push_back(scaling);
  predict::PriceTable prices(machine.pricer());
  const program::Block cut = block_of(pieces, {0, 1, 2, 3, 4, 5});
  const predict::BlockPrices& of_pieces = prices.of(cut);
  CHECK(of_pieces[0].duration + of_pieces[1].duration + of_pieces[2].duration + of_pieces[3].duration == time);
  CHECK(of_pieces[4].duration == time);
}

TEST_CASE("A block with a kernel beyond counting is refused by the operator's name, and leaves nothing behind") {
  LimitedMachine machine;
  const ir::Shard product = machine.product(4096);
  const core::Picoseconds alone = machine.time(product);
  // 2^80 elements.
  const program::Block block = block_of({product, machine.scaling(std::int64_t{1} << 40)}, {0, 1});
  std::string message;
  try {
    machine.pricer().enter(block);
  } catch (const core::OutOfRange& problem) {
    message = problem.what();
  }
  CHECK(message.find("operator 'scale'") != std::string::npos);
  CHECK(machine.time(product) == alone);
  predict::PriceTable prices(machine.pricer());
  CHECK_THROWS_AS(prices.of(block), core::OutOfRange);
  CHECK(machine.time(product) == alone);
}
