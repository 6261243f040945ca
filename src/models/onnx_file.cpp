#include "onnx_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "cairn/core/read_file.h"
#include "distinct_names.h"

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
#if __has_include(<google/protobuf/stubs/logging.h>)
#include <google/protobuf/stubs/logging.h>
#define CAIRN_SILENCES_PROTOBUF
#endif
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop
#endif

namespace cairn::models {

const OnnxAttribute* OnnxNode::find(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? nullptr : &found->second;
}

bool OnnxNode::has_subgraph() const {
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const auto& each) { return each.second.form == OnnxAttribute::Form::subgraph; });
}

void refuse_onnx(const std::filesystem::path& file, std::string message, std::string hint) {
  core::Diagnostic diagnostic;
  diagnostic.file = file.string();
  diagnostic.key_path = "onnx";
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  throw core::ConfigurationError({std::move(diagnostic)});
}

#ifdef CAIRN_HAS_ONNX
namespace {

// The most that protobuf reads: a message's size is a 32-bit integer.
constexpr std::size_t k_most_onnx_bytes = std::numeric_limits<std::int32_t>::max();

// Names go into reports and documents.
std::string onnx_name(const std::string& text) { return core::printable(text); }

OnnxElements elements_of(std::int32_t type) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      return OnnxElements::values;
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64:
    case onnx::TensorProto::BOOL:
      return OnnxElements::integers;
    default:
      return OnnxElements::others;
  }
}

template <class Integer>
bool take_bytes(const std::string& bytes, std::size_t count, std::vector<std::int64_t>& numbers) {
  if (bytes.size() != count * sizeof(Integer)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    Integer number = 0;
    std::memcpy(&number, bytes.data() + i * sizeof(Integer), sizeof(Integer));
    numbers.push_back(static_cast<std::int64_t>(number));
  }
  return true;
}

template <class List>
bool take_list(const List& list, std::size_t count, std::vector<std::int64_t>& numbers) {
  if (static_cast<std::size_t>(list.size()) != count) return false;
  numbers.assign(list.begin(), list.end());
  return true;
}

bool take_numbers(const onnx::TensorProto& tensor, std::size_t count, std::vector<std::int64_t>& numbers) {
  const bool raw = tensor.has_raw_data();
  if (tensor.data_type() == onnx::TensorProto::INT64)
    return raw ? take_bytes<std::int64_t>(tensor.raw_data(), count, numbers)
               : take_list(tensor.int64_data(), count, numbers);
  if (tensor.data_type() == onnx::TensorProto::INT32)
    return raw ? take_bytes<std::int32_t>(tensor.raw_data(), count, numbers)
               : take_list(tensor.int32_data(), count, numbers);
  return false;
}

OnnxTensor tensor_of(const onnx::TensorProto& from) {
  OnnxTensor tensor{.name = onnx_name(from.name()),
                    .shape = {from.dims().begin(), from.dims().end()},
                    .elements = elements_of(from.data_type()),
                    .numbers = {}};
  if (tensor.elements != OnnxElements::integers || from.data_location() == onnx::TensorProto::EXTERNAL) return tensor;
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size < 0 || size > k_most_onnx_numbers) return tensor;
    count *= size;
    if (count > k_most_onnx_numbers) return tensor;
  }
  tensor.has_numbers = take_numbers(from, static_cast<std::size_t>(count), tensor.numbers);
  return tensor;
}

OnnxAttribute attribute_of(const onnx::AttributeProto& from) {
  using Form = OnnxAttribute::Form;
  OnnxAttribute attribute;
  switch (from.type()) {
    case onnx::AttributeProto::INT:
      attribute.form = Form::integer;
      attribute.integers = {from.i()};
      break;
    case onnx::AttributeProto::INTS:
      attribute.form = Form::integers;
      attribute.integers.assign(from.ints().begin(), from.ints().end());
      break;
    case onnx::AttributeProto::STRING:
      attribute.form = Form::text;
      attribute.text = from.s();
      break;
    case onnx::AttributeProto::TENSOR:
      attribute.form = Form::tensor;
      attribute.tensor = tensor_of(from.t());
      break;
    case onnx::AttributeProto::FLOAT:
    case onnx::AttributeProto::FLOATS:
      attribute.form = Form::number;
      attribute.tensor.shape.assign(from.type() == onnx::AttributeProto::FLOATS, from.floats_size());
      break;
    case onnx::AttributeProto::GRAPH:
    case onnx::AttributeProto::GRAPHS:
      attribute.form = Form::subgraph;
      break;
    default:
      break;
  }
  return attribute;
}

OnnxNode node_of(const onnx::NodeProto& from) {
  OnnxNode node;
  const bool own = from.domain().empty() || from.domain() == "ai.onnx";
  node.type = onnx_name(own ? from.op_type() : from.domain() + "::" + from.op_type());
  for (const std::string& input : from.input()) node.inputs.push_back(onnx_name(input));
  for (const std::string& output : from.output()) node.outputs.push_back(onnx_name(output));
  node.name = onnx_name(from.name());
  if (node.name.empty() && node.makes(0)) node.name = node.outputs.front();
  if (node.name.empty()) node.name = node.type;
  for (const onnx::AttributeProto& attribute : from.attribute())
    node.attributes.emplace(attribute.name(), attribute_of(attribute));
  return node;
}

OnnxValue value_of(const onnx::ValueInfoProto& from) {
  OnnxValue value{.name = onnx_name(from.name()), .elements = OnnxElements::others, .dims = {}};
  if (!from.type().has_tensor_type()) return value;
  const auto& type = from.type().tensor_type();
  value.elements = elements_of(type.elem_type());
  value.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim())
    value.dims.push_back(
        {.size = dim.dim_value(), .symbol = onnx_name(dim.dim_param()), .has_size = dim.has_dim_value()});
  return value;
}

template <class List>
std::vector<OnnxValue> values_of(const List& list) {
  std::vector<OnnxValue> values;
  for (const onnx::ValueInfoProto& each : list) values.push_back(value_of(each));
  return values;
}

}  // namespace

OnnxGraph read_onnx(const std::filesystem::path& file) {
#ifdef CAIRN_SILENCES_PROTOBUF
  const google::protobuf::LogSilencer silent;  // a library does not print; later versions of protobuf do not either
#endif
  onnx::ModelProto model;
  {
    const std::string bytes = core::read_file(file, k_most_onnx_bytes, "an ONNX file");
    if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      refuse_onnx(file, "no ONNX file, or a truncated one", "give a file that onnx.checker accepts");
  }
  if (!model.has_graph()) refuse_onnx(file, "no graph in it", "give a file that onnx.checker accepts");
  const onnx::GraphProto& from = model.graph();
  if (from.sparse_initializer_size() > 0)
    refuse_onnx(file, "sparse initializers are not read", "write them as dense tensors");
  OnnxGraph graph;
  for (const auto& opset : model.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") graph.opset = std::max(graph.opset, opset.version());
  DistinctNames names;
  for (const onnx::NodeProto& node : from.node()) {
    OnnxNode& added = graph.nodes.emplace_back(node_of(node));
    added.name = names.name(added.name);
  }
  for (const onnx::TensorProto& tensor : from.initializer()) graph.initializers.push_back(tensor_of(tensor));
  graph.inputs = values_of(from.input());
  graph.outputs = values_of(from.output());
  graph.values = values_of(from.value_info());
  return graph;
}
#else
OnnxGraph read_onnx(const std::filesystem::path&) {
  throw core::CapabilityError(
      "this build of cairn reads no ONNX files: install libonnx-dev and libprotobuf-dev, and build again");
}
#endif

}  // namespace cairn::models
