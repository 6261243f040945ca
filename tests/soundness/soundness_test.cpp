// No prediction lies below its lower bound: shipped experiments and random plans of random models on real machines.
#include "cairn/experiment/job.h"
#include "cairn/hardware/files.h"
#include "cairn/models/transformer.h"
#include "catch.h"
#include "support/random_plans.h"
#include "support/source_dir.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr int k_machines_and_models = 200;
constexpr int k_plans_each = 60;
constexpr int k_least_plans = 10'000;
constexpr double k_rounded = 1.0 + 1e-9;  // sums of many terms

// The prices a prediction rests on, or the same with a planted fault.
class FaultyPricer final : public predict::Pricer {
 public:
  FaultyPricer(predict::CostPricer& pricer, double kernels, double transfers)
      : pricer_(pricer), kernels_(kernels), transfers_(transfers) {}
  void enter(const program::Block& block) override { pricer_.enter(block); }
  void leave() override { pricer_.leave(); }
  predict::Price shard(const ir::Shard& shard) override { return scaled(pricer_.shard(shard), kernels_); }
  predict::Price transfer(const program::Transfer& transfer) override {
    return scaled(pricer_.transfer(transfer), transfers_);
  }
  predict::Price copy(const program::Copy& copy) override { return scaled(pricer_.copy(copy), transfers_); }
  predict::Price processor(const program::OnProcessor& work) override {
    return scaled(pricer_.processor(work), kernels_);
  }
  predict::Price host(program::HostWork work) override { return pricer_.host(work); }
  predict::Price interference(const program::Interference& of) override {
    return scaled(pricer_.interference(of), transfers_);
  }
  core::Picoseconds host_per_kernel() const override { return pricer_.host_per_kernel(); }

 private:
  static predict::Price scaled(predict::Price price, double factor) {
    return {.duration = core::to_picoseconds(core::to_seconds(price.duration) * factor), .launch = 0};
  }
  predict::CostPricer& pricer_;
  double kernels_, transfers_;
};

models::TransformerConfig random_transformer(core::Random& random) {
  models::TransformerConfig config;
  config.layers = between(random, 1, 24);
  config.heads = std::int64_t{8} << random.below(4);
  config.head_dim = std::int64_t{64} << random.below(2);
  config.hidden = config.heads * *config.head_dim;
  config.kv_heads = coin(random) ? config.heads : 8;
  config.ffn = config.hidden * between(random, 1, 4);
  config.gated_mlp = coin(random);
  config.vocab = std::int64_t{1} << between(random, 10, 17);
  config.tied_embeddings = coin(random);
  config.norm = coin(random) ? models::Norm::rmsnorm : models::Norm::layernorm;
  config.position = models::PositionEncoding::rope;
  config.bias = coin(random);
  return config;
}

struct Tally {
  int plans = 0;
  int below = 0;          // predictions below the bound
  int below_compute = 0;  // below its parts
  int below_network = 0;
  int below_memory = 0;
  int below_class = 0;   // classes of kernels and labels of transfers below their floors
  int any_network = 0;   // plans of which something is proved about the network of any plan
  double closest = 0.0;  // largest bound over prediction
  std::string first;     // the first plan that lies below
};

struct Fault {
  double bound = 1.0;      // factor on every bound
  double kernels = 1.0;    // factor on the times of kernels
  double transfers = 1.0;  // factor on the times of transfers
};

class Checker {
 public:
  explicit Checker(Fault fault) : fault_(fault), loader_({cairn::testing::source_dir() + "/configs"}) {}

  Tally check(int models, int plans) {
    // 144 nodes of eight and of 72, a single box of four.
    const std::pair<const char*, const char*> machines[] = {
        {"{file: dgx-a100, nodes: 144}", "a100-sxm4-80gb"}, {"{file: dgx-h100, nodes: 144}", "h100-sxm5-80gb"},
        {"{file: dgx-b200, nodes: 144}", "b200-sxm-180gb"}, {"{file: gb200-nvl72, nodes: 288}", "b200-sxm-180gb"},
        {"{file: aws-p4d, nodes: 144}", "a100-sxm4-80gb"},  {"workstation-4x-a100-pcie", "a100-sxm4-80gb"}};
    for (int seed = 0; seed < models; ++seed) {
      core::Random random(static_cast<std::uint64_t>(seed) + 1);
      const auto& [cluster, calibration] = machines[random.below(6)];
      const hardware::Machine machine = read(cluster);
      check_model(random, machine, calibrated(calibration, machine), plans);
    }
    return tally_;
  }

 private:
  hardware::Machine read(const char* cluster) const {
    core::Diagnostics diagnostics;
    const config::Node node = config::parse_text(cluster, config::Syntax::yaml, "cluster", diagnostics);
    hardware::Machine machine = hardware::read_machine(loader_, node, "cluster", diagnostics);
    diagnostics.raise_if_errors();
    return machine;
  }
  cost::Calibration calibrated(const char* name, const hardware::Machine& machine) const {
    cost::Calibration calibration = cost::load_calibration(loader_, name);
    if (machine.network.levels.size() > 1) {
      const cost::Fabrics fabrics = cost::load_fabrics(loader_);
      if (const cost::Fabric* found = fabrics.find(machine.network.levels[1].fabric))
        calibration.transfers.fabric = found->laws;
    }
    return calibration;
  }

