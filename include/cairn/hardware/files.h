// From the configuration files to accelerators and machines.
//
// Every function adds what is wrong to `diagnostics` and returns what it could read; the caller raises. `key_path` is
// where the experiment names the thing ("cluster").
#pragma once

#include <string_view>

#include "cairn/config/loaded.h"
#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/cluster.h"

namespace cairn::hardware {

using config::Loaded;

// The stated source of the value at `key_path`: its own, or that of the nearest map above it. Null when there is none.
const config::Origin* provenance(const config::Origins& origins, std::string_view key_path);

// The same as text: "assumed: typical rental 2024". `key_path` counts from the block's own root, also where the block
// stands inline in another file. Empty where no source is stated.
std::string source_text(const config::Origins& origins, std::string_view key_path);

struct Machine {
  Loaded<Cluster> cluster = {};
  Loaded<Accelerator> accelerator = {};
  Network network = {};
};

// `reference`: a name, {file: name, overriding keys} or the whole block.
Loaded<Accelerator> read_accelerator(const config::Loader& loader, const config::Node& reference,
                                     std::string_view key_path, core::Diagnostics& diagnostics);
// The cluster with its accelerator and derived network.
Machine read_machine(const config::Loader& loader, const config::Node& reference, std::string_view key_path,
                     core::Diagnostics& diagnostics);
// By name; throw core::ConfigurationError with everything wrong.
// `overrides` as for experiments, of the cluster's keys: nodes=4.
Machine load_machine(const config::Loader& loader, std::string_view name,
                     const std::vector<std::string>& overrides = {});
Accelerator load_accelerator(const config::Loader& loader, std::string_view name);

}  // namespace cairn::hardware
