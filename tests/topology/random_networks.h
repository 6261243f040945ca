// Random networks of every kind, as texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "cairn/core/random.h"

namespace cairn::topology_tests {

inline std::int64_t pick(core::Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}
inline std::string key(const std::string& name, std::int64_t value) {
  return name + ": " + std::to_string(value) + ", ";
}
inline std::string dims(core::Random& random) {
  std::string text = "dims: [";
  const std::int64_t n = pick(random, 1, 3);
  for (std::int64_t i = 0; i < n; ++i) text += (i > 0 ? ", " : "") + std::to_string(pick(random, i == 0 ? 2 : 1, 5));
  return text + "], ";
}

// The keys of a random network of a kind with up to about 150 endpoints.
inline std::string random_keys(const std::string& kind, core::Random& random) {
  std::string text = "kind: " + kind + ", bandwidth: 12 GB/s, hop_latency: 1 us, ";
  if (kind == "torus" || kind == "mesh" || kind == "hyperx") return text + dims(random);
  if (kind == "hammingmesh")
    return text + key("a", pick(random, 1, 4)) + key("b", pick(random, 1, 4)) + key("x", pick(random, 2, 4)) +
           key("y", pick(random, 1, 3));
  if (kind == "dragonfly") {
    const std::int64_t a = pick(random, 1, 4), p = pick(random, 1, 3), h = pick(random, 1, 3);
    text += key("routers_per_group", a) + key("hosts_per_router", p) + key("global_links", h);
    if (pick(random, 0, 1) == 1) text += key("size", std::max<std::int64_t>(2, pick(random, 1, a * h + 1) * a * p));
    return text + (pick(random, 0, 2) == 0 ? "routing: valiant, seed: 7, " : "");
  }
  if (kind == "fat-tree") {
    text += key("size", pick(random, 2, 150));
    text += pick(random, 0, 1) == 1 ? key("radix", 2 * pick(random, 2, 6)) : key("leaf", pick(random, 1, 20));
    return text + "oversubscription: " + std::to_string(pick(random, 1, 3)) +
           (pick(random, 0, 1) == 1 ? ", routing: ecmp" : "");
  }
  if (kind == "pcie-tree") {
    const std::int64_t switches = pick(random, 1, 4);
    return text + key("switches", switches) + key("size", switches * pick(random, switches == 1 ? 2 : 1, 4));
  }
  return text + key("size", pick(random, 2, 40));
}

}  // namespace cairn::topology_tests
