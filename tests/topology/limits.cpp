// Figures of every kind against closed forms, and against counts over all routes.
#include <cmath>

#include "cairn/topology/survey.h"
#include "catch.h"
#include "topology/networks.h"

using namespace cairn::topology;
using cairn::topology_tests::network;

namespace {

struct Figures {
  Limits limits;
  double bisection, alltoall, allreduce;
  double routed;  // all-to-all by counting
  std::int64_t longest;
};

Figures figures(const std::string& keys) {
  const Network net = network(keys);
  const Topology& topology = *net.topology;
  const Limits limits = topology.limits();
  const Survey counted = survey(topology);
  Limits by_count = limits;
  by_count.alltoall_load = counted.alltoall_load;
  return {.limits = limits,
          .bisection = limits.bisection_fraction,
          .alltoall = alltoall_fraction(limits, topology.endpoints()),
          .allreduce = allreduce_fraction(limits, topology.endpoints()),
          .routed = alltoall_fraction(by_count, topology.endpoints()),
          .longest = counted.longest};
}

}  // namespace

TEST_CASE("A star limits nothing", "[topology]") {
  const Figures star = figures("kind: star, size: 8, bandwidth: 10 GB/s, latency: 1 us");
  CHECK(star.limits.diameter == 2);
  CHECK(star.longest == 2);
  CHECK(star.bisection == 1.0);
  CHECK(star.alltoall == Approx(1.0));
  CHECK(star.routed == Approx(1.0));
  CHECK(star.allreduce == Approx(8.0 / 14.0));  // P / (2 (P - 1))
}

TEST_CASE("Fat trees: full up to radix^2/2 and radix^3/4 endpoints, tapered as oversubscribed", "[topology]") {
  for (const std::int64_t k : {4, 6, 8}) {
    const auto text = [&](std::int64_t size, int levels) {
      return "kind: fat-tree, radix: " + std::to_string(k) + ", size: " + std::to_string(size) +
             ", levels: " + std::to_string(levels) + ", bandwidth: 10 GB/s, hop_latency: 1 us";
    };
    const Figures two = figures(text(k * k / 2, 2));
    CHECK(two.limits.diameter == 4);
    CHECK(two.longest == 4);
    CHECK(two.bisection == 1.0);
    CHECK(two.alltoall == Approx(1.0));
    CHECK(two.routed == Approx(1.0));  // d-mod-k spreads every shift evenly
    CHECK(network(text(k * k / 2, 2)).topology->switches() == 3 * k / 2);
    const Figures three = figures(text(k * k * k / 4, 3));
    CHECK(three.limits.diameter == 6);
    CHECK(three.longest == 6);
    CHECK(three.bisection == 1.0);
    CHECK(three.routed == Approx(1.0));
    CHECK(network(text(k * k * k / 4, 3)).topology->switches() == 5 * k * k / 4);
  }
  // 64 endpoints, leaves of 16 with 4 uplinks: 16 (P - 16) / 4 messages cross each uplink, as measured for `ft-16-4`.
  const Figures tapered =
      figures("kind: fat-tree, leaf: 16, size: 64, oversubscription: 4, bandwidth: 12.5 GB/s, hop_latency: 1 us");
  CHECK(tapered.bisection == Approx(0.25));
  CHECK(tapered.limits.alltoall_load == Approx(16.0 * 48.0 / 4.0 / 12.5e9));
  CHECK(tapered.routed == Approx(tapered.alltoall));
  CHECK(tapered.allreduce == Approx(64.0 / 126.0));
  // Hashing finds no better spread than the best, and with 64 x 63 pairs not quite that.
  const Figures hashed = figures(
      "kind: fat-tree, leaf: 16, size: 64, oversubscription: 4, bandwidth: 12.5 GB/s, hop_latency: 1 us, routing: "
      "ecmp, seed: 3");
  CHECK(hashed.routed < tapered.alltoall);
  CHECK(hashed.routed > 0.7 * tapered.alltoall);
}

