// What `cairn bound --model` answers: what the operators of a model's layers must move, each alone, fused, and at
// least; as JSON (cairn.bound/1 with `layers`) and as text.
//
//   MUE = (least bytes / memory bandwidth) / predicted time       data-movement utilisation, Ivanov et al., MLSys 2021
// which is their (Q / D) x (achieved bandwidth / peak bandwidth), the bytes D moved cancelling out. By class: the same
// of the sums.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cairn/cost/layer_floor.h"
#include "cairn/report/bound.h"

namespace cairn::report {

struct LayerAnswer {
  std::string name;
  std::int64_t count = 1;
  cost::LayerFloor floor;
  std::vector<double> time_s;  // predicted, by operator; empty where no calibration is at hand
};

struct LayersAnswer {
  std::string what;
  double on_chip_bytes = 0.0;
  std::string format;
  double bytes_per_word = 0.0;
  bool backward = false;
  std::optional<BoundMachine> machine;
  std::vector<LayerAnswer> layers;
};

std::string json(const LayersAnswer& answer, const Tool& tool, int indent = 2);
std::string text(const LayersAnswer& answer, const TextStyle& style = {});

}  // namespace cairn::report
