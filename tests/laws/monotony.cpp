// A better machine is never slower, and faster where the step waits for what was bettered.
#include <cmath>
#include <cstdlib>
#include <map>
#include <variant>

#include "cairn/config/read.h"
#include "catch.h"
#include "run_laws.h"
#include "support/asked.h"
#include "support/share.h"
#include "support/source_dir.h"

using namespace cairn;
using namespace cairn::laws;

namespace {

using predict::Price;

// One figure of a machine and which way is better.
struct Resource {
  std::string pointer;  // into the experiment
  bool larger = true;
};

// More multiprocessors at the same peak are slower ones each, and no better for products of few tiles.
const std::map<std::string, bool>& directions() {
  static const std::map<std::string, bool> larger_is_better{{"bandwidth", true},
                                                            {"uplink", true},
                                                            {"write", true},
                                                            {"memory_bandwidth", true},
                                                            {"flops", true},
                                                            {"capacity", true},
                                                            {"clock", true},
                                                            {"peak", true},
                                                            {"exponentials_per_clock", true},
                                                            {"latency", false},
                                                            {"hop_latency", false},
                                                            {"launch_floor", false}};
  return larger_is_better;
}

// "450 GB/s" or 132, so many times as much; a map of them, all.
Json multiplied(const Json& value, double factor) {
  if (value.is_number_integer()) return std::llround(value.get<double>() * factor);
  if (value.is_number()) return value.get<double>() * factor;
  if (value.is_object()) {
    Json all = value;
    for (auto& [key, each] : all.items()) each = multiplied(each, factor);
    return all;
  }
  const std::string text = value;
  const std::size_t blank = text.find(' ');
  return fmt::format("{:.17g}{}", std::stod(text.substr(0, blank)) * factor, text.substr(blank));
}

void find_resources(const Json& value, const std::string& pointer, std::vector<Resource>& found) {
  if (!value.is_structured()) return;
  for (const auto& [key, each] : value.items()) {
    const auto direction = directions().find(key);
    if (direction != directions().end())
      found.push_back({pointer + "/" + key, direction->second});
    else
      find_resources(each, pointer + "/" + key, found);
  }
  if (value.is_object() && value.contains("memory") && value["memory"].is_string())
    found.push_back({pointer + "/memory", true});
}

core::Picoseconds time_of(const program::Program& program, predict::Pricer& pricer) {
  predict::PriceTable prices(pricer);
  return predict::Analytic(prices).makespan(program).time;
}

// What waits for one resource for more than half of its time, one per cent cheaper than it is.
class Cheaper final : public predict::Pricer {
 public:
  Cheaper(experiment::Job& job, const std::string& pointer) : pricer_(job.pricer()), job_(job), pointer_(pointer) {
    const auto& levels = job.machine().network.levels;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      std::string key = "/cluster/" + levels[i].key_path + "/";  // levels[1] is levels/1
      std::replace(key.begin(), key.end(), '[', '/');
      std::replace(key.begin(), key.end(), '.', '/');
      std::erase(key, ']');
      const std::string figure = pointer.starts_with(key) ? pointer.substr(key.size()) : "";
      // Behind several switches the links to the root complex may be what is waited for.
      if ((figure == "bandwidth" && levels[i].switches == 1) || figure == "latency" || figure == "hop_latency")
        level_ = static_cast<int>(i);
    }
    const auto on_chip = job.machine().accelerator.value.on_chip_capacity();
    on_chip_ = on_chip ? on_chip->base() : 0.0;
  }

  // Whether the resource is one that this class knows the use of.
  bool known() const {
    return level_ >= 0 || pointer_ == "/cluster/accelerator/peak" ||
           pointer_ == "/cluster/accelerator/memory/0/bandwidth" ||
           (pointer_.starts_with("/cluster/host/") && !pointer_.ends_with("/flops"));
  }

