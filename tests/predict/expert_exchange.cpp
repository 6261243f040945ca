// Where one all-to-all over all ranks and two, across domains and then inside, cost the same.
#include "cairn/predict/account/expert_exchange.h"

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/cost/calibration.h"
#include "cairn/hardware/files.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::predict {
namespace {

using cairn::testing::shipped;

hardware::Machine machine(const std::string& cluster, std::int64_t nodes) {
  core::Diagnostics diagnostics;
  const std::string text = "{file: " + cluster + ", nodes: " + std::to_string(nodes) + "}";
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  hardware::Machine result = hardware::read_machine(shipped(), node, {}, diagnostics);
  diagnostics.raise_if_errors();
  return result;
}

class Cluster {
 public:
  Cluster(const std::string& name, std::int64_t nodes, cost::Calibration calibration)
      : machine_(machine(name, nodes)),
        calibration_(std::move(calibration)),
        pricer_(calibration_, machine_.accelerator.value, machine_.network, host_) {}
  CostPricer& pricer() { return pricer_; }

 private:
  hardware::Machine machine_;
  cost::Calibration calibration_;
  hardware::HostTimes host_{};
  CostPricer pricer_;
};

constexpr double k_peer_s = 0.4e-6;

// Nothing measured inside a node: seven messages of 0.6 us and 0.8 of 450 GB/s = 360 GB/s. Between nodes 0.92 of
// 50 GB/s = 46 GB/s, 5 us of latency, 8 us of software, 0.4 us for each peer.
cost::Calibration plain(double peer_s = k_peer_s) {
  cost::Calibration result = cost::load_calibration(shipped(), "h100-sxm5-80gb");
  result.transfers.domain = {.assumed_efficiency = 0.8};
  result.transfers.fabric = {.efficiency = 0.92, .step_s = 8e-6, .peer_s = peer_s};
  return result;
}

program::Group experts(std::int64_t ranks) { return {.axis = program::Axis::expert, .size = ranks, .stride = 1}; }

constexpr double k_mebi = 1048576.0;

}  // namespace

TEST_CASE("One level and two by hand: fewer messages against a second passage inside", "[predict][experts]") {
  // n = 128 ranks, m = 16 nodes of r = 8; S = 46 MB: 15/16 of it at 46 GB/s are 937.5 us in both.
  //   one   7 x 0.6 + 5 + 8 + 120 x 0.4 + 937.5 = 1002.7 us
  //   two   5 + 8 + 15 x 0.4 + 937.5, then 7 x 0.6 + 7/8 x 46 MB / 360 GB/s = 111.806 us: 1072.506 us
  Cluster cluster("dgx-h100", 16, plain());
  const ExchangeTimes times = exchange_times(cluster.pricer(), experts(128), 46e6);
  CHECK(1e6 * times.one_level_s == Approx(1002.7));
  CHECK(1e6 * times.two_levels_s == Approx(1072.506).margin(1e-3));
  // Equal where 7/8 S / 360 GB/s = 0.4 us x (120 - 15) = 42 us: S = 17.28 MB.
  CHECK(equal_bytes(cluster.pricer(), experts(128)).value() == Approx(17.28e6));
  // A limit on the nodes a token goes to takes from the network on both sides alike.
  CHECK(equal_bytes(cluster.pricer(), experts(128), 0.5).value() == Approx(17.28e6));
  // On 2 nodes 0.4 us x (8 - 1): S = 2.8 us x 360 GB/s x 8/7 = 1.152 MB.
  CHECK(equal_bytes(cluster.pricer(), experts(16)).value() == Approx(1.152e6));
}

TEST_CASE("The closed form holds for every number of nodes, and more ranks move it up", "[predict][experts]") {
  Cluster cluster("dgx-h100", 256, plain());
  double before = 0.0;
  for (std::int64_t nodes = 2; nodes <= 256; nodes *= 2) {
    const auto spared_messages = static_cast<double>(8 * nodes - 8 - (nodes - 1));
    const double equal_closed_form = k_peer_s * spared_messages * 360e9 * 8.0 / 7.0;
    INFO(nodes << " nodes");
    const double equal = equal_bytes(cluster.pricer(), experts(8 * nodes)).value();
    CHECK(equal == Approx(equal_closed_form));
    CHECK(equal > before);
    before = equal;
  }
}

TEST_CASE("Messages that cost nothing by themselves are never worth merging", "[predict][experts]") {
  Cluster cluster("dgx-h100", 16, plain(0.0));
  CHECK_FALSE(equal_bytes(cluster.pricer(), experts(128)).has_value());
}

TEST_CASE("With measured links: two levels win below the crossover, one above", "[predict][experts]") {
  const std::pair<const char*, const char*> systems[]{{"dgx-h100", "h100-sxm5-80gb"}, {"hgx-h800", "h800-sxm5-80gb"}};
  for (const auto& [name, calibration] : systems) {
    Cluster cluster(name, 16, cost::load_calibration(shipped(), calibration));
    const double equal = equal_bytes(cluster.pricer(), experts(128)).value();
    for (double factor = 1.0 / 64; factor <= 64; factor *= 2) {
      if (factor == 1.0) continue;
      INFO(name << ", " << factor << " of " << equal);
      const ExchangeTimes times = exchange_times(cluster.pricer(), experts(128), factor * equal);
      CHECK((times.two_levels_s < times.one_level_s) == (factor < 1.0));
    }
  }
}

TEST_CASE("As observed on A100 with HDR InfiniBand", "[predict][experts]") {
  // Tutel, MLSys 2023, appendix A.5, nodes of 8 A100 with 8 x 200 Gb/s: all-to-alls of 1 MiB per rank are faster in two
  // levels from small scales on (64 ranks is the smallest shown), 32 and 256 MiB slower there; 32 MiB is faster on
  // many.
  Cluster cluster("dgx-a100", 256, cost::load_calibration(shipped(), "a100-sxm4-80gb"));
  const auto two_win = [&](std::int64_t ranks, double bytes) {
    const ExchangeTimes times = exchange_times(cluster.pricer(), experts(ranks), bytes);
    return times.two_levels_s < times.one_level_s;
  };
  CHECK(two_win(64, k_mebi));
  CHECK_FALSE(two_win(64, 32 * k_mebi));
  CHECK_FALSE(two_win(64, 256 * k_mebi));
  CHECK(two_win(2048, k_mebi));
  CHECK(two_win(2048, 32 * k_mebi));
}

}  // namespace cairn::predict
