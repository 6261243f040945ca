// hybrid-cube-mesh: eight accelerators with six links each, two meshes of four joined corner by corner.
//
//   1 or 2 links between neighbours; what is not linked passes through one accelerator. A link has a sixth of the
//   accelerator's bandwidth.
// Source: NVIDIA DGX-1 with Tesla V100 system architecture, WP-08437-002, 2017, figure 4; links as `nvidia-smi topo -m`
// of an AWS p3.16xlarge lists them.
#include <array>

#include "cairn/topology/graph.h"
#include "kinds.h"

namespace cairn::topology {
namespace {

struct Edge {
  int from, to, links;
};
constexpr std::int64_t k_size = 8;
constexpr std::int64_t k_longest = 2;  // links of a route
constexpr double k_links = 6.0;
constexpr std::array<Edge, 16> k_edges{{{.from = 0, .to = 1, .links = 1},
                                        {.from = 0, .to = 2, .links = 1},
                                        {.from = 0, .to = 3, .links = 2},
                                        {.from = 0, .to = 4, .links = 2},
                                        {.from = 1, .to = 2, .links = 2},
                                        {.from = 1, .to = 3, .links = 1},
                                        {.from = 1, .to = 5, .links = 2},
                                        {.from = 2, .to = 3, .links = 2},
                                        {.from = 2, .to = 6, .links = 1},
                                        {.from = 3, .to = 7, .links = 1},
                                        {.from = 4, .to = 5, .links = 1},
                                        {.from = 4, .to = 6, .links = 1},
                                        {.from = 4, .to = 7, .links = 2},
                                        {.from = 5, .to = 6, .links = 2},
                                        {.from = 5, .to = 7, .links = 1},
                                        {.from = 6, .to = 7, .links = 2}}};

std::unique_ptr<Topology> make_hybrid_cube_mesh(const LevelInput& level) {
  if (level.endpoints() != k_size)
    refuse(level, "kind", std::to_string(level.endpoints()) + " accelerators; this kind joins 8",
           "choose another kind");
  GraphFile graph;
  for (std::int64_t i = 0; i < k_size; ++i) graph.endpoints.push_back(std::to_string(i));
  for (const Edge& edge : k_edges)
    graph.links.push_back({.from = std::to_string(edge.from),
                           .to = std::to_string(edge.to),
                           .bandwidth = core::BytesPerSecond::from_base(level.bandwidth * edge.links / k_links),
                           .latency = core::Seconds::from_base(level.link_latency(k_longest))});
  return make_graph(graph);
}

class HybridCubeMesh final : public KindOf<HybridCubeMesh> {
 public:
  std::string_view name() const override { return "hybrid-cube-mesh"; }
  Parts parts() const override { return Parts::of_accelerators; }
  std::optional<std::int64_t> size() const override { return k_size; }
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override { return k_longest; }
  std::unique_ptr<Topology> build(const LevelInput& level) const override { return make_hybrid_cube_mesh(level); }
};

}  // namespace

std::unique_ptr<Kind> kinds::hybrid_cube_mesh() { return std::make_unique<HybridCubeMesh>(); }

}  // namespace cairn::topology
