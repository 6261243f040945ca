#include "cairn/splits/cluster_mesh.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/diagnostics.h"

namespace cairn::splits {
namespace {

void require_accelerators(const hardware::Network& network, std::int64_t devices, const char* key) {
  if (devices > network.gpus())
    throw core::ConfigurationError(
        key, fmt::format("{} devices, and the cluster has {} accelerators", devices, network.gpus()),
        "give fewer, or a cluster of more nodes");
}

// The level of which so many devices span several domains, and fill one of them in part; or none.
const hardware::NetworkLevel* half_used(const hardware::Network& network, std::int64_t devices) {
  for (const hardware::NetworkLevel& level : network.levels)
    if (devices > level.domain && std::min(devices, network.gpus()) % level.domain != 0) return &level;
  return nullptr;
}

}  // namespace

bool fills_units(const hardware::Network& network, std::int64_t devices) {
  return half_used(network, devices) == nullptr;
}

Mesh mesh_of(const hardware::Network& network, std::int64_t devices) {
  require_accelerators(network, devices, "devices");
  if (const hardware::NetworkLevel* level = half_used(network, devices))
    throw core::ConfigurationError(
        "devices", fmt::format("{} devices leave one {} of {} half used", devices, level->name, level->domain),
        fmt::format("give a multiple of {}, or the axes of the mesh", level->domain));
  Mesh mesh;
  std::int64_t inside = 1;
  for (const hardware::NetworkLevel& level : network.levels) {
    const std::int64_t reached = std::min(level.domain, devices);
    if (reached > inside) mesh.insert(mesh.begin(), {.name = level.name, .devices = reached / inside});
    inside = reached;
  }
  if (mesh.empty()) mesh.push_back({.name = network.levels.front().name, .devices = 1});
  return mesh;
}

Mesh mesh_of(const hardware::Network& network, const std::vector<std::int64_t>& sizes) {
  Mesh mesh;
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > network.gpus() / devices(mesh))
      throw core::ConfigurationError("axes",
                                     fmt::format("{}: an axis of {} devices, and the cluster has {} accelerators",
                                                 fmt::join(sizes, "x"), size, network.gpus()),
                                     "write the devices along each axis, outermost first, as in 4x8");
    mesh.push_back({.name = fmt::format("axis {}", mesh.size() + 1), .devices = size});
  }
  return mesh;
}

ClusterMesh::ClusterMesh(Mesh mesh, hardware::Accelerator accelerator, hardware::Network network,
                         cost::Calibration calibration, double state_bytes)
    : mesh_(std::move(mesh)),
      accelerator_(std::move(accelerator)),
      network_(std::move(network)),
      calibration_(std::move(calibration)),
      state_bytes_(state_bytes) {
  start_over();
}

void ClusterMesh::start_over() { pricer_.emplace(calibration_, accelerator_, network_, host_); }

std::vector<std::string> ClusterMesh::assumptions() {
  std::set<std::string> all = pricer_->assumptions();
  const std::set<std::string>& kernels = pricer_->shards().assumptions();
  all.insert(kernels.begin(), kernels.end());
  if (calibration_.transfer_provenance.evidence == cost::Evidence::assumed)
    all.insert("transfers: " + calibration_.transfer_provenance.source);
  all.insert("one operator after another, transfers included; the host issues kernels ahead of the device");
  all.insert("without the update of the parameters");
  return {all.begin(), all.end()};
}

std::vector<std::string> ClusterMesh::warnings() {
  std::vector<std::string> all = pricer_->extrapolation().sentences();
  for (std::string& each : pricer_->shards().extrapolation().sentences()) all.push_back(std::move(each));
  return all;
}

}  // namespace cairn::splits