  void enter(const program::Block& block) override { pricer_.enter(block); }
  void leave() override { pricer_.leave(); }
  Price shard(const ir::Shard& shard) override { return of(pricer_.shard(shard), shard); }
  Price in_pieces(const ir::Shard& shard) override { return of(pricer_.in_pieces(shard), shard); }
  Price transfer(const program::Transfer& transfer) override {
    const Price price = pricer_.transfer(transfer);
    if (level_ < 0 || !on_level(transfer)) return price;
    const cost::TransferTime parts = pricer_.transfer_time(transfer);
    const bool latency = pointer_.ends_with("latency");
    return cheaper(price, (latency ? parts.latency_s : parts.bandwidth_s) / parts.total_s);
  }
  Price copy(const program::Copy& copy) override {
    const Price price = pricer_.copy(copy);
    const bool link = copy.lane == program::Lane::to_device || copy.lane == program::Lane::to_host;
    const hardware::Host& host = *job_.machine().cluster.value.host;
    const double latency_s = link ? host.link.latency / core::k_second : 0.0;
    const double share = 1.0 - latency_s / core::to_seconds(price.duration);
    if (pointer_ == "/cluster/host/link/bandwidth" && link) return cheaper(price, share);
    if (pointer_ == "/cluster/host/link/latency" && link) return cheaper(price, 1.0 - share);
    const bool writes = copy.lane == program::Lane::to_storage && host.nvme && host.nvme->write;
    if (pointer_ == (writes ? "/cluster/host/nvme/write" : "/cluster/host/nvme/bandwidth") && !link)
      return cheaper(price, 1.0);
    return price;
  }
  Price processor(const program::OnProcessor& work) override {
    const Price price = pricer_.processor(work);
    const hardware::Host& host = *job_.machine().cluster.value.host;
    return cheaper(price, pointer_ == "/cluster/host/memory_bandwidth" && !host.flops ? 1.0 : 0.0);
  }
  Price host(program::HostWork work) override { return pricer_.host(work); }
  // A transfer in half the time holds twice the multiprocessors, up to a limit: what it takes from kernels stays.
  Price interference(const program::Interference& beside) override { return pricer_.interference(beside); }
  core::Picoseconds host_per_kernel() const override { return pricer_.host_per_kernel(); }

 private:
  static Price cheaper(Price price, double share) {
    constexpr double k_cheaper = 0.99;
    if (share > 0.5) price.duration = static_cast<core::Picoseconds>(k_cheaper * static_cast<double>(price.duration));
    return price;
  }
  Price of(const Price& price, const ir::Shard& shard) {
    const bool peak = pointer_ == "/cluster/accelerator/peak";
    if (!peak && pointer_ != "/cluster/accelerator/memory/0/bandwidth") return price;
    const cost::ShardFloor floor = pricer_.shards().floor(shard, on_chip_);
    return cheaper(price, (peak ? floor.compute_s : floor.memory_s) / core::to_seconds(price.duration));
  }
  // Wholly: inside one domain, or over one network between domains of which each holds one rank.
  bool on_level(const program::Transfer& transfer) {
    const std::int64_t inside = pricer_.ranks_per_domain(transfer.group);
    const hardware::Network& network = job_.machine().network;
    if (transfer.group.size == 1 || !transfer.group.fills_evenly(network.domain())) return false;
    const auto inner = static_cast<int>(network.inner);
    if (inside == transfer.group.size) return level_ == inner - 1;
    return inside == 1 && level_ == inner && network.beyond().size() == 1;
  }

  predict::CostPricer& pricer_;
  experiment::Job& job_;
  std::string pointer_;
  int level_ = -1;
  double on_chip_ = 0.0;
};

// The experiment with its machine written out, so that each of its figures can be changed.
Json written_out(const Json& experiment, const experiment::Job& job) {
  Json result = experiment;
  const Json cluster = experiment["cluster"];
  result["cluster"] = Json::parse(config::to_json(job.machine().cluster.value, -1));
  if (!result.contains("calibration")) {
    const Json& accelerator = result["cluster"]["accelerator"];
    result["calibration"] = accelerator.is_object() ? accelerator["file"] : accelerator;
  }
  result["cluster"]["accelerator"] = Json::parse(config::to_json(job.machine().accelerator.value, -1));
  result.erase("simulation");
  return result;
}