  void check_model(core::Random& random, const hardware::Machine& machine, const cost::Calibration& calibration,
                   int plans) {
    models::BuildOptions options;
    options.vocab_divisor = 4;
    const models::TransformerConfig config = random_transformer(random);
    const ir::Model model = models::build_transformer(config, options);
    const std::int64_t sequence = std::int64_t{128} << random.below(7);
    const bool one_domain = machine.network.levels.size() < 2;
    const std::int64_t domain = one_domain ? 0 : machine.network.levels.front().domain;
    const plan::ParameterTreatment treatment = random_treatment(random);
    plan::Lowering lowering(model, sequence, treatment, domain, random_behaviour(random));
    const hardware::HostTimes fitted{};
    // Plans may offload, also on machines whose files say nothing of drives.
    hardware::Host host = machine.cluster.value.host.value_or(
        hardware::Host{.memory = core::Bytes::from_base(1e12),
                       .memory_bandwidth = core::BytesPerSecond::from_base(400e9),
                       .link = {.bandwidth = core::BytesPerSecond::from_base(25e9)}});
    if (!host.nvme) host.nvme = hardware::Nvme{.bandwidth = core::BytesPerSecond::from_base(10e9)};
    predict::CostPricer pricer(calibration, machine.accelerator.value, machine.network, fitted, host);
    FaultyPricer faulty(pricer, fault_.kernels, fault_.transfers);
    predict::PriceTable prices(faulty);
    predict::Analytic analytic(prices);
    const hardware::Accelerator& accelerator = machine.accelerator.value;
    const predict::DeviceLimits limits{.peak_flops = accelerator.matrix_peak(numerics::Format::bf16)->base(),
                                       .memory_bytes_per_s = accelerator.device_memory().bandwidth->base(),
                                       .on_chip_bytes = accelerator.on_chip_capacity()->base(),
                                       .links_bytes_per_s = predict::all_links_bytes_per_s(machine.network, host),
                                       .words = words_of(treatment)};
    for (int i = 0; i < plans; ++i) {
      plan::Strategy strategy = random_strategy(random, model);
      strategy.data = std::int64_t{1} << random.below(8);
      if (strategy.shard != 0 && strategy.data % strategy.shard != 0) strategy.shard = 0;
      strategy.subgroup_elements = 1e8;  // these models are large
      const program::Program* program = nullptr;
      try {
        program = &lowering.lower(strategy);
      } catch (const core::ConfigurationError&) {
        continue;  // a split that this model does not allow
      }
      if (program->mesh.ranks() > machine.network.gpus()) continue;
      const double time_s = core::to_seconds(predict::step_time(*program, analytic, pricer));
      const loopnest::Sizes sizes{.batch = strategy.micro_batch, .sequence = sequence};
      const double flops =
          3.0 * static_cast<double>(strategy.micro_batches * strategy.data) * model.forward_flops(sizes, true);
      compare(predict::plan_bounds(*program, pricer, limits), time_s, cluster_text(machine, strategy));
      const predict::Batch batch{.contraction_flops = flops,
                                 .sizes = sizes,
                                 .passes = static_cast<double>(strategy.micro_batches * strategy.data)};
      const auto devices = static_cast<double>(program->mesh.ranks());
      const predict::Bounds of_any = predict::problem_bounds(model, batch, devices, limits);
      compare(of_any, time_s, "problem of " + cluster_text(machine, strategy));
      tally_.any_network += of_any.network_s ? 1 : 0;
      const auto last = static_cast<std::int32_t>(program->stages()) - 1;
      predict::ShardFloors floors(pricer.shards(), *limits.on_chip_bytes);
      for (const auto& row : predict::class_floors(*program, pricer, prices, last, floors))
        compare(row, calibration.machine.memory_bandwidth, cluster_text(machine, strategy));
      ++tally_.plans;
    }
  }

  static predict::WordBytes words_of(const plan::ParameterTreatment& treatment) {
    const double value = numerics::bytes_per_element(numerics::Format::bf16);
    return {.value = value, .weight_gradient = std::min(value, numerics::bytes_per_element(treatment.reduce))};
  }

  static std::string cluster_text(const hardware::Machine& machine, const plan::Strategy& s) {
    return machine.accelerator.value.name + " t " + std::to_string(s.tensor) + " p " + std::to_string(s.pipeline) +
           " d " + std::to_string(s.data) + " m " + std::to_string(s.micro_batches) + " " + s.schedule;
  }

