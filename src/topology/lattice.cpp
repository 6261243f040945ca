#include "lattice.h"

namespace cairn::topology {

void Lattice::check(std::int64_t size, const std::string& key_path) const {
  if (const std::int64_t points = product_of(dims_); points != size)
    refuse(key_path, "dims", "dims have " + std::to_string(points) + " points, the level joins " + std::to_string(size),
           "make them equal");
}

void Lattice::describe_own(config::Fields& fields) {
  fields.counts("dims", dims_, {.doc = "extents", .required = true, .minimum = 1, .maximum = 1 << 20},
                {.minimum_size = 1, .maximum_size = 8});
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

}  // namespace cairn::topology
