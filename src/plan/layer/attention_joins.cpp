#include "attention_joins.h"

#include <initializer_list>
#include <utility>

namespace cairn::plan::joins {
namespace {

using numerics::Format;

// Each kernel reads and writes every element of its tensors once.
class Kernels {
 public:
  Kernels() {
    const ir::TensorId made = tensor("made", Format::bf16), narrow = tensor("narrow", Format::bf16);
    const ir::TensorId part = tensor("part", Format::fp32), wide = tensor("wide", Format::fp32),
                       other = tensor("other", Format::fp32);
    add("attention.join", 2.0, {{made, ir::Mode::read}, {part, ir::Mode::read}, {other, ir::Mode::write}});
    add("attention.join.widen", 0.0, {{made, ir::Mode::read}, {wide, ir::Mode::write}});
    add("attention.join.narrow", 0.0, {{part, ir::Mode::read}, {narrow, ir::Mode::write}});
    add("attention.join.difference", 1.0, {{part, ir::Mode::read}, {wide, ir::Mode::read}, {other, ir::Mode::write}});
    add("attention.join.scale", 1.0, {{wide, ir::Mode::read}, {other, ir::Mode::write}});
    add("attention.join.copy", 0.0, {{part, ir::Mode::read}, {wide, ir::Mode::write}});
  }
  ir::Shard over(Kernel kernel, std::int64_t elements) const {
    const auto id = static_cast<ir::OperatorId>(kernel);
    return {.op = &graph_.op(id), .graph = &graph_, .box = {loopnest::Interval{0, elements}}};
  }

 private:
  struct Use {
    ir::TensorId tensor;
    ir::Mode mode;
  };

  ir::TensorId tensor(const char* name, Format format) {
    ir::Tensor tensor;
    tensor.name = name;
    tensor.format = format;
    tensor.dims.push_back({.name = "element", .extent = loopnest::Extent::of(1)});
    return graph_.add_tensor(std::move(tensor));
  }

  void add(const char* name, double flops, std::initializer_list<Use> uses) {
    ir::Operator op;
    op.name = name;
    op.kind = ir::Kind::pointwise;
    const loopnest::DimId element = op.domain.add("element", loopnest::Extent::of(1));
    const loopnest::Projection all{loopnest::Affine::of(element)};
    for (const Use& use : uses) op.accesses.push_back({.tensor = use.tensor, .projection = all, .mode = use.mode});
    op.flops_per_point = flops;
    graph_.add_operator(std::move(op));
  }

  ir::Graph graph_;
};

}  // namespace

ir::Shard shard(Kernel kernel, std::int64_t elements) {
  static const Kernels once;
  return once.over(kernel, elements);
}

}  // namespace cairn::plan::joins
