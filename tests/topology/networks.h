// Networks from YAML texts.
#pragma once

#include <string>

#include "cairn/config/loader.h"
#include "cairn/hardware/network_files.h"
#include "support/shipped.h"

namespace cairn::topology_tests {

using cairn::testing::shipped;

// One level's keys in flow style: "kind: torus, dims: [4, 4], bandwidth: 4 GB/s, hop_latency: 1 us".
inline topology::Network network(const std::string& keys) {
  core::Diagnostics diagnostics;
  const config::Node node =
      config::parse_text("{name: test, " + keys + "}", config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  topology::Network result = hardware::read_network(shipped(), node, diagnostics);
  diagnostics.raise_if_errors();
  return result;
}

// A cluster, or a graph, in block style.
inline topology::Network network_of_file(const std::string& text) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  topology::Network result = hardware::read_network(shipped(), node, diagnostics);
  diagnostics.raise_if_errors();
  return result;
}

}  // namespace cairn::topology_tests
