// A mesh whose devices and links have constant rates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/splits/autoddl.h"
#include "cairn/splits/rates.h"

namespace cairn::splits {

struct LinkedAxis {
  MeshAxis axis;
  AxisLinks links;
};

inline LinkedAxis linked(const char* name, std::int64_t devices, double latency_s, double bytes_per_second) {
  return {.axis = {.name = name, .devices = devices},
          .links = {.latency = core::Seconds::from_base(latency_s),
                    .bandwidth = core::BytesPerSecond::from_base(bytes_per_second)}};
}

class LinkedMesh {
 public:
  explicit LinkedMesh(const std::vector<LinkedAxis>& axes, double flops_per_second = 1.0,
                      std::optional<AxisLinks> stages = {})
      : mesh_(mesh_of(axes)), pricer_(mesh_, rates_of(axes, flops_per_second, stages)) {}
  PlacementSetup setup() { return {.mesh = mesh_, .pricer = pricer_}; }
  TensorBoxing boxing(std::vector<std::int64_t> extents, double bytes) {
    return {std::move(extents), core::Bytes::from_base(bytes), mesh_, pricer_};
  }

 private:
  static Mesh mesh_of(const std::vector<LinkedAxis>& axes) {
    Mesh mesh;
    for (const LinkedAxis& each : axes) mesh.push_back(each.axis);
    return mesh;
  }
  static Rates rates_of(const std::vector<LinkedAxis>& axes, double flops_per_second, std::optional<AxisLinks> stages) {
    Rates rates{.axes = {}, .stages = stages, .peak = core::FlopsPerSecond::from_base(flops_per_second)};
    for (const LinkedAxis& each : axes) rates.axes.push_back(each.links);
    return rates;
  }

  Mesh mesh_;
  RatePricer pricer_;
};

}  // namespace cairn::splits