struct Timed {
  std::unique_ptr<experiment::Job> job;
  core::Picoseconds time = 0;
};
// Nothing where it is refused; crashes are found by the laws of a run.
std::optional<Timed> timed(const Json& experiment, const config::Loader& loader) {
  try {
    core::Diagnostics diagnostics;
    const config::Node node = config::parse_text(experiment.dump(), config::Syntax::json, "drawn.json", diagnostics);
    Timed result{.job = std::make_unique<experiment::Job>(experiment::read(node), loader)};
    result.time = predict::Analytic(result.job->prices()).makespan(result.job->program()).time;
    return result;
  } catch (const core::ConfigurationError&) {
    return std::nullopt;
  } catch (const core::InternalError&) {
    return std::nullopt;
  }
}

class Monotony {
 public:
  void run(std::uint64_t first, std::uint64_t plans) {
    for (std::uint64_t seed = first; plans_ < plans; ++seed) {
      const std::optional<Json> base = base_of(seed);
      if (!base) continue;
      ++plans_;
      one(seed, *base);
    }
  }
  std::string report() const {
    std::string text =
        fmt::format("{} plans, {} better machines, {} resources that a step waits for\n", plans_, machines_, waited_);
    for (const auto& [law, found] : found_)
      text += fmt::format("\n{} x {} (seed {}): {}\n{}", found.times, law, found.seed, found.what, found.yaml);
    for (const auto& [cause, times] : excused_) text += fmt::format("known: {} x {}\n", times, cause);
    return text;
  }
  bool clean() const { return found_.empty(); }
  std::uint64_t waited() const { return waited_; }

 private:
  struct Found {
    std::uint64_t times = 0, seed = 0;
    std::string what, yaml;
  };

  std::optional<Json> base_of(std::uint64_t seed) {
    const Json drawn = draw_experiment(seed, shelf_, {.fixed_plan = true});
    const auto named = timed(drawn, shelf_.loader());
    if (!named) return std::nullopt;
    Json base = written_out(drawn, *named->job);
    const auto inlined = timed(base, shelf_.loader());
    breach(seed, base, {"a machine written out is the machine", "times differ"},
           inlined && inlined->time == named->time);
    if (!inlined) return std::nullopt;
    return base;
  }

  void breach(std::uint64_t seed, const Json& experiment, const Breach& breach, bool holds) {
    if (holds) return;
    const std::string cause = known_cause(experiment, breach);
    if (!cause.empty()) {
      ++excused_[cause];
      return;
    }
    Found& found = found_[breach.law];
    if (found.times++ == 0)
      found = {.times = 1, .seed = seed, .what = breach.what, .yaml = as_yaml(experiment, shelf_)};
  }

  void one(std::uint64_t seed, const Json& base) {
    const auto plain = timed(base, shelf_.loader());
    const core::Picoseconds before = plain->time;
    std::vector<Resource> resources;
    find_resources(base["cluster"], "/cluster", resources);
    for (const Resource& resource : resources) {
      Json better = base;
      Json& value = better[Json::json_pointer(resource.pointer)];
      value = multiplied(value, resource.larger ? 2.0 : 0.5);
      const auto changed = timed(better, shelf_.loader());
      if (!changed) continue;
      ++machines_;
      const core::Picoseconds after = changed->time;
      // What is claimed is 0.01 %: prices are whole picoseconds, and protocols cross in steps.
      constexpr double k_never_slower = 1.0001;
      const std::string of = resource.pointer.substr(resource.pointer.find_first_not_of("/0123456789", 1) - 1);
      breach(seed, base,
             {"better is never slower: " + kind_of(resource), fmt::format("{}: {} to {} ps", of, before, after)},
             static_cast<double>(after) <= k_never_slower * static_cast<double>(before));
      Cheaper cheaper(*plain->job, resource.pointer);
      if (!cheaper.known()) continue;
      constexpr double k_waits = 1.0 - 1e-6;
      if (static_cast<double>(time_of(plain->job->program(), cheaper)) >= k_waits * static_cast<double>(before))
        continue;
      ++waited_;
      breach(seed, base,
             {"what a step waits for shortens it: " + kind_of(resource),
              fmt::format("{}: {} to {} ps", of, before, after)},
             after < before);
    }
  }

