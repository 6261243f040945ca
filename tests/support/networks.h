// Networks and traffic of the published comparisons of simulators, written from their definitions, with every route
// spelt out.
//   links: 12.5e9 bytes/s in each direction, one latency per link
//   star: an up and a down link per host
//   fat tree of two levels: `leaf` hosts per leaf switch, one cable from every leaf to each of `roots` roots; the root
//     is destination mod roots
//   torus: id = x + X (y + Y z), one dimension after the other; direction + from m to t when 0 < t - m <= D div 2, or
//     m > D div 2 and (m + D div 2) mod D >= t
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/sim/flows.h"

namespace cairn::support {

constexpr double k_link_bandwidth = 12.5e9;  // [bytes/s]

// splitmix64 of x: the increment first, then the finaliser.
inline std::uint64_t mix(std::uint64_t x) { return core::Random(x).next(); }

class Network {
 public:
  virtual ~Network() = default;
  virtual std::vector<sim::LinkId> route(std::uint32_t from, std::uint32_t to) const = 0;
  std::uint32_t hosts = 0;
  std::uint32_t links = 0;
};

struct Star final : Network {
  explicit Star(std::uint32_t n) { hosts = n, links = 2 * n; }
  std::vector<sim::LinkId> route(std::uint32_t from, std::uint32_t to) const override { return {from, hosts + to}; }
};

struct FatTree2 final : Network {
  FatTree2(std::uint32_t n, std::uint32_t leaf_size, std::uint32_t root_count) : leaf(leaf_size), roots(root_count) {
    hosts = n;
    links = 2 * n + 2 * (n / leaf) * roots;
  }
  std::vector<sim::LinkId> route(std::uint32_t from, std::uint32_t to) const override {
    const std::uint32_t a = from / leaf, b = to / leaf, root = to % roots;
    if (a == b) return {from, hosts + to};
    const std::uint32_t up = 2 * hosts, down = up + (hosts / leaf) * roots;
    return {from, up + a * roots + root, down + b * roots + root, hosts + to};
  }
  std::uint32_t leaf, roots;
};

// Three levels: k/2 hosts per edge switch, k/2 edge and k/2 middle switches per pod; tapered, every edge switch has
// only 1/taper of its cables up, which oversubscribes them; middle
// switch and root by the destination's digits (d-mod-k), or by a hash of the pair, which makes flows collide.
enum class Ascent : std::uint8_t { destination, hash };
struct FatTree3 final : Network {
  FatTree3(std::uint32_t half_radix, std::uint32_t pod_count, Ascent choice, std::uint32_t taper = 1)
      : half(half_radix), pods(pod_count), ups(half / taper), ascent(choice) {
    hosts = pods * half * half;
    links = 6 * hosts;
  }
  std::vector<sim::LinkId> route(std::uint32_t from, std::uint32_t to) const override {
    const std::uint32_t chosen =
        ascent == Ascent::destination ? to : static_cast<std::uint32_t>(mix(std::uint64_t{from} * hosts + to) % hosts);
    const std::uint32_t low = chosen % half % ups, high = chosen / half % half;
    const std::uint32_t edge_a = from / half, edge_b = to / half, pod_a = edge_a / half, pod_b = edge_b / half;
    if (edge_a == edge_b) return {from, hosts + to};
    const sim::LinkId up = 2 * hosts + edge_a * half + low, down = 3 * hosts + edge_b * half + low;
    if (pod_a == pod_b) return {from, up, down, hosts + to};
    const sim::LinkId up_root = 4 * hosts + (pod_a * half + low) * half + high;
    const sim::LinkId down_root = 5 * hosts + (pod_b * half + low) * half + high;
    return {from, up, up_root, down_root, down, hosts + to};
  }
  std::uint32_t half, pods, ups;
  Ascent ascent;
};

struct Torus3 final : Network {
  explicit Torus3(std::array<std::uint32_t, 3> dimensions) : size(dimensions) {
    hosts = size[0] * size[1] * size[2];
    links = 6 * hosts;
  }
  std::vector<sim::LinkId> route(std::uint32_t from, std::uint32_t to) const override {
    std::vector<sim::LinkId> route;
    std::array<std::uint32_t, 3> at = coordinates(from);
    const std::array<std::uint32_t, 3> target = coordinates(to);
    for (std::size_t d = 0; d < 3; ++d) {
      const std::uint32_t n = size[d], m = at[d], t = target[d];
      const bool forward = (t > m && t <= m + n / 2) || (m > n / 2 && (m + n / 2) % n >= t);
      while (at[d] != t) {
        route.push_back(
            static_cast<sim::LinkId>(6 * (at[0] + size[0] * (at[1] + size[1] * at[2])) + 2 * d + (forward ? 0 : 1)));
        at[d] = (at[d] + (forward ? 1 : n - 1)) % n;
      }
    }
    return route;
  }
  std::array<std::uint32_t, 3> coordinates(std::uint32_t id) const {
    return {id % size[0], id / size[0] % size[1], id / size[0] / size[1]};
  }
  std::array<std::uint32_t, 3> size;
};

inline sim::FlowProblem empty_problem(const Network& network, core::Picoseconds link_latency) {
  sim::FlowProblem problem;
  problem.links.assign(network.links, {.capacity = k_link_bandwidth, .latency = link_latency});
  return problem;
}

inline void add_flow(sim::FlowProblem& problem, const Network& network, std::uint32_t from, std::uint32_t to,
                     double bytes) {
  problem.flows.push_back({.route = problem.routes.add(network.route(from, to)), .bytes = bytes, .start = 0});
}

// Chunks of a ring all-reduce, 2(P-1) steps: step s of rank r follows what r sent and what r received in step s-1.
inline sim::FlowProblem ring(const Network& network, core::Picoseconds link_latency, double chunk) {
  sim::FlowProblem problem = empty_problem(network, link_latency);
  const std::uint32_t ranks = network.hosts, steps = 2 * (ranks - 1);
  for (std::uint32_t r = 0; r < ranks; ++r) problem.routes.add(network.route(r, (r + 1) % ranks));
  problem.after_begin.push_back(0);
  for (std::uint32_t s = 0; s < steps; ++s)
    for (std::uint32_t r = 0; r < ranks; ++r) {
      problem.flows.push_back({.route = r, .bytes = chunk, .start = 0});
      if (s > 0)
        for (const std::uint32_t rank : {r, (r + ranks - 1) % ranks}) problem.after.push_back((s - 1) * ranks + rank);
      problem.after_begin.push_back(static_cast<std::uint32_t>(problem.after.size()));
    }
  return problem;
}

inline double varied(double bytes, std::uint64_t i, std::uint64_t j, std::uint64_t hosts) {
  return bytes + static_cast<double>(mix(i * hosts + j) % (static_cast<std::uint64_t>(bytes) + 3));
}

// All ordered pairs at once.
inline sim::FlowProblem all_to_all(const Network& network, core::Picoseconds link_latency, double bytes, bool equal) {
  sim::FlowProblem problem = empty_problem(network, link_latency);
  for (std::uint32_t i = 0; i < network.hosts; ++i)
    for (std::uint32_t j = 0; j < network.hosts; ++j)
      if (i != j) add_flow(problem, network, i, j, equal ? bytes : varied(bytes, i, j, network.hosts));
  return problem;
}

// Many flows beside each other, of sizes up to `bytes`.
inline sim::FlowProblem random_pairs(const Network& network, std::uint32_t flows, core::Picoseconds link_latency,
                                     double bytes) {
  sim::FlowProblem problem = empty_problem(network, link_latency);
  core::Random random(3);
  for (std::uint32_t f = 0; f < flows; ++f) {
    const auto from = static_cast<std::uint32_t>(random.below(network.hosts));
    const auto to = static_cast<std::uint32_t>(from + 1 + random.below(network.hosts - 1)) % network.hosts;
    add_flow(problem, network, from, to, 1.0 + bytes * random.uniform());
  }
  return problem;
}

inline sim::FlowProblem permutation(const Network& network, core::Picoseconds link_latency, double bytes) {
  sim::FlowProblem problem = empty_problem(network, link_latency);
  std::vector<std::uint32_t> to(network.hosts);
  for (std::uint32_t i = 0; i < network.hosts; ++i) to[i] = i;
  for (std::uint32_t i = network.hosts - 1; i > 0; --i) std::swap(to[i], to[mix(i) % (i + 1)]);
  for (std::uint32_t i = 0; i < network.hosts; ++i)
    if (to[i] != i) add_flow(problem, network, i, to[i], varied(bytes, i, to[i], network.hosts));
  return problem;
}

}  // namespace cairn::support
