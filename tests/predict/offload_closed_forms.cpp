#include <algorithm>
#include <cmath>
#include <string>

#include "catch.h"
#include "support/units.h"

using namespace cairn;
using namespace cairn::testing;
using core::Picoseconds;
using plan::Home;
using plan::Sharded;
using program::Lane;

namespace {

constexpr std::int64_t k_layers = 5;
constexpr double k_psi = k_layer_parameters * k_layers;

struct Plan {
  ir::Model model = two_products({.layers = k_layers});
  plan::Lowering lowering{model, 8, mixed_precision()};
  const program::Program& of(const plan::Strategy& strategy) { return lowering.lower(strategy); }
};

// Copies over the host link, drives and the host's update as stated, for each piece of work; computation by `compute`.
struct Lanes {
  Picoseconds compute = 0;
  Picoseconds link = 0;
  Picoseconds drives = 0;
  Picoseconds host = 0;
};
StatedPricer lane_prices(const Lanes& lanes) {
  StatedPricer pricer;
  pricer.of_shard = [lanes](const ir::Shard& shard) {
    return shard.op->name == "fc1" || shard.op->name == "fc1.input_gradient" ? lanes.compute : 0;
  };
  pricer.of_copy = [lanes](const program::Copy& copy) {
    return copy.lane == Lane::to_device || copy.lane == Lane::to_host ? lanes.link : lanes.drives;
  };
  pricer.of_processor = [lanes](const program::OnProcessor&) { return lanes.host; };
  return pricer;
}

// A round of k subgroups, one of them updated on the device: the host updates k - 1, the link brings one subgroup's
// state and takes it back, and brings the parameters of the others; all side by side.
double time_per_subgroup_closed_form(double host, double state, double parameters, double device, std::int64_t k) {
  if (k == 0) return std::max(host, parameters);
  const auto others = static_cast<double>(k - 1);
  return std::max({others * host, state + others * parameters, state, device}) / static_cast<double>(k);
}

std::int64_t balanced_interval_closed_form(double host, double state, double parameters, double device) {
  std::int64_t best = 0;
  for (std::int64_t k = 1; k <= 100; ++k)
    if (time_per_subgroup_closed_form(host, state, parameters, device, k) <
        time_per_subgroup_closed_form(host, state, parameters, device, best))
      best = k;
  return best;
}

}  // namespace

TEST_CASE("an optimizer on the host: 4 bytes per parameter over the link, 2 on the device closed_form") {
  // Ren et al. arXiv 2101.06840: gradients down and parameters up in half precision, divided among the ranks.
  Plan plan;
  for (const std::int64_t ranks : {1, 4}) {
    plan::Strategy strategy = on_ranks(ranks, k_layers);
    strategy.sharded = Sharded::gradients;
    strategy.offload.optimizer = Home::host;
    const program::Program& program = plan.of(strategy);
    const auto n = static_cast<double>(ranks);
    CHECK(copied_bytes(program, Lane::to_host) == 2.0 * k_psi / n);
    CHECK(copied_bytes(program, Lane::to_device) == 2.0 * k_psi / n);
    CHECK(held_bytes(program.stage(0)) == 2.0 * k_psi);
    CHECK(program.stage(0).host_bytes == (12.0 + 2.0) * k_psi / n);
  }
}

TEST_CASE("the host goes over its memory as often as the framework does closed_form") {
  // One fused pass: gradient 2, master 4 + 4, two moments 8 + 8, parameter 2. DeepSpeed's: gradients come as fp32, are
  // multiplied (4 + 4) and read (4), and parameters are narrowed by a pass of its own (4 + 2).
  const auto bytes_per_parameter = [](const plan::ParameterTreatment& treatment) {
    const ir::Model model = two_products({.layers = k_layers});
    plan::Lowering lowering{model, 8, treatment};
    plan::Strategy strategy = on_ranks(1, k_layers);
    strategy.offload.optimizer = Home::host;
    double bytes = 0.0;
    StatedPricer pricer;
    pricer.of_processor = [&bytes](const program::OnProcessor& work) {
      for (const ir::Operator& op : work.graph->operators())
        bytes += ir::bytes(ir::Shard{.op = &op, .graph = work.graph, .box = {loopnest::Interval{0, work.elements}}});
      return Picoseconds{1};
    };
    step_time(lowering.lower(strategy), pricer);
    return bytes / k_psi;
  };
  plan::ParameterTreatment treatment = mixed_precision();
  CHECK(bytes_per_parameter(treatment) == 28.0);
  treatment.step_end.gradient_copy = treatment.step_end.gradient_scale = treatment.step_end.separate_parameter_copy =
      true;
  CHECK(bytes_per_parameter(treatment) == 8.0 + 28.0 + 6.0);
}