  // Its keys without the numbers of levels.
  static std::string kind_of(const Resource& resource) {
    std::string kind;
    for (const char c : resource.pointer.substr(std::string("/cluster/").size()))
      if (c < '0' || c > '9') kind += c;
    return kind;
  }

  Shelf shelf_;
  std::uint64_t plans_ = 0, machines_ = 0, waited_ = 0;
  std::map<std::string, Found> found_;
  std::map<std::string, std::uint64_t> excused_;
};

// A dense transformer, data-parallel on one node of eight.
Json dense(const char* cluster, const char* framework, Json model, std::int64_t seq_len) {
  model["tied_embeddings"] = true;
  return {{"version", 1},
          {"name", "dense"},
          {"model", std::move(model)},
          {"cluster", cluster},
          {"training", {{"framework", framework}, {"precision", "bf16"}, {"seq_len", seq_len}, {"global_batch", 8}}},
          {"strategy", {{"dp", 8}, {"micro_batch", 1}}}};
}

// Of one sequence of 512 tokens: some products have fewer tiles than an accelerator has multiprocessors, and run in
// parts along K, as many as suit its memory and units.
std::vector<Json> of_small_products() {
  const Json model{{"layers", 12}, {"hidden", 512},  {"heads", 8},
                   {"ffn", 3072},  {"vocab", 51200}, {"gated_mlp", false}};
  std::vector<Json> all;
  for (const char* cluster : {"dgx-h100", "dgx-a100"})
    for (const char* framework : {"megatron@2025", "torchtitan"}) all.push_back(dense(cluster, framework, model, 512));
  return all;
}

Json drawn_dense(std::uint64_t seed) {
  Draw draw(seed);
  const std::int64_t heads = draw.power_of_two(2, 5);
  const std::int64_t hidden = heads * draw.one<std::int64_t>({64, 128});
  const Json model{{"layers", draw.between(2, 12)},
                   {"hidden", hidden},
                   {"heads", heads},
                   {"ffn", hidden * draw.between(2, 6)},
                   {"vocab", draw.one<std::int64_t>({8192, 32000, 51200})},
                   {"gated_mlp", draw.coin()}};
  const std::int64_t seq_len = draw.power_of_two(7, 11);
  const std::string cluster = draw.word({"dgx-h100", "dgx-a100"}),
                    framework = draw.word({"megatron@2025", "torchtitan"});
  return dense(cluster.c_str(), framework.c_str(), model, seq_len);
}

// Whether some product of the step runs in parts along K, which are summed up behind it.
bool splits_products(experiment::Job& job) {
  const auto split = [&](const program::Work& work) {
    const auto* shard = std::get_if<ir::Shard>(&work);
    return shard != nullptr && shard->op->is_plain_contraction() && job.pricer().shards().price(*shard).split > 1;
  };
  for (const program::Stage& stage : job.program().kinds)
    for (const program::Pass* pass : stage.passes)
      for (const program::BlockRun& run : pass != nullptr ? pass->runs : std::vector<program::BlockRun>())
        if (std::any_of(run.block->works.begin(), run.block->works.end(), split)) return true;
  return false;
}

// Figures of the accelerator, of which more is better: its bandwidth first, then its peak and its cache.
std::vector<std::string> swept_figures(const Json& experiment) {
  const std::string accelerator = "/cluster/accelerator";
  std::vector<std::string> pointers{accelerator + "/memory/0/bandwidth", accelerator + "/peak"};
  const Json& levels = experiment["cluster"]["accelerator"]["memory"];
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (levels[i]["name"] == "l2")
      for (const char* figure : {"/capacity", "/bandwidth"})
        pointers.push_back(accelerator + "/memory/" + std::to_string(i) + figure);
  return pointers;
}

