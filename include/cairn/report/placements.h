// What `cairn search --cost-model cairn` and `cairn run --strategy-file` answer, as JSON (cairn.placements/1) and as
// text: how each operator of a network is placed on a mesh of a cluster, and what a step takes then.
//
// Sample of the text:
//   alexnet, batch 128, bf16, on 16 accelerators (2 x 8) of DGX A100
//   1.19 ms a step, and no placements take less
//   2.84 times faster than data parallelism (3.374 ms)
//
//     kernels 579.4 us, parameter gradients 452.5 us, boxing 158 us
//     nothing overlaps, gradients have no buckets, and no parameter is updated
//     memory 185 MiB of 77.8 GiB an accelerator, Adam's state included
//
//     operator  placement
//     conv1     S(b) S(b)
//     fc6       S(b) S(n)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/report/run.h"
#include "cairn/splits/placed_network.h"
#include "cairn/splits/search.h"

namespace cairn::report {

// How placements were found.
struct PlacementSearch {
  splits::Method method = splits::Method::pase;
  const splits::SplitAnswer& answer;
};

struct Placements {
  const splits::PlacementStrategy& strategy;  // written out
  std::string cluster;                        // its name
  const splits::PlacementAnswer& answer;
  core::Picoseconds time = 0;  // of a step: what the search adds up, or what the executor takes
  core::Bytes memory = {};     // of a device
  core::Bytes capacity = {};   // that it has for that
  bool fits() const { return memory <= capacity; }
  std::optional<PlacementSearch> search = {};  // none: they were given
  std::vector<std::string> assumptions = {};
  std::vector<std::string> warnings = {};
  Tool tool = {};
};

std::string text(const Placements& of, const TextStyle& style = {});
std::string json(const Placements& of);
std::string placements_schema();  // of cairn.placements/1

}  // namespace cairn::report
