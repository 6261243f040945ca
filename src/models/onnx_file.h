// What of an ONNX file an import reads, without the types of its format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::models {

// Integers are read where they are shapes, axes and pieces; longer lists are tables.
inline constexpr std::int64_t k_most_onnx_numbers = 4096;

enum class OnnxElements : std::uint8_t { values, integers, others };

// A constant or an initializer. `numbers`: of integers that the file holds itself; of others shapes are all that
// matters.
struct OnnxTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  OnnxElements elements = OnnxElements::values;
  std::vector<std::int64_t> numbers;
  bool has_numbers = false;
};

// The forms of an attribute that operators here have; a file may give another form.
struct OnnxAttribute {
  enum class Form : std::uint8_t { integer, integers, text, tensor, number, subgraph, other };
  Form form = Form::other;
  std::vector<std::int64_t> integers;  // an integer alone, too
  std::string text;
  OnnxTensor tensor;
};

struct OnnxNode {
  std::string name;  // distinct among nodes
  std::string type;  // with the domain before it, if it is not ONNX's own: "com.microsoft::FusedMatMul"
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, OnnxAttribute> attributes;

  const OnnxAttribute* find(const std::string& attribute) const;
  bool has_subgraph() const;
  // An output that is named, and so may be read.
  bool makes(std::size_t output) const { return output < outputs.size() && !outputs[output].empty(); }
};

// A stated dimension: a size, a symbol, or neither.
struct OnnxDim {
  std::int64_t size = 0;
  std::string symbol;
  bool has_size = false;
};

struct OnnxValue {
  std::string name;
  OnnxElements elements = OnnxElements::values;
  bool has_shape = false;
  std::vector<OnnxDim> dims;
};

struct OnnxGraph {
  std::int64_t opset = 0;  // of ONNX's own operators; 0: not stated
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValue> inputs;
  std::vector<OnnxValue> outputs;
  std::vector<OnnxValue> values;  // in between, as far as stated
};

// An error of the file as a whole, at key `onnx`.
[[noreturn]] void refuse_onnx(const std::filesystem::path& file, std::string message, std::string hint);

// Errors: core::ConfigurationError where there is no such file, or it is no ONNX graph; core::CapabilityError in a
// build without ONNX.
OnnxGraph read_onnx(const std::filesystem::path& file);

}  // namespace cairn::models