TEST_CASE("parameters go back while the next subgroup is updated closed_form") {
  // n subgroups of c on the host, h to copy one back: n c + h when the host is slower, c + n h when the link is.
  Plan plan;
  plan::Strategy strategy = on_ranks(1, k_layers);
  strategy.offload.optimizer = Home::host;
  strategy.subgroup_elements = k_layer_parameters;
  const auto time = [&](Picoseconds host, Picoseconds up) {
    StatedPricer pricer;
    pricer.of_processor = [host](const program::OnProcessor&) { return host; };
    pricer.of_copy = [up](const program::Copy& copy) { return copy.lane == Lane::to_device ? up : 0; };
    return step_time(plan.of(strategy), pricer);
  };
  CHECK(time(30, 10) == k_layers * 30 + 10);
  CHECK(time(10, 30) == 10 + k_layers * 30);
}

TEST_CASE("state on drives: reads and writes follow each other while the host keeps up closed_form") {
  // Reads and writes of s each, an update of c <= s: the drives never wait, 2 n s.
  Plan plan;
  plan::Strategy strategy = on_ranks(1, k_layers);
  strategy.offload.optimizer = Home::storage;
  strategy.subgroup_elements = k_layer_parameters;
  StatedPricer pricer = lane_prices({.compute = 0, .link = 0, .drives = 40, .host = 40});
  CHECK(step_time(plan.of(strategy), pricer) == 2 * k_layers * 40);
  CHECK(copied_bytes(plan.of(strategy), Lane::from_storage) == 12.0 * k_psi);
  CHECK(copied_bytes(plan.of(strategy), Lane::to_storage) == 12.0 * k_psi);
  CHECK(plan.of(strategy).stage(0).storage_bytes == 12.0 * k_psi);
}

TEST_CASE("efficiency over slow memory is ait bw / (ait bw + peak), and the three bandwidths follow closed_form") {
  // Rajbhandari et al. arXiv 2104.07857 section 4, with nothing overlapped. The plan's own intensity: with everything
  // recomputed 8 FLOP per token and parameter against 2 bytes of it forward, 2 backward and 2 of gradient: 4/3 per
  // token.
  constexpr double k_peak = 70e12;
  const auto efficiency = [](double intensity, double bandwidth) {
    return intensity * bandwidth / (intensity * bandwidth + k_peak);
  };
  Plan plan;
  plan::Strategy strategy = on_ranks(1, k_layers);
  strategy.prefetch = 0;
  strategy.recompute = plan::Recompute::full;
  strategy.bucket_bytes = 2.0 * k_layer_parameters;
  strategy.offload.parameters = Home::host;
  strategy.offload.optimizer = Home::host;
  const program::Program& program = plan.of(strategy);
  for (const double bandwidth : {1e9, 70e9, 1e12}) {
    StatedPricer pricer;
    double flops = 0.0;
    // A thousandfold slower, so that rounding to picoseconds does not show.
    pricer.of_shard = [](const ir::Shard& shard) {
      return shard.op->kind == ir::Kind::contraction ? core::to_picoseconds(1e3 * ir::flops(shard) / k_peak) : 0;
    };
    pricer.of_copy = [bandwidth](const program::Copy& copy) {
      return core::to_picoseconds(1e3 * copy.bytes / bandwidth);
    };
    for (const program::Pass* pass : predict::passes_of(program, 0))
      for (const program::BlockRun& run : pass->runs)
        for (const program::Work& work : run.block->works)
          if (const auto* shard = std::get_if<ir::Shard>(&work);
              shard != nullptr && shard->op->kind == ir::Kind::contraction)
            flops += static_cast<double>(run.count) * ir::flops(*shard);
    CHECK(flops == 8.0 * 8.0 * k_psi);  // 8 tokens
    // Only the last gradients leave beside nothing; those of other units leave beside the next unit's fetch and
    // computation.
    const double moved = copied_bytes(program, Lane::to_device);
    CHECK(moved == 4.0 * k_psi);
    const double expected = 1e3 * (flops / k_peak + (moved + 2.0 * k_layer_parameters) / bandwidth);
    CHECK(core::to_seconds(step_time(program, pricer)) == Approx(expected).epsilon(1e-3));
    CHECK(flops / k_peak / (expected / 1e3) >= efficiency(4.0 / 3.0 * 8.0, bandwidth));
  }
  // Parameters and gradients, batch 1, 1024 tokens: 70 GB/s for half the peak.
  CHECK(efficiency(1024.0 * 1.0, 70e9) >= 0.5);
  CHECK(efficiency(1024.0 * 1.0, 68e9) < 0.5);
  // Optimizer state, batch 2: about 1.5 TB/s over all devices for 90 %.
  CHECK(efficiency(1024.0 * 2.0 / 4.0, 1.5e12) >= 0.9);
  CHECK(efficiency(1024.0 * 2.0 / 4.0, 1.2e12) < 0.9);
  // Activation checkpoints, hidden 2048, one per layer: 2 GB/s; hidden 8192: below 1 GB/s.
  CHECK(efficiency(24.0 * 2048.0, 2e9) >= 0.5);
  CHECK(efficiency(24.0 * 8192.0, 1e9) >= 0.5);
}

