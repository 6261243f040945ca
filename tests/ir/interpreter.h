// Runs small graphs of contractions and additions in exact integers, so that derivatives can be compared with
// differences.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cairn/ir/graph.h"

namespace cairn::testing {

class Interpreter {
 public:
  using Values = std::vector<std::int64_t>;

  Interpreter(const ir::Graph& graph, const loopnest::Sizes& sizes) : graph_(graph), sizes_(sizes) {}

  Values& of(ir::TensorId tensor) {
    const ir::Tensor& shape = graph_.tensor(tensor);
    Values& values = values_[tensor];
    values.resize(static_cast<std::size_t>(shape.elements(sizes_)), 0);
    return values;
  }

  void run(std::size_t from, std::size_t to) {
    for (std::size_t id = from; id < to; ++id) run(graph_.operators()[id]);
  }

 private:
  void run(const ir::Operator& op) {
    const loopnest::Box box = op.domain.box(sizes_);
    for (const ir::Access& access : op.accesses) of(access.tensor);
    std::vector<std::int64_t> point(box.size(), 0);
    while (true) {
      if (inside(op, point)) visit(op, point);
      std::size_t dim = box.size();
      while (dim > 0 && ++point[dim - 1] == box[dim - 1].end) point[--dim] = 0;
      if (dim == 0) return;
    }
  }

  static std::int64_t value(const loopnest::Affine& form, const std::vector<std::int64_t>& point) {
    std::int64_t sum = form.offset;
    for (const loopnest::Term& term : form.terms) sum += term.stride * point[term.dim];
    return sum;
  }
  static bool inside(const ir::Operator& op, const std::vector<std::int64_t>& point) {
    for (const loopnest::Affine& guard : op.domain.guards())
      if (value(guard, point) < 0) return false;
    return true;
  }
  std::int64_t& element(const ir::Access& access, const std::vector<std::int64_t>& point) {
    const ir::Tensor& tensor = graph_.tensor(access.tensor);
    std::int64_t index = 0;
    for (std::size_t dim = 0; dim < tensor.dims.size(); ++dim)
      index = index * tensor.dims[dim].extent.at(sizes_) + value(access.projection[dim], point);
    return of(access.tensor).at(static_cast<std::size_t>(index));
  }

  // Contractions multiply their factors; everything else here adds. What a contraction reads besides is added once per
  // result.
  void visit(const ir::Operator& op, const std::vector<std::int64_t>& point) {
    const ir::Access* written = nullptr;
    for (const ir::Access& access : op.accesses)
      if (access.mode != ir::Mode::read) written = &access;
    const bool product = op.kind == ir::Kind::contraction;
    std::int64_t result = product ? 1 : 0;
    std::int64_t added = 0;
    for (const ir::Access& access : op.accesses) {
      if (access.mode != ir::Mode::read) continue;
      const std::int64_t factor = element(access, point);
      if (product && !access.is_factor())
        added += first_visit(op, *written, point) ? factor : 0;
      else
        result = product ? result * factor : result + factor;
    }
    std::int64_t& target = element(*written, point);
    target = written->mode == ir::Mode::write ? result : target + result + added;
  }

  static bool first_visit(const ir::Operator& op, const ir::Access& written, const std::vector<std::int64_t>& point) {
    for (std::size_t dim = 0; dim < op.domain.dims().size(); ++dim)
      if (!uses(written.projection, static_cast<loopnest::DimId>(dim)) && point[dim] != 0) return false;
    return true;
  }

  const ir::Graph& graph_;
  loopnest::Sizes sizes_;
  std::map<ir::TensorId, Values> values_;
};

}  // namespace cairn::testing
