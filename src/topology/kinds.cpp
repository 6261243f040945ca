#include "kinds.h"

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"

namespace cairn::topology {

Kind kind(hardware::LevelKind kind) {
  switch (kind) {
    case hardware::LevelKind::nvswitch:
    case hardware::LevelKind::star:
      return make_crossbar;
    case hardware::LevelKind::pcie_tree:
      return make_pcie_tree;
    case hardware::LevelKind::hybrid_cube_mesh:
      return make_hybrid_cube_mesh;
    case hardware::LevelKind::fat_tree:
      return make_fat_tree;
    case hardware::LevelKind::rail_optimized:
      return make_rail_optimized;
    case hardware::LevelKind::rail_only:
      return make_rail_only;
    case hardware::LevelKind::dragonfly:
      return make_dragonfly;
    case hardware::LevelKind::torus:
      return make_torus;
    case hardware::LevelKind::mesh:
      return make_mesh;
    case hardware::LevelKind::hyperx:
      return make_hyperx;
    case hardware::LevelKind::hammingmesh:
      return make_hammingmesh;
    case hardware::LevelKind::graph:
      return nullptr;
  }
  return nullptr;
}

void refuse(const LevelInput& level, const std::string& key, std::string message, std::string hint) {
  throw core::ConfigurationError(level.key_path.empty() ? key : level.key_path + "." + key, std::move(message),
                                 std::move(hint));
}

std::array<double, 2> lattice_place(NodeId node, const std::vector<std::int64_t>& dims) {
  constexpr double k_gap = 1.0;  // between copies
  std::array<double, 2> at{};
  std::array<double, 2> step{1.0, 1.0};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::size_t axis = d % 2;
    at[axis] += static_cast<double>(node % dims[d]) * step[axis];
    node /= dims[d];
    step[axis] = step[axis] * static_cast<double>(dims[d]) + k_gap;
  }
  return at;
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
