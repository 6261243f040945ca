#include "cairn/topology/kind.h"

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "kinds.h"

namespace cairn::topology {

void Kind::describe(config::Fields& fields) {
  describe_own(fields);
  if (parts() == Parts::bought)
    fields.count("planes", planes_, some("equal copies of the network, over which traffic is spread evenly"));
}

std::optional<Pairs> Kind::pairs() const { return {}; }

Shape::Shape() : kind_(all_kinds().front()()) {}

config::KindAccess kind_access(Shape& shape) {
  config::KindAccess access{.words = {},
                            .current = 0,
                            .become = [&shape](std::size_t kind) { shape.kind_ = all_kinds()[kind](); },
                            .visit = {}};
  for (const MakeKind make : all_kinds()) {
    access.words.push_back(make()->name());
    if (access.words.back() == shape->name()) access.current = access.words.size() - 1;
  }
  access.visit = [&shape, current = access.current](std::size_t kind, config::Fields& fields) {
    if (kind == current) return shape.kind_->describe(fields);
    all_kinds()[kind]()->describe(fields);
  };
  return access;
}

std::int64_t product_of(const std::vector<std::int64_t>& factors) {
  constexpr std::int64_t k_most = std::int64_t{1} << 40;
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (factor > k_most / result) return k_most + 1;
    result *= factor;
  }
  return result;
}
std::int64_t product_of(std::initializer_list<std::int64_t> factors) {
  return product_of(std::vector<std::int64_t>(factors));
}

void refuse(const std::string& key_path, std::string_view key, std::string message, std::string hint) {
  throw core::ConfigurationError(key.empty() ? key_path : config::join_path(key_path, key), std::move(message),
                                 std::move(hint));
}
void refuse(const LevelInput& level, std::string_view key, std::string message, std::string hint) {
  refuse(level.key_path, key, std::move(message), std::move(hint));
}

void RoutingKeys::describe(config::Fields& fields) {
  const std::string ways = std::string(plain) + " (default) or " + std::string(by_hash);
  const std::string seeds = "of " + std::string(by_hash) + ", default 0";
  fields.choice("routing", hashed, {{plain, false}, {by_hash, true}}, {.doc = ways});
  fields.count("seed", seed, {.doc = seeds});
}
Routing RoutingKeys::chosen() const {
  if (!is_hashed()) return {.name = plain, .seed = {}};
  return {.name = by_hash, .seed = seed.value_or(0)};
}

std::uint64_t route_hash(std::uint64_t seed, NodeId from, NodeId to, std::int64_t level) {
  std::uint64_t state = core::Random(seed).next();
  for (const std::int64_t word : {from, to, level})
    state = core::Random(state ^ static_cast<std::uint64_t>(word)).next();
  return state;
}

Limits switch_limits(std::int64_t endpoints, std::int64_t group, double bandwidth) {
  return {.injection = bandwidth,
          .diameter = 2,
          .bisection_fraction = 1.0,
          .alltoall_load = static_cast<double>(endpoints - group) / bandwidth,
          .narrowest_cut = static_cast<double>(group) * bandwidth};
}

}  // namespace cairn::topology
