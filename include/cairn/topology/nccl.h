// NCCL's description of a machine (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE) as a graph.
//
//   <system version="1">
//     <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
//       <pci busid="0000:0f:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
//         <pci busid="0000:10:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
//           <gpu dev="0" sm="80" rank="0"> <nvlink target="0000:..." count="12" tclass="0x068000"/> </gpu>
//         </pci>
//         <pci busid="0000:12:00.0" class="0x020700" ...> <nic> <net name="mlx5_0" dev="0" speed="200000"/> </nic>
//         </pci>
//
// Endpoints are the GPUs, by `dev`. Switches: CPUs (all joined to each other), PCI bridges, one NVSwitch for all
// (tclass 0x068000), network adapters. Bandwidths are what NCCL's model takes the links for:
//   PCI     as a Gen3 x16 (8 GT/s, 16 lanes) in proportion to lanes and generation, each twice as fast as the one
//           before; no width means 16 lanes, an unknown rate Gen3
//   NVLink  count x speed of one link of the GPU's generation
//   CPUs    by architecture and vendor
// The speeds of links and CPUs are configs/imports/nccl.yaml. Latencies are not in the file: zero.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loader.h"
#include "cairn/core/quantity.h"
#include "cairn/topology/graph.h"

namespace cairn::topology {

struct NvlinkSpeed {
  std::int64_t sm = 0;  // least compute capability x 10 that it holds for
  core::BytesPerSecond bandwidth = {};
};
struct CpuSpeed {
  std::string arch = {};    // x86_64, arm64, ppc64
  std::string vendor = {};  // empty: any
  std::int64_t model = 0;   // least `modelid`
  core::BytesPerSecond bandwidth = {};
};
struct NcclSpeeds {
  core::BytesPerSecond pci_gen3_x16 = {};
  std::vector<NvlinkSpeed> nvlinks = {};
  std::vector<CpuSpeed> cpus = {};  // the first that fits
};
void describe(config::Fields& fields, NvlinkSpeed& speed);
void describe(config::Fields& fields, CpuSpeed& speed);
void describe(config::Fields& fields, NcclSpeeds& speeds);

NcclSpeeds load_nccl_speeds(const config::Loader& loader);

// Throw core::ConfigurationError: malformed XML with its line, anything but a <system>, fewer than two GPUs, a GPU
// listed twice, NVLinks to what is not there.
GraphFile read_nccl(const std::filesystem::path& file, const NcclSpeeds& speeds);
GraphFile parse_nccl(const std::string& text, const std::string& file_name, const NcclSpeeds& speeds);

// The graph as the YAML that `cairn topology` reads.
std::string graph_text(const GraphFile& graph);

}  // namespace cairn::topology
