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

std::uint64_t route_hash(std::uint64_t seed, NodeId from, NodeId to, std::int64_t level) {
  std::uint64_t state = core::Random(seed).next();
  for (const std::int64_t word : {from, to, level})
    state = core::Random(state ^ static_cast<std::uint64_t>(word)).next();
  return state;
}

}  // namespace cairn::topology
