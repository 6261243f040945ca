#include <cmath>

#include "cairn/core/diagnostics.h"
#include "catch.h"
#include "support/units.h"

using namespace cairn;
using namespace cairn::testing;
using core::Picoseconds;
using plan::Sharded;

namespace {

// One layer with exactly this many parameters: 2 x hidden x ffn.
ir::Model one_layer(std::int64_t hidden, std::int64_t ffn) {
  return two_products({.layers = 1, .hidden = hidden, .ffn = ffn});
}

constexpr double k_giga = 1e9;

struct Row {
  double ranks;
  double printed[3];
  double last_digit[3];
};

plan::Strategy fully_sharded(std::int64_t data, std::int64_t layers) {
  plan::Strategy strategy = on_ranks(data, layers);
  strategy.sharded = Sharded::parameters;
  return strategy;
}

// Every unit computes for `compute` forward and as long backward; gathers take `gather`, reductions `reduce`.
StatedPricer unit_prices(Picoseconds compute, Picoseconds gather, Picoseconds reduce) {
  StatedPricer pricer;
  pricer.of_shard = [compute](const ir::Shard& shard) {
    return shard.op->name == "fc1" || shard.op->name == "fc1.input_gradient" ? compute : 0;
  };
  pricer.of_transfer = [gather, reduce](const program::Transfer& transfer) {
    return transfer.collective == program::Collective::all_gather ? gather : reduce;
  };
  return pricer;
}

}  // namespace