TEST_CASE("Tori: 8/k links' worth of all-to-all, 2 k^(n-1) cables across the middle", "[topology]") {
  for (const std::int64_t k : {3, 4, 5, 6, 8}) {
    for (const std::int64_t n : {1, 2, 3}) {
      if (k == 8 && n == 3) continue;
      std::string dims = std::to_string(k);
      for (std::int64_t i = 1; i < n; ++i) dims += ", " + std::to_string(k);
      const Figures torus = figures("kind: torus, dims: [" + dims + "], bandwidth: 60 GB/s, hop_latency: 1 us");
      const double p = std::pow(k, n), ports = 2.0 * static_cast<double>(n);
      CHECK(torus.limits.diameter == n * (k / 2));
      CHECK(torus.longest == n * (k / 2));
      const double cut = 2.0 * p / static_cast<double>(k),
                   half = std::floor(static_cast<double>(k) / 2.0) * p / static_cast<double>(k);
      CHECK(torus.bisection == Approx(std::min(1.0, cut / (half * ports))));
      // Even k: a line's links carry k^2/8 pairs each way for every position of the rest; odd k: (k^2 - 1)/8.
      const double kk = static_cast<double>(k);
      const double links_worth = k % 2 == 0 ? 8.0 / kk : 8.0 * kk / (kk * kk - 1.0);
      CHECK(torus.alltoall * ports == Approx(links_worth * (p - 1.0) / p));
      CHECK(torus.allreduce == Approx(p / (2.0 * (p - 1.0))));
      if (k % 2 == 1) CHECK(torus.routed == Approx(torus.alltoall));
      // Opposite points all go one way round but k/2: (k/2)(k/2 + 1)/2 instead of k^2/8 (k/2 - 1 for one coordinate).
      if (k % 2 == 0) CHECK(torus.routed <= torus.alltoall);
      if (k % 2 == 0) CHECK(torus.routed >= torus.alltoall / (1.0 + 2.0 / kk) - 1e-12);
    }
  }
  // TPU-style blocks: 4 x 4 x 8, the longest dimension is the narrow one: 2 x 16 links of 128/2 x 6.
  const Figures block = figures("kind: torus, dims: [4, 4, 8], bandwidth: 300 GB/s, hop_latency: 1 us");
  CHECK(block.bisection == Approx(32.0 / (64.0 * 6.0)));
  CHECK(block.limits.diameter == 8);
}

TEST_CASE("Meshes and HyperX", "[topology]") {
  // 4 x 4 mesh: 4 cables across the middle of 8 x 4 ports; a middle link carries 2 x 2 / 4 x 16 pairs; corners have 2
  // ports.
  const Figures mesh = figures("kind: mesh, dims: [4, 4], bandwidth: 40 GB/s, hop_latency: 1 us");
  CHECK(mesh.limits.diameter == 6);
  CHECK(mesh.longest == 6);
  CHECK(mesh.bisection == Approx(4.0 / 32.0));
  CHECK(mesh.limits.alltoall_load == Approx(16.0 / 10e9));
  CHECK(mesh.routed == Approx(mesh.alltoall));
  CHECK(mesh.allreduce == Approx(0.5 * 16.0 / 30.0));
  const Figures odd = figures("kind: mesh, dims: [5, 3], bandwidth: 40 GB/s, hop_latency: 1 us");
  CHECK(odd.routed == Approx(odd.alltoall));

  for (const char* dims : {"4", "4, 4", "5, 3, 2"}) {
    const Figures hyperx =
        figures(std::string("kind: hyperx, dims: [") + dims + "], bandwidth: 40 GB/s, hop_latency: 1 us");
    CHECK(hyperx.bisection == 1.0);
    CHECK(hyperx.alltoall == Approx(1.0));
    CHECK(hyperx.routed == Approx(1.0));
    CHECK(hyperx.longest == hyperx.limits.diameter);
  }
}

