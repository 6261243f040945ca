// Routes of random networks of every kind: they lead from link to link where they should, and where a kind claims so
// take no detour and cannot deadlock.
#include <algorithm>
#include <deque>

#include "cairn/core/random.h"
#include "cairn/topology/survey.h"
#include "catch.h"
#include "topology/networks.h"
#include "topology/random_networks.h"

using namespace cairn::topology;
using cairn::core::Random;
using cairn::topology_tests::network;
using cairn::topology_tests::pick;
using cairn::topology_tests::random_keys;

namespace {

// Links from every node to `to`, by breadth-first search backwards; -1: cannot reach.
std::vector<std::int64_t> distances(const Topology& topology, NodeId to) {
  std::vector<std::vector<NodeId>> into(static_cast<std::size_t>(topology.nodes()));
  for (LinkId id = 0; id < topology.links(); ++id)
    if (const Link link = topology.link(id); link.bandwidth > 0.0)
      into[static_cast<std::size_t>(link.to)].push_back(link.from);
  std::vector<std::int64_t> distance(static_cast<std::size_t>(topology.nodes()), -1);
  distance[static_cast<std::size_t>(to)] = 0;
  std::deque<NodeId> open{to};
  for (; !open.empty(); open.pop_front())
    for (const NodeId from : into[static_cast<std::size_t>(open.front())]) {
      if (distance[static_cast<std::size_t>(from)] >= 0) continue;
      distance[static_cast<std::size_t>(from)] = distance[static_cast<std::size_t>(open.front())] + 1;
      open.push_back(from);
    }
  return distance;
}

// No cycle among links of which one follows the other on some route: remove what nothing waits for until nothing is
// left.
bool can_not_deadlock(const Topology& topology) {
  const auto links = static_cast<std::size_t>(topology.links());
  std::vector<std::vector<LinkId>> next(links);
  std::vector<LinkId> route;
  for (NodeId from = 0; from < topology.endpoints(); ++from)
    for (NodeId to = 0; to < topology.endpoints(); ++to) {
      if (from == to) continue;
      route.clear();
      topology.route(from, to, route);
      for (std::size_t i = 0; i + 1 < route.size(); ++i)
        next[static_cast<std::size_t>(route[i])].push_back(route[i + 1]);
    }
  std::vector<std::int64_t> waits(links, 0);
  for (std::vector<LinkId>& after : next) {
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    for (const LinkId id : after) ++waits[static_cast<std::size_t>(id)];
  }
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < links; ++i)
    if (waits[i] == 0) free.push_back(i);
  std::size_t removed = 0;
  while (!free.empty()) {
    const std::size_t link = free.back();
    free.pop_back();
    ++removed;
    for (const LinkId id : next[link])
      if (--waits[static_cast<std::size_t>(id)] == 0) free.push_back(static_cast<std::size_t>(id));
  }
  return removed == links;
}

void check_routes(const Topology& topology) {
  std::vector<LinkId> route;
  std::int64_t diameter = 0;
  for (NodeId to = 0; to < topology.endpoints(); ++to) {
    const std::vector<std::int64_t> least = distances(topology, to);
    for (NodeId from = 0; from < topology.endpoints(); ++from) {
      if (from == to) continue;
      route.clear();
      topology.route(from, to, route);
      bool contiguous = !route.empty();
      NodeId at = from;
      for (const LinkId id : route) {
        REQUIRE((id >= 0 && id < topology.links()));
        const Link link = topology.link(id);
        contiguous = contiguous && link.from == at && link.bandwidth > 0.0;
        at = link.to;
      }
      const auto shortest = least[static_cast<std::size_t>(from)];
      diameter = std::max(diameter, shortest);
      if (!contiguous || at != to) FAIL_CHECK("from " << from << " to " << to << " is no way");
      if (topology.minimal() && static_cast<std::int64_t>(route.size()) != shortest)
        FAIL_CHECK("from " << from << " to " << to << ": " << route.size() << " links in place of " << shortest);
    }
  }
  CHECK(topology.limits().diameter >= diameter);
  if (topology.deadlock_free()) CHECK(can_not_deadlock(topology));
}

}  // namespace

TEST_CASE("Routes of random networks", "[topology][property]") {
  Random random(20);
  for (const std::string kind : {"nvswitch", "star", "pcie-tree", "fat-tree", "rail-only", "dragonfly", "torus", "mesh",
                                 "hyperx", "hammingmesh"}) {
    for (int i = 0; i < 12; ++i) {
      const std::string keys = random_keys(kind, random);
      INFO(keys);
      const Network net = network(keys);
      check_routes(*net.topology);
      // No routing beats the even spread; hashed and valiant routes are random, partial groups uneven.
      CHECK(survey(*net.topology).alltoall_load >= net.topology->limits().alltoall_load * (1.0 - 1e-9));
    }
  }
  check_routes(*network("kind: hybrid-cube-mesh, bandwidth: 150 GB/s, hop_latency: 1 us").topology);
}

TEST_CASE("Switched networks and meshes claim freedom from deadlock, a ring of six does not", "[topology]") {
  for (const char* keys : {"kind: star, size: 9", "kind: fat-tree, size: 60, radix: 8", "kind: mesh, dims: [4, 3]",
                           "kind: hyperx, dims: [3, 4]"})
    CHECK(network(std::string(keys) + ", bandwidth: 1 GB/s, hop_latency: 1 us").topology->deadlock_free());
  const Network ring = network("kind: torus, dims: [6], bandwidth: 1 GB/s, hop_latency: 1 us");
  CHECK_FALSE(ring.topology->deadlock_free());
  CHECK_FALSE(can_not_deadlock(*ring.topology));
}

TEST_CASE("Ten million endpoints need no memory", "[topology]") {
  const Network tree = network("kind: fat-tree, radix: 512, size: 10000000, bandwidth: 50 GB/s, hop_latency: 1 us");
  const Network torus = network("kind: torus, dims: [250, 200, 200], bandwidth: 60 GB/s, hop_latency: 1 us");
  const Network dragonfly = network(
      "kind: dragonfly, routers_per_group: 80, hosts_per_router: 40, global_links: 40, bandwidth: 50 GB/s, "
      "hop_latency: 1 us");
  for (const Network* net : {&tree, &torus, &dragonfly}) {
    const Topology& topology = *net->topology;
    CHECK(topology.endpoints() >= 10'000'000);
    std::vector<LinkId> route;
    topology.route(3, 9'999'999, route);
    NodeId at = 3;
    for (const LinkId id : route) {
      CHECK(topology.link(id).from == at);
      at = topology.link(id).to;
    }
    CHECK(at == 9'999'999);
    CHECK(topology.limits().bisection_fraction > 0.0);
  }
}