TEST_CASE("memory of the optimizer-sharding paper, Table 1, all columns closed_form") {
  // Rajbhandari et al. arXiv 1910.02054: 16, 4 + 12/N, 2 + 14/N and 16/N bytes per parameter. Cells are printed cut or
  // rounded, so each is within one unit of its last digit.
  const auto check = [](std::int64_t hidden, std::int64_t ffn, const std::vector<Row>& rows) {
    const ir::Model model = one_layer(hidden, ffn);
    const auto psi = static_cast<double>(model.parameters());
    plan::Lowering lowering(model, 1, mixed_precision());
    CHECK(held_bytes(lowering.lower(on_ranks(64, 1)).stage(0)) == 16.0 * psi);
    for (const Row& row : rows)
      for (int stage = 1; stage <= 3; ++stage) {
        plan::Strategy strategy = on_ranks(static_cast<std::int64_t>(row.ranks), 1);
        strategy.sharded = static_cast<Sharded>(stage);
        const double held = held_bytes(lowering.lower(strategy).stage(0));
        const double share = std::ceil(psi / row.ranks);
        const double formula = stage == 1   ? 4.0 * psi + 12.0 * share
                               : stage == 2 ? 2.0 * psi + 14.0 * share
                                            : 16.0 * share;
        INFO("psi " << psi << ", N " << row.ranks << ", stage " << stage);
        CHECK(held == formula);
        CHECK(std::abs(held / k_giga - row.printed[stage - 1]) < row.last_digit[stage - 1]);
      }
  };
  check(50'000, 75'000,
        {{4, {52.5, 41.3, 30}, {0.1, 0.1, 1}},
         {16, {35.6, 21.6, 7.5}, {0.1, 0.1, 0.1}},
         {64, {31.4, 16.6, 1.88}, {0.1, 0.1, 0.01}},
         {256, {30.4, 15.4, 0.47}, {0.1, 0.1, 0.01}},
         {1024, {30.1, 15.1, 0.12}, {0.1, 0.1, 0.01}}});
  check(200'000, 320'000, {{64, {536, 284, 32}, {1, 1, 1}}});
  check(500'000, 1'000'000, {{1024, {4011, 2013, 15.6}, {1, 1, 0.1}}});
}

TEST_CASE("volumes of sharded parameters: 3 psi over all ranks, the replicated volume for shards of one closed_form") {
  constexpr std::int64_t k_layers = 6;
  const double psi = k_layer_parameters * k_layers;
  const ir::Model model = two_products({.layers = k_layers});
  plan::Lowering lowering(model, 8, mixed_precision());
  const auto sent = [&](const plan::Strategy& strategy) {
    return sent_bytes(lowering.lower(strategy), program::Axis::data);
  };
  for (const std::int64_t ranks : {2, 4, 8}) {
    const auto w = static_cast<double>(ranks);
    plan::Strategy whole = fully_sharded(ranks, k_layers);
    CHECK(sent(whole) == Approx(3.0 * psi * 2.0 * (w - 1.0) / w));
    plan::Strategy kept = whole;
    kept.reshard_after_forward = false;
    CHECK(sent(kept) == Approx(2.0 * psi * 2.0 * (w - 1.0) / w));
    plan::Strategy single = whole;
    single.shard = 1;
    CHECK(sent(single) == Approx(sent(on_ranks(ranks, k_layers))));
    for (std::int64_t f = 2; f < ranks; f *= 2) {
      plan::Strategy hybrid = whole;
      hybrid.shard = f;
      const auto shard = static_cast<double>(f);
      const double replicas = w / shard;
      CHECK(sent(hybrid) ==
            Approx(2.0 * psi * (3.0 * (shard - 1.0) / shard + 2.0 * (replicas - 1.0) / replicas / shard)));
    }
    // Sharded gradients move as much as whole ones, but with every micro-batch.
    plan::Strategy gradients = on_ranks(ranks, k_layers);
    gradients.sharded = Sharded::gradients;
    CHECK(sent(gradients) == Approx(2.0 * psi * 2.0 * (w - 1.0) / w));
    gradients.micro_batches = 3;
    CHECK(sent(gradients) == Approx((1.0 + 3.0) * psi * 2.0 * (w - 1.0) / w));
    gradients.reduce_every_micro_batch = false;
    CHECK(sent(gradients) == Approx(2.0 * psi * 2.0 * (w - 1.0) / w));
    whole.micro_batches = 3;
    CHECK(sent(whole) == Approx(3.0 * 3.0 * psi * 2.0 * (w - 1.0) / w));
  }
}

TEST_CASE("a prefetched gather is hidden exactly when a unit computes as long closed_form") {
  // L units, computing T forward and T backward, gathers of G, one unit ahead. While G <= T only the first gather is
  // waited for: G + 2 L T. Beyond, gathers follow each other without a pause, and what the last one brings is computed
  // after it: 2 L G + T.
  constexpr std::int64_t k_layers = 5;
  constexpr Picoseconds k_compute = 100;
  const ir::Model model = two_products({.layers = k_layers});
  plan::Lowering lowering(model, 8, mixed_precision());
  plan::Strategy strategy = fully_sharded(4, k_layers);
  const Picoseconds n = k_layers;
  for (const Picoseconds gather : {0, 1, 50, 99, 100, 101, 150, 400}) {
    INFO("gather " << gather);
    StatedPricer pricer = unit_prices(k_compute, gather, 0);
    const Picoseconds hidden = gather + 2 * n * k_compute;
    const Picoseconds exposed = 2 * n * gather + k_compute;
    strategy.prefetch = 1;
    CHECK(step_time(lowering.lower(strategy), pricer) == (gather <= k_compute ? hidden : exposed));
    strategy.prefetch = 2;
    CHECK(step_time(lowering.lower(strategy), pricer) == (gather <= k_compute ? hidden : exposed));
    strategy.prefetch = 0;
    CHECK(step_time(lowering.lower(strategy), pricer) == 2 * n * (gather + k_compute));
  }
  // Reductions take turns with gathers: beside a unit's backward pass run the gather of the next and the reduction of
  // the one before.
  strategy.prefetch = 1;
  StatedPricer fits = unit_prices(k_compute, 60, 40);
  CHECK(step_time(lowering.lower(strategy), fits) == 60 + 2 * n * k_compute + 40);
}

TEST_CASE("copies of gathered parameters lengthen every unit, and hide as much of the next gather closed_form") {
  // As above, with C before each unit's T: while G <= C + T only the first gather is waited for, G + 2 L (C + T);
  // beyond, 2 L G + C + T; without prefetch 2 L (G + C + T).
  constexpr std::int64_t k_layers = 5;
  constexpr Picoseconds k_compute = 100, k_copy = 20;
  const ir::Model model = two_products({.layers = k_layers});
  plan::FrameworkBehaviour copies;
  copies.copies_gathered = true;
  plan::Lowering lowering(model, 8, mixed_precision(), 0, copies);
  plan::Strategy strategy = fully_sharded(4, k_layers);
  const Picoseconds n = k_layers, unit = k_copy + k_compute;
  for (const Picoseconds gather : {0, 50, 119, 120, 121, 400}) {
    INFO("gather " << gather);
    StatedPricer pricer = unit_prices(k_compute, gather, 0);
    pricer.of_shard = [compute = pricer.of_shard](const ir::Shard& shard) {
      if (shard.op->name == "gather.copy_in") return Picoseconds{0};
      return shard.op->name == "gather.copy_out" ? k_copy : compute(shard);
    };
    for (const std::int64_t ahead : {1, 2}) {
      strategy.prefetch = ahead;
      CHECK(step_time(lowering.lower(strategy), pricer) ==
            (gather <= unit ? gather + 2 * n * unit : 2 * n * gather + unit));
    }
    strategy.prefetch = 0;
    CHECK(step_time(lowering.lower(strategy), pricer) == 2 * n * (gather + unit));
  }
}

TEST_CASE("passes over whole gradients lengthen every backward unit, and hide as much of the reduction closed_form") {
  // P + D after each unit's backward T, then its reduction R: while R <= T + P + D only the last is waited for,
  // L T + L (T + P + D) + R; beyond, reductions follow each other, L T + T + P + D + L R.
  constexpr std::int64_t k_layers = 5;
  constexpr Picoseconds k_compute = 100, k_pad = 15, k_divide = 5;
  const ir::Model model = two_products({.layers = k_layers});
  plan::FrameworkBehaviour passes;
  passes.pads_gradients = passes.divides_gradients = true;
  plan::Lowering lowering(model, 8, mixed_precision(), 0, passes);
  const plan::Strategy strategy = fully_sharded(4, k_layers);
  const Picoseconds n = k_layers, backward = k_compute + k_pad + k_divide;
  for (const Picoseconds reduce : {0, 50, 119, 120, 121, 400}) {
    INFO("reduce " << reduce);
    StatedPricer pricer = unit_prices(k_compute, 0, reduce);
    pricer.of_shard = [compute = pricer.of_shard](const ir::Shard& shard) {
      if (shard.op->name == "reduce.pad") return k_pad;
      return shard.op->name == "reduce.divide" ? k_divide : compute(shard);
    };
    const Picoseconds hidden = n * k_compute + n * backward + reduce;
    const Picoseconds exposed = n * k_compute + backward + n * reduce;
    CHECK(step_time(lowering.lower(strategy), pricer) == (reduce <= backward ? hidden : exposed));
  }
}

TEST_CASE("copies of whole gradients are held beside them until the next reduction starts closed_form") {
  constexpr std::int64_t k_layers = 8;
  constexpr double k_ranks = 4.0;
  const ir::Model model = two_products({.layers = k_layers});
  plan::FrameworkBehaviour behaviour;
  behaviour.pads_gradients = true;
  for (const bool copies : {false, true}) {
    CAPTURE(copies);
    plan::Lowering lowering(model, 1, mixed_precision(), 0, copies ? behaviour : plan::FrameworkBehaviour{});
    const double most = predict::stage_memory(lowering.lower(fully_sharded(4, k_layers)), 0)
                            .at_peak[static_cast<std::size_t>(program::Category::gradients)];
    // Shards of all; a unit's gradients, those of the unit before, and where they are copied both once more.
    CHECK(most == 2.0 * k_layer_parameters * (k_layers / k_ranks + (copies ? 4.0 : 2.0)));
  }
}

TEST_CASE("gathered parameters are held one unit longer for every unit ahead closed_form") {
  constexpr std::int64_t k_layers = 8;
  constexpr double k_ranks = 4.0;
  const ir::Model model = two_products({.layers = k_layers});
  plan::Lowering lowering(model, 1, mixed_precision());
  plan::Strategy strategy = fully_sharded(4, k_layers);
  const auto category = [&](program::Category which) {
    return predict::stage_memory(lowering.lower(strategy), 0).at_peak[static_cast<std::size_t>(which)];
  };
  for (const std::int64_t ahead : {0, 1, 2}) {
    strategy.prefetch = ahead;
    const auto units = static_cast<double>(ahead + 1);
    CHECK(category(program::Category::parameters) == 2.0 * k_layer_parameters * (k_layers / k_ranks + units));
    // A unit's gradients, and those of the one before while they are on their way.
    CHECK(category(program::Category::gradients) == 2.0 * k_layer_parameters * (k_layers / k_ranks + 2.0));
  }
  strategy.reshard_after_forward = false;
  CHECK(category(program::Category::parameters) == 2.0 * k_layer_parameters * (k_layers / k_ranks + k_layers));
}

TEST_CASE("a pipeline gathers once a step what it does not reshard, and holds it all closed_form") {
  // A stage of l units of psi parameters and m micro-batches over w ranks: each gather is l psi elements of 2 bytes, of
  // which a rank sends (w - 1) / w. 2 m of them where units reshard after every pass; m where they wait for the
  // backward pass and no other micro-batch is under way; 1 where others are. Gradients are reduced m times.
  constexpr std::int64_t k_ranks = 4, k_units = 6;
  constexpr double k_bytes = 2.0;
  const ir::Model model = two_products({.layers = 2 * k_units});
  plan::Lowering lowering(model, 1, mixed_precision());
  for (const std::int64_t micro_batches : {2, 3, 8})
    for (const std::int64_t stages : {1, 2}) {
      CAPTURE(micro_batches, stages);
      plan::Strategy strategy = fully_sharded(k_ranks, 2 * k_units);
      strategy.micro_batches = micro_batches;
      strategy.pipeline = stages;
      if (stages == 2) strategy.stage_layers = {k_units, k_units};
      const double each = k_bytes * k_layer_parameters;
      const double all = each * static_cast<double>(stages == 1 ? 2 * k_units : k_units);
      const auto m = static_cast<double>(micro_batches), w = static_cast<double>(k_ranks);
      const auto sent = [&](double gathers) { return Approx((gathers + m) * all * (w - 1.0) / w); };
      const auto held = [&](std::int32_t stage) {
        constexpr auto k_parameters = static_cast<std::size_t>(program::Category::parameters);
        return predict::stage_memory(lowering.lower(strategy), stage).at_peak[k_parameters];
      };
      for (std::int32_t stage = 0; stage < stages; ++stage) {
        strategy.reshard_after_forward = true;
        CHECK(sent_bytes(lowering.lower(strategy), program::Axis::data, stage) == sent(2.0 * m));
        CHECK(held(stage) <= all / w + 2.0 * each);  // one unit computes, the next comes
        strategy.reshard_after_forward = false;
        CHECK(sent_bytes(lowering.lower(strategy), program::Axis::data, stage) == sent(stages == 1 ? m : 1.0));
        CHECK(held(stage) == all / w + all);
      }
    }
}

TEST_CASE("settings of sharding and offload that contradict each other") {
  const ir::Model model = two_products({.layers = 2});
  plan::Lowering lowering(model, 8, mixed_precision());
  const auto refused = [&](auto change) {
    plan::Strategy strategy = fully_sharded(4, 2);
    change(strategy);
    REQUIRE_THROWS_AS(lowering.lower(strategy), core::ConfigurationError);
  };
  refused([](plan::Strategy& s) { s.shard = 3; });
  refused([](plan::Strategy& s) { s.prefetch = 3; });
  refused([](plan::Strategy& s) { s.sharded = Sharded::nothing, s.shard = 2; });
  refused([](plan::Strategy& s) { s.sharded = Sharded::optimizer, s.offload.parameters = plan::Home::host; });
  refused([](plan::Strategy& s) { s.offload.parameters = plan::Home::host, s.reshard_after_forward = false; });
  refused([](plan::Strategy& s) { s.offload.update_in_backward = true; });
  refused([](plan::Strategy& s) { s.offload.optimizer = plan::Home::host, s.subgroup_elements = 0.0; });
  // More subgroups than steps of a program are good for.
  const ir::Model large = two_products({.layers = 2, .hidden = 4096, .ffn = 16384});
  plan::Lowering many(large, 8, mixed_precision());
  plan::Strategy fine = fully_sharded(1, 2);
  fine.offload.optimizer = plan::Home::host;
  fine.subgroup_elements = 1.0;
  REQUIRE_THROWS_AS(many.lower(fine), core::ConfigurationError);
}
