// ONNX files made for tests, node by node.
#pragma once

#ifdef CAIRN_HAS_ONNX

#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cairn::test {

using Sizes = std::vector<std::int64_t>;

class OnnxMaker {
 public:
  explicit OnnxMaker(std::int64_t opset = 13) {
    model.set_ir_version(8);
    auto* stated = model.add_opset_import();
    stated->set_domain("");
    stated->set_version(opset);
    graph = model.mutable_graph();
    graph->set_name("test");
  }

  // A size of -1: the symbol "N".
  std::string input(const std::string& name, const Sizes& dims,
                    onnx::TensorProto::DataType type = onnx::TensorProto::FLOAT) {
    state(*graph->add_input(), name, dims, type);
    return name;
  }
  void output(const std::string& name, const Sizes& dims = {}) {
    state(*graph->add_output(), name, dims, onnx::TensorProto::FLOAT);
  }
  void value(const std::string& name, const Sizes& dims) {
    state(*graph->add_value_info(), name, dims, onnx::TensorProto::FLOAT);
  }
  // Without its contents, as if they were in another file.
  std::string weight(const std::string& name, const Sizes& dims) {
    onnx::TensorProto* tensor = graph->add_initializer();
    shaped(*tensor, name, dims, onnx::TensorProto::FLOAT);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    auto* place = tensor->add_external_data();
    place->set_key("location");
    place->set_value("is_not_there.bin");
    return name;
  }
  std::string number(const std::string& name, float value) {
    onnx::TensorProto* tensor = graph->add_initializer();
    shaped(*tensor, name, {}, onnx::TensorProto::FLOAT);
    tensor->add_float_data(value);
    return name;
  }
  std::string integers(const std::string& name, const Sizes& values) {
    onnx::TensorProto* tensor = graph->add_initializer();
    shaped(*tensor, name, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (const std::int64_t each : values) tensor->add_int64_data(each);
    return name;
  }
  // The node is named like its first output.
  onnx::NodeProto& add(const std::string& type, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
    onnx::NodeProto* made = graph->add_node();
    made->set_op_type(type);
    made->set_name(outputs.front());
    for (const std::string& each : inputs) made->add_input(each);
    for (const std::string& each : outputs) made->add_output(each);
    return *made;
  }
  std::string node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
    add(type, inputs, {output});
    return output;
  }
  // Attributes of the last node.
  OnnxMaker& with(const std::string& name, std::int64_t value) {
    onnx::AttributeProto& made = attribute(name, onnx::AttributeProto::INT);
    made.set_i(value);
    return *this;
  }
  OnnxMaker& with(const std::string& name, const Sizes& values) {
    onnx::AttributeProto& made = attribute(name, onnx::AttributeProto::INTS);
    for (const std::int64_t each : values) made.add_ints(each);
    return *this;
  }
  OnnxMaker& with(const std::string& name, const std::string& value) {
    attribute(name, onnx::AttributeProto::STRING).set_s(value);
    return *this;
  }

  std::string bytes() const { return model.SerializeAsString(); }
  std::filesystem::path write(const std::string& name = "cairn_test.onnx") const {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / name;
    std::ofstream(file, std::ios::binary) << bytes();
    return file;
  }

  onnx::ModelProto model;
  onnx::GraphProto* graph = nullptr;

 private:
  static void shaped(onnx::TensorProto& tensor, const std::string& name, const Sizes& dims,
                     onnx::TensorProto::DataType type) {
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t each : dims) tensor.add_dims(each);
  }
  static void state(onnx::ValueInfoProto& value, const std::string& name, const Sizes& dims,
                    onnx::TensorProto::DataType type) {
    value.set_name(name);
    auto* tensor = value.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    if (dims.empty()) return;
    for (const std::int64_t each : dims) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (each == -1)
        dim->set_dim_param("N");
      else
        dim->set_dim_value(each);
    }
  }
  onnx::AttributeProto& attribute(const std::string& name, onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto* made = graph->mutable_node(graph->node_size() - 1)->add_attribute();
    made->set_name(name);
    made->set_type(type);
    return *made;
  }
};

}  // namespace cairn::test

#endif