TEST_CASE(
    "gradients in the memory of their parameters: 14 bytes per parameter, and what stays is not fetched closed_form") {
  // Fang et al. arXiv 2108.05818: 2 + 12 bytes of model data. With c of n units on the device each pass fetches the
  // other n - c.
  Plan plan;
  plan::Strategy strategy = on_ranks(1, k_layers);
  strategy.sharded = Sharded::parameters;
  strategy.offload = {.optimizer = Home::host, .parameters = Home::host, .gradients_in_place = true};
  for (std::int64_t stay = 0; stay <= k_layers; ++stay) {
    strategy.offload.resident_units = stay;
    const program::Program& program = plan.of(strategy);
    const auto c = static_cast<double>(stay);
    CHECK(program.stage(0).host_bytes == 14.0 * k_psi);
    CHECK(held_bytes(program.stage(0)) == 2.0 * k_layer_parameters * c);
    // Forward, backward, and those that stay once after the update.
    CHECK(copied_bytes(program, Lane::to_device) == 2.0 * k_layer_parameters * (2.0 * (k_layers - c) + c));
    CHECK(copied_bytes(program, Lane::to_host) == 2.0 * k_psi);
  }
}

TEST_CASE("sharing the update between host and device: the best interval is the balanced one closed_form") {
  // arXiv 2410.21316: k - 1 updates by the host against the copies of one subgroup's state and the parameters of the
  // others.
  constexpr std::int64_t k_many = 60;
  const ir::Model model = two_products({.layers = k_many});
  plan::Lowering lowering(model, 8, mixed_precision());
  plan::Strategy strategy = on_ranks(1, k_many);
  strategy.offload.optimizer = Home::host;
  strategy.subgroup_elements = k_layer_parameters;
  for (const Picoseconds host : {30, 60, 100, 400}) {
    const Picoseconds state = 60;
    const Picoseconds parameters = 10;
    const Picoseconds device = 5;
    StatedPricer pricer;
    pricer.of_processor = [=](const program::OnProcessor&) { return host; };
    pricer.of_shard = [=](const ir::Shard& shard) { return shard.op->name == "update" ? device : 0; };
    pricer.of_copy = [=](const program::Copy& copy) {
      if (copy.bytes == 12.0 * k_layer_parameters) return state;
      return copy.lane == Lane::to_device ? parameters : 0;
    };
    std::int64_t best = 0;
    Picoseconds shortest = 0;
    for (std::int64_t k = 0; k <= 12; ++k) {
      strategy.device_every = k;
      const Picoseconds time = step_time(lowering.lower(strategy), pricer);
      REQUIRE(time > 0);
      if (k == 0) CHECK(time == k_many * host + parameters);
      if (k == 0 || time < shortest) {
        shortest = time;
        best = k;
      }
    }
    const std::int64_t predicted = balanced_interval_closed_form(static_cast<double>(host), 60, 10, 5);
    INFO("host " << host << ": best " << best << ", predicted " << predicted);
    CHECK(std::abs(best - predicted) <= 1);
    // The balance: k - 1 = max(state / (host - parameters), state / host, device / host), to the next whole number.
    const double balance = 1.0 + 60.0 / static_cast<double>(host - 10);
    CHECK(std::abs(static_cast<double>(predicted) - balance) <= 1.0);
  }
}

TEST_CASE("a subgroup that the device updates has its norm and its scaling, wherever those of other updates are") {
  constexpr std::int64_t k_many = 4, k_every = 2;  // subgroups, of which the device has half
  const ir::Model model = two_products({.layers = k_many});
  for (const bool whole : {false, true}) {
    CAPTURE(whole);
    plan::ParameterTreatment treatment = mixed_precision();
    treatment.step_end.gradient_reads = 1;
    treatment.step_end.gradient_scale = true;
    treatment.step_end.whole_gradients = whole;
    plan::Lowering lowering(model, 8, treatment);
    plan::Strategy strategy = on_ranks(1, k_many);
    strategy.offload = {.optimizer = Home::host};
    strategy.subgroup_elements = k_layer_parameters;
    strategy.device_every = k_every;
    for (const std::string name : {"gradient_norm", "gradient_scale", "update"}) {
      StatedPricer pricer;  // a picosecond for every parameter
      pricer.of_shard = [&name](const ir::Shard& shard) {
        return shard.op->name == name ? static_cast<Picoseconds>(shard.box.front().extent()) : 0;
      };
      const auto time = static_cast<double>(step_time(lowering.lower(strategy), pricer));
      CHECK(time == k_many / k_every * k_layer_parameters);
    }
  }
}