// Step times with half to twice as much of the figure, in steps of 3.5 %.
std::vector<core::Picoseconds> swept(const Json& base, const std::string& pointer, const config::Loader& loader) {
  constexpr int k_steps = 40;
  std::vector<core::Picoseconds> times;
  for (int i = 0; i <= k_steps; ++i) {
    Json machine = base;
    Json& value = machine[Json::json_pointer(pointer)];
    value = multiplied(value, std::exp2(2.0 * i / k_steps - 1.0));
    const auto changed = timed(machine, loader);
    REQUIRE(changed);
    times.push_back(changed->time);
  }
  return times;
}

}  // namespace

TEST_CASE("A better machine never slows a plan, and what a step waits for shortens it") {
  Monotony monotony;
  constexpr std::uint64_t k_plans = 140 / test::k_share;
  monotony.run(1, k_plans);
  CHECK(monotony.waited() > k_plans / 4);
  INFO(monotony.report());
  CHECK(monotony.clean());
}

// Where a product goes over from one tile or number of parts to another its time has a kink, and no step upwards.
TEST_CASE("A little more of a figure of the accelerator never slows a dense plan") {
  constexpr double k_no_rise = 1.0 + 1e-9;
  constexpr std::uint64_t k_drawn = 2;
  std::vector<Json> experiments = of_small_products();
  const std::size_t small = experiments.size();
  for (std::uint64_t seed = 1; seed <= k_drawn; ++seed) experiments.push_back(drawn_dense(seed));
  const Shelf shelf;
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    if (!test::taken(i)) continue;
    CAPTURE(experiments[i].dump());
    const auto named = timed(experiments[i], shelf.loader());
    REQUIRE(named);
    if (i < small) CHECK(splits_products(*named->job));
    const Json base = written_out(experiments[i], *named->job);
    const std::vector<std::string> figures = swept_figures(base);
    REQUIRE(figures.size() == 4);
    for (std::size_t figure = 0; figure < figures.size(); ++figure) {
      CAPTURE(figures[figure]);
      const std::vector<core::Picoseconds> times = swept(base, figures[figure], shelf.loader());
      for (std::size_t step = 1; step < times.size(); ++step) {
        CAPTURE(step, times[step - 1], times[step]);
        CHECK(static_cast<double>(times[step]) <= k_no_rise * static_cast<double>(times[step - 1]));
      }
      if (figure < 2) CHECK(times.back() < times.front());  // all of these steps wait for both
    }
  }
}

// As many as CAIRN_PLANS says, from CAIRN_FIRST_SEED on.
TEST_CASE("The same on many more plans", "[.long]") {
  Monotony monotony;
  monotony.run(test::asked("CAIRN_FIRST_SEED", 1'000'000), test::asked("CAIRN_PLANS", 20'000));
  WARN(monotony.report());
  CHECK(monotony.clean());
}

TEST_CASE("No shipped dense experiment gets slower from one generation of accelerators to the next") {
  const config::Loader loader({cairn::testing::source_dir() + "/configs"});
  for (const std::string& name : loader.names("experiments")) {
    core::Picoseconds before = 0;
    for (const char* accelerator : {"h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "gb200-186gb"}) {
      INFO(name << " on " << accelerator);
      const std::vector<std::string> overrides{std::string("cluster.accelerator=") + accelerator};
      experiment::Job job(experiment::load(loader, name, overrides), loader);
      if (job.transformer().moe) break;
      const core::Picoseconds time = predict::Analytic(job.prices()).makespan(job.program()).time;
      const Breach breach{"a newer accelerator is never slower", name + " on " + accelerator};
      if (before > 0 && time > before && known_cause(Json::object(), breach).empty()) CHECK(time <= before);
      before = time;
    }
  }
}
