// The functions behind kinds.def and what the kinds share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/topology/kind.h"

// A test compiles the list with a kind more.
#ifndef CAIRN_TOPOLOGY_KINDS
#define CAIRN_TOPOLOGY_KINDS "kinds.def"
#endif

namespace cairn::topology {

namespace kinds {
#define CAIRN_TOPOLOGY_KIND(function) std::unique_ptr<Kind> function();
#include CAIRN_TOPOLOGY_KINDS
#undef CAIRN_TOPOLOGY_KIND
}  // namespace kinds

// A key that counts something.
constexpr config::CountRule some(std::string_view doc, bool required = false) {
  return {.doc = doc, .required = required, .minimum = 1, .maximum = std::int64_t{1} << 30};
}

// ceil(count / places): how many containers of so many places each hold `count`.
inline std::int64_t ceil_div(std::int64_t count, std::int64_t places) { return (count + places - 1) / places; }

// The product, or 2^40 + 1 when it is larger than that: more than any machine has.
std::int64_t product_of(std::initializer_list<std::int64_t> factors);
std::int64_t product_of(const std::vector<std::int64_t>& factors);

// Raises core::ConfigurationError at a key of the level at `key_path`, or at the level itself.
[[noreturn]] void refuse(const std::string& key_path, std::string_view key, std::string message, std::string hint);
[[noreturn]] void refuse(const LevelInput& level, std::string_view key, std::string message, std::string hint);

// Two ways of routing: one that follows from the ends of a route, and one by a hash of them and a seed.
struct RoutingKeys {
  std::string_view plain;
  std::string_view by_hash;
  std::optional<bool> hashed = {};
  std::optional<std::int64_t> seed = {};

  void describe(config::Fields& fields);
  Routing chosen() const;
  bool is_hashed() const { return hashed.value_or(false); }
  std::uint64_t number() const { return static_cast<std::uint64_t>(seed.value_or(0)); }
};

// A number that looks random and is the same for the same pair, level and seed: picks among equal routes.
std::uint64_t route_hash(std::uint64_t seed, NodeId from, NodeId to, std::int64_t level);

// Of endpoints with one link each to and from switches that never limit.
Limits switch_limits(std::int64_t endpoints, std::int64_t group, double bandwidth);

}  // namespace cairn::topology
