// What tests of ONNX imports look at.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/models/onnx.h"
#include "catch.h"
#include "onnx_maker.h"
#include "support/complaints.h"

#ifdef CAIRN_HAS_ONNX
namespace cairn::models {

using test::OnnxMaker;
using test::Sizes;

inline double flops_of_network(const ir::Graph& graph, bool products_alone = false) {
  double total = 0;
  for (const ir::Operator& op : graph.operators())
    if (!products_alone || op.kind == ir::Kind::contraction)
      total += static_cast<double>(op.domain.points(op.domain.box({}))) * op.flops_per_point;
  return total;
}

inline Network import(const OnnxMaker& maker, std::optional<std::int64_t> batch = {}) {
  return import_onnx(maker.write(), batch);
}

inline std::string complaint(const OnnxMaker& maker, std::optional<std::int64_t> batch = {}) {
  return test::complaints([&] { import(maker, batch); });
}

// "conv1: contraction convolution b c h w r s n" for each operator.
inline std::vector<std::string> listing(const ir::Graph& graph) {
  std::vector<std::string> lines;
  for (const ir::Operator& op : graph.operators()) {
    std::string line = op.name + ": " + op.variant;
    for (const auto& dim : op.domain.dims()) line += " " + dim.name + std::to_string(dim.extent.at({}));
    lines.push_back(line);
  }
  return lines;
}

inline Sizes made_shape(const ir::Graph& graph, const std::string& name) {
  for (const ir::Operator& op : graph.operators())
    if (op.name == name)
      for (const ir::Access& access : op.accesses)
        if (access.mode != ir::Mode::read) {
          Sizes shape;
          for (const ir::TensorDim& dim : graph.tensor(access.tensor).dims) shape.push_back(dim.extent.at({}));
          return shape;
        }
  return {};
}

// What network.h promises of every graph.
inline void check_contract(const Network& network) {
  const ir::Graph& graph = network.graph;
  std::set<std::string> names;
  std::set<ir::TensorId> made(graph.inputs().begin(), graph.inputs().end()), unwanted = made, read;
  for (const ir::Operator& op : graph.operators()) {
    INFO(op.name);
    CHECK(names.insert(op.name).second);
    std::set<std::string> dims;
    for (const auto& dim : op.domain.dims()) CHECK(dims.insert(dim.name).second);
    int last_place = 0;
    bool gradients = false;
    for (const ir::Access& access : op.accesses) {
      const ir::Tensor& tensor = graph.tensor(access.tensor);
      const bool reads = access.mode == ir::Mode::read;
      const bool parameter = tensor.role == ir::Role::parameter, index = tensor.role == ir::Role::index;
      if (reads) CHECK((parameter || made.contains(access.tensor)));
      if (reads) read.insert(access.tensor);
      // A view writes integers that it reads.
      const int place = !reads ? 3 : index ? 2 : parameter ? 1 : 0;
      CHECK(place >= last_place);
      last_place = place;
      const bool wanted = reads && !index && !unwanted.contains(access.tensor);
      CHECK((access.gradient != ir::InputGradient::none) == wanted);
      gradients = gradients || wanted;
      // No index leaves the tensor, but for padding and what is written at a constant.
      if (op.variant != "convolution" && !op.variant.ends_with("pool"))
        CHECK(op.domain.footprint(access.projection, op.domain.box({})) <= tensor.elements({}));
    }
    for (const ir::Access& access : op.accesses) {
      if (access.mode == ir::Mode::read) continue;
      made.insert(access.tensor);
      if (!gradients) unwanted.insert(access.tensor);
      if (op.variant != "concat" && op.variant != "split")
        CHECK(op.domain.footprint(access.projection, op.domain.box({})) == graph.tensor(access.tensor).elements({}));
    }
  }
  for (const ir::TensorId output : graph.outputs()) CHECK(made.contains(output));
  for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
    INFO(graph.tensors()[id].name);
    CHECK((read.contains(static_cast<ir::TensorId>(id))) == !graph.tensors()[id].statistic);
  }
  ir::Graph trained = graph;
  trained.differentiate({});
}

inline OnnxMaker one_node(const std::string& type, const Sizes& shape) {
  OnnxMaker maker;
  maker.input("x", shape);
  maker.node("Relu", {"x"}, "r");
  maker.node(type, {"r"}, "y");
  maker.output("y");
  return maker;
}

}  // namespace cairn::models
#endif