TEST_CASE("updates beside the backward pass leave only the last unit's exposed closed_form") {
  // arXiv 2403.06504: units of T backward hide updates of c, reads and writes of s while c <= T and 2 s <= T; then c +
  // s remain.
  Plan plan;
  plan::Strategy strategy = on_ranks(1, k_layers);
  strategy.offload = {.optimizer = Home::storage, .update_in_backward = true};
  strategy.bucket_bytes = 2.0 * k_layer_parameters;
  StatedPricer hidden = lane_prices({.compute = 100, .link = 0, .drives = 40, .host = 70});
  CHECK(step_time(plan.of(strategy), hidden) == 2 * k_layers * 100 + 70 + 40);
  CHECK(copied_bytes(plan.of(strategy), Lane::to_storage) == 12.0 * k_psi);
}

TEST_CASE("a window of units on the device: two of five are 60 percent less closed_form") {
  // arXiv 2410.08791: the unit that computes and the one on its way.
  Plan plan;
  plan::Strategy strategy = on_ranks(1, k_layers);
  strategy.offload.parameters = Home::host;
  const auto parameters = [&] {
    return predict::stage_memory(plan.of(strategy), 0).at_peak[static_cast<std::size_t>(program::Category::parameters)];
  };
  CHECK(parameters() == 0.4 * 2.0 * k_psi);
  // Copies of h hide behind units of T >= h, but for the first and the updated parameters going home.
  StatedPricer pricer = lane_prices({.compute = 100, .link = 80, .drives = 0, .host = 0});
  CHECK(step_time(plan.of(strategy), pricer) == 80 + 2 * k_layers * 100 + 80);
}

TEST_CASE("saved activations leave after forward and come back one unit ahead closed_form") {
  Plan plan;
  plan::Strategy strategy = on_ranks(1, k_layers);
  const double saved = plan.lowering.layer_state(strategy, 0).saved_bytes;
  strategy.offload.activations = Home::host;
  CHECK(copied_bytes(plan.of(strategy), Lane::to_host) == k_layers * saved);
  CHECK(copied_bytes(plan.of(strategy), Lane::to_device) == k_layers * saved);
  StatedPricer pricer = lane_prices({.compute = 100, .link = 100, .drives = 0, .host = 0});
  // Forward: every copy beside the next unit. The last leaves in 100 and comes back in 100, exposed; then one comes
  // beside each unit.
  CHECK(step_time(plan.of(strategy), pricer) == 2 * k_layers * 100 + 100 + 100);
  CHECK(predict::stage_memory(plan.of(strategy), 0).at_peak[static_cast<std::size_t>(program::Category::activations)] <=
        2.0 * saved);
}

TEST_CASE("what lies off the device at most: activations of all micro-batches under way closed_form") {
  // A micro-batch keeps five layers' activations until its backward. On two stages of three and two layers, 1f1b has
  // two micro-batches under way on the first and one on the second, however many there are.
  Plan plan;
  plan::Strategy strategy = on_ranks(1, k_layers);
  const double saved = plan.lowering.layer_state(strategy, 0).saved_bytes;
  REQUIRE(predict::off_device(plan.of(strategy), 0).host == 0.0);
  strategy.offload.activations = Home::host;
  strategy.micro_batches = 3;
  CHECK(predict::stage_memory(plan.of(strategy), 0).host == k_layers * saved);
  CHECK(predict::stage_memory(plan.of(strategy), 0).off_device_activations == k_layers * saved);
  // On drives, where nothing but them lies.
  strategy.offload.activations = Home::storage;
  CHECK(predict::stage_memory(plan.of(strategy), 0).host == 0.0);
  CHECK(predict::stage_memory(plan.of(strategy), 0).storage == k_layers * saved);
  strategy.offload.activations = Home::host;
  strategy.pipeline = 2;
  strategy.stage_layers = {3, 2};
  strategy.micro_batches = 6;
  CHECK(predict::off_device(plan.of(strategy), 0).host == 2 * 3 * saved);
  CHECK(predict::off_device(plan.of(strategy), 1).host == 2 * saved);
  // Beside the optimizer's 12 bytes of a parameter and 2 of its gradient.
  strategy.offload.optimizer = Home::host;
  CHECK(predict::stage_memory(plan.of(strategy), 0).host == 2 * 3 * saved + 14.0 * 3 * k_layer_parameters);
}
