// What kinds on a lattice share. dims: [X, Y, Z], the first of them innermost:
//   number of an endpoint = x + X (y + Y (z + ...))
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kinds.h"

namespace cairn::topology {

// The first two dimensions across and down; further ones as copies beside that, dimension by dimension.
std::array<double, 2> lattice_place(NodeId node, const std::vector<std::int64_t>& dims);

class Lattice : public Kind {
 public:
  Entry entry() const override { return Entry::whole; }
  std::optional<std::int64_t> size() const override { return product_of(dims_); }
  void check(std::int64_t size, const std::string& key_path) const override;

 protected:
  Lattice() = default;
  explicit Lattice(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  const std::vector<std::int64_t>& dims() const { return dims_; }
  // The sum of links(extent) over all dimensions.
  template <class Links>
  std::int64_t sum(Links links) const {
    std::int64_t all = 0;
    for (const std::int64_t extent : dims_) all += links(extent);
    return all;
  }

 private:
  void describe_own(config::Fields& fields) override;

  std::vector<std::int64_t> dims_ = {};
};

// A mesh, for kinds that have one inside.
std::unique_ptr<Kind> mesh_of(std::vector<std::int64_t> dims);

}  // namespace cairn::topology