  // Nothing is predicted to take less than its bytes take, and a kernel's bytes count for no less than their time.
  void compare(const predict::ClassFloor& row, double bandwidth, const std::string& what) {
    const double bytes_s = row.floor_bytes / bandwidth;
    const bool kernels = row.label == "contraction" || row.label == "normalization" || row.label == "elementwise" ||
                         row.label == "lookup";
    const bool below = fault_.bound * row.floor_s > row.time_s * k_rounded || row.floor_bytes > row.bytes * k_rounded ||
                       (kernels && bytes_s > row.floor_s * k_rounded);
    if (!below) return;
    if (tally_.below_class++ == 0 && tally_.first.empty()) tally_.first = row.label + " of " + what;
  }

  void compare(const predict::Bounds& bounds, double time_s, const std::string& what) {
    const auto beyond = [&](const std::optional<double>& bound) { return bound && fault_.bound * *bound > time_s; };
    tally_.below_compute += beyond(bounds.compute_s) ? 1 : 0;
    tally_.below_network += beyond(bounds.network_s) ? 1 : 0;
    tally_.below_memory += beyond(bounds.memory_s) ? 1 : 0;
    if (const auto best = bounds.best_s()) tally_.closest = std::max(tally_.closest, fault_.bound * *best / time_s);
    if (!beyond(bounds.best_s())) return;
    if (tally_.below++ == 0) tally_.first = what;
  }

  Fault fault_;
  config::Loader loader_;
  Tally tally_;
};

}  // namespace

TEST_CASE("soundness: random plans") {
  const Tally tally = Checker({}).check(k_machines_and_models, k_plans_each);
  INFO(tally.first);
  CHECK(tally.plans >= k_least_plans);
  CHECK(tally.below == 0);
  CHECK(tally.below_compute == 0);
  CHECK(tally.below_network == 0);
  CHECK(tally.below_memory == 0);
  CHECK(tally.below_class == 0);
  CHECK(tally.any_network > k_least_plans / 2);
  // A bound that is nowhere near would be sound for nothing.
  CHECK(tally.closest > 0.5);
  WARN(tally.plans << " plans, the bound comes to " << tally.closest << " of the prediction");
}

TEST_CASE("soundness: planted faults are found") {
  constexpr int k_models = 20;
  const auto found = [](Fault fault) { return Checker(fault).check(k_models, k_plans_each); };
  CHECK(found({.bound = 2.0}).below > 0);
  CHECK(found({.bound = 4.0}).below_memory > 0);
  CHECK(found({.kernels = 0.5}).below_compute > 0);
  CHECK(found({.kernels = 0.5}).below_class > 0);
  CHECK(found({.transfers = 0.5}).below > 0);
  CHECK(found({.kernels = 0.5, .transfers = 0.5}).below_network > 0);
}

TEST_CASE("soundness: shipped experiments, both engines") {
  const config::Loader files({cairn::testing::source_dir() + "/configs"});
  for (const std::string& name : files.names("experiments")) {
    experiment::Job job(experiment::load(files, name), files);
    for (const predict::Engine engine : {predict::Engine::analytic, predict::Engine::event}) {
      const predict::Prediction prediction = job.run(engine).prediction;
      const double time_s = core::to_seconds(prediction.time);
      INFO(name);
      for (const predict::Bounds& bounds : {prediction.plan_bounds, prediction.problem_bounds})
        for (const auto& bound : {bounds.compute_s, bounds.network_s, bounds.memory_s, bounds.together_s})
          if (bound) CHECK(*bound <= time_s);
      CHECK(prediction.plan_bounds.memory_s.has_value());
      CHECK(prediction.class_floors.size() >= 4);
      for (const predict::ClassFloor& row : prediction.class_floors) {
        INFO(row.label);
        // A bound that is never reached is sound for nothing: kernels' bytes come within a factor of two.
        CHECK((row.floor_bytes <= row.bytes * (1.0 + 1e-12) && row.floor_bytes > 0.4 * row.bytes));
        CHECK(row.floor_s <= row.time_s);
      }
      // Sound for something: of a plan whose exchanges are many small messages, only their bytes are bounded.
      CHECK(*prediction.plan_bounds.best_s() > 0.3 * time_s);
    }
  }
}

TEST_CASE("soundness: what any plan of a shipped experiment sends, by hand") {
  // Llama 3.1 8B, 65,536 tokens on eight H100: 32 layers of 4096 x 14336 up and 14336 x 4096 down, 62 of the 64
  // counted, so Lambda phi = 62 / 8 = 7.75; theta^2 = 7.75 sqrt(1 - theta) where theta = 0.98437. Values in two bytes:
  // 2 x 65,536 x 4096 x 2 x 0.98437 = 1.05696 GB, less than the gradients of 62 x 58.7 M weights. Links of 450 GB/s, 50
  // GB/s and 55 GB/s to the host, in and out at once: 1.05696 GB / (2 x 555 GB/s) = 952.2 us.
  const config::Loader files({cairn::testing::source_dir() + "/configs"});
  experiment::Job job(experiment::load(files, "llama3-8b-fsdp-dgx-h100"), files);
  CHECK(*job.run(predict::Engine::analytic).prediction.problem_bounds.network_s == Approx(952.2e-6).epsilon(1e-4));
}