TEST_CASE("Dragonflies", "[topology]") {
  // Balanced, a = 2p = 2h, every pair of groups one cable: half the groups reach the other half by (g/2)^2 cables.
  const Figures balanced = figures(
      "kind: dragonfly, routers_per_group: 4, hosts_per_router: 2, global_links: 2, bandwidth: 10 GB/s, hop_latency: 1 "
      "us");
  CHECK(balanced.limits.diameter == 5);
  CHECK(balanced.longest == 5);
  CHECK(balanced.bisection == Approx(5.0 / 8.0));  // ceil(9/2) x 1 / (4 x 2)
  // 71 others; a global link carries 64 pairs, a local one 4 + 2 x 2 x 4 x 4 = 68: the endpoints' own links decide.
  CHECK(balanced.alltoall == Approx(1.0));
  CHECK(balanced.routed == Approx(balanced.alltoall));
  // Three groups of 4 x 2 with 4 cables between each two: 64/4 pairs on a global link, 4 + 2 x 2 x 4 x 4 / 4 on a local
  // one.
  const Figures few = figures(
      "kind: dragonfly, size: 24, routers_per_group: 4, hosts_per_router: 2, global_links: 2, bandwidth: 10 GB/s, "
      "hop_latency: 1 us");
  CHECK(few.bisection == 1.0);
  CHECK(few.limits.alltoall_load == Approx(23.0 / 10e9));
  CHECK(few.routed == Approx(few.alltoall));
  // Many endpoints on a router: the global links decide, 16^2 pairs a cable.
  const Figures heavy = figures(
      "kind: dragonfly, routers_per_group: 4, hosts_per_router: 4, global_links: 1, bandwidth: 10 GB/s, hop_latency: 1 "
      "us");
  CHECK(heavy.limits.alltoall_load == Approx(256.0 / 10e9));
  CHECK(heavy.routed == Approx(heavy.alltoall));
  // By way of another group every message takes two global links, so about half remains.
  const Figures valiant = figures(
      "kind: dragonfly, routers_per_group: 4, hosts_per_router: 4, global_links: 1, bandwidth: 10 GB/s, hop_latency: 1 "
      "us, routing: valiant, seed: 1");
  CHECK(valiant.longest <= 7);
  CHECK(valiant.routed < 0.6 * heavy.routed);
  CHECK(valiant.routed > 0.3 * heavy.routed);
}

TEST_CASE("HammingMesh: 1/(2a) of injection", "[topology]") {
  for (const std::int64_t a : {1, 2, 3, 4}) {
    for (const std::int64_t x : {2, 4, 5}) {
      const std::string board = std::to_string(a), boards = std::to_string(x);
      const Figures mesh = figures("kind: hammingmesh, a: " + board + ", b: " + board + ", x: " + boards +
                                   ", y: " + boards + ", bandwidth: 40 GB/s, hop_latency: 1 us");
      const double p = static_cast<double>(a * a * x * x), share = 1.0 / (2.0 * static_cast<double>(a));
      INFO(a << " " << x);
      CHECK(mesh.bisection == Approx(share));
      // Over what leaves the board alone: x/(x-1) of the uniform share, without messages to oneself.
      const double uniform = share * static_cast<double>(x) / static_cast<double>(x - 1) * (p - 1.0) / p;
      if (a <= 2 || x > 2) CHECK(mesh.alltoall == Approx(uniform));
      CHECK(mesh.longest == mesh.limits.diameter);
      // Even P: as many odd as even sums of numbers, so the middle of odd boards is split in halves.
      if (a % 2 == 0) CHECK(mesh.routed == Approx(mesh.alltoall));
      CHECK(mesh.routed <= mesh.alltoall * 1.02);
      CHECK(mesh.routed >= mesh.alltoall * 0.8);
      CHECK(mesh.allreduce == Approx(p / (2.0 * (p - 1.0))));
    }
  }
}

TEST_CASE("Nodes: PCIe trees and the hybrid cube mesh", "[topology]") {
  // Two switches of 4, uplinks as the accelerators' links: 4 x 4 pairs over one link, bisection 1/4.
  const Figures tree = figures("kind: pcie-tree, size: 8, switches: 2, bandwidth: 25 GB/s, latency: 2 us");
  CHECK(tree.bisection == Approx(0.25));
  CHECK(tree.limits.alltoall_load == Approx(16.0 / 25e9));
  CHECK(tree.routed == Approx(tree.alltoall));
  CHECK(tree.longest == 4);
  CHECK(tree.limits.diameter == 4);
  const Figures one = figures("kind: pcie-tree, size: 8, bandwidth: 25 GB/s, latency: 2 us");
  CHECK(one.alltoall == Approx(1.0));
  CHECK(one.longest == 2);

  // 25 GB/s a link: 2 + 2 + 1 + 1 of them join the two fours, which inject 4 x 6. No accelerator is further than 2
  // links.
  const Figures cube = figures("kind: hybrid-cube-mesh, bandwidth: 150 GB/s, latency: 2 us");
  CHECK(cube.limits.injection == Approx(150e9));
  CHECK(cube.limits.diameter == 2);
  CHECK(cube.longest == 2);
  CHECK(cube.bisection == Approx(6.0 / 24.0));
  CHECK(cube.allreduce == Approx(8.0 / 14.0));
}
