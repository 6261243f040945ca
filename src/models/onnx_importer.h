// One ONNX graph on its way into a network: what its tensors are, node by node.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cairn/models/network.h"
#include "network_builder.h"
#include "onnx_file.h"

namespace cairn::models {

// What a name of the file stands for.
struct OnnxOperand {
  enum class Kind : std::uint8_t {
    absent,
    activation,  // a tensor of the network; integers among them
    weight,      // an initializer, or a constant node's tensor; in the network once something reads it
    constant     // integers, or numbers made of constants
  };
  Kind kind = Kind::absent;
  std::vector<std::int64_t> shape = {};
  ir::TensorId tensor = ir::k_no_tensor;  // activation
  const OnnxTensor* stored = nullptr;     // weight, constant of the file
  std::vector<int> axes = {};             // weight: as in Operand, of the stored shape
  bool fixed = false;                     // weight: of a constant node, and nothing trains it
  bool has_numbers = false;               // constant: whole numbers that are known
  std::vector<std::int64_t> numbers = {};
  bool real = false;       // constant: cast to floating point, so that 5 / 2 is no whole number
  bool of_shapes = false;  // constant: made of shapes of tensors, so that it has the batch that was asked for
  bool loss = false;       // absent: of the file itself
  bool is(Kind wanted) const { return kind == wanted; }
  std::int64_t elements() const;
};

class OnnxImporter;
// What a type of node becomes.
struct OnnxOperator {
  static constexpr std::size_t k_all = std::numeric_limits<std::size_t>::max();
  enum class Kind : std::uint8_t { layer, pointwise, view };
  std::string_view type;
  void (OnnxImporter::*import)(const OnnxNode& node);
  Kind kind = Kind::layer;
  std::size_t operands = k_all;    // inputs whose elements it reads; those after them are settings
  std::string_view function = {};  // pointwise: of network_builder's
};

const OnnxOperator* find_onnx_operator(std::string_view type);

// "(2, 3)"; of a long one the first dimensions and their number.
std::string onnx_shape_text(const std::vector<std::int64_t>& shape);
std::string onnx_shape_text(const std::vector<OnnxDim>& dims);

// The dimension of a tensor that runs over samples, alone or merged with others: (outside, batch, inside).
struct OnnxBatchDim {
  std::size_t dim = 0;
  std::int64_t inside = 1;
};
// Where the samples are in a tensor.
struct OnnxSamples {
  enum class Place : std::uint8_t { nowhere, known, lost };
  Place place = Place::nowhere;
  OnnxBatchDim at = {};
  bool is_known() const { return place == Place::known; }
};

// Nodes that outputs depend on, producers first. Errors as of import_onnx.
std::vector<std::size_t> onnx_order(const OnnxGraph& graph, const std::filesystem::path& file);

class OnnxImporter {
 public:
  OnnxImporter(const OnnxGraph& graph, std::filesystem::path file, std::optional<std::int64_t> batch)
      : graph_(graph), file_(std::move(file)), asked_batch_(batch) {}

  Network import();

 private:
  using Shape = std::vector<std::int64_t>;

  // The graph around the nodes.
  void check_operators() const;
  void settle_batch(const std::vector<const OnnxValue*>& inputs);
  void add_input(const OnnxValue& value);
  void settle_uses(const std::vector<std::size_t>& order);
  void import_node(const OnnxNode& node);
  void add_losses();
  void add_loss(const std::string& output, const OnnxOperand& operand);
  void check_stated(const OnnxNode& node);
  void check_sizes(const OnnxNode& node, std::size_t first_operator) const;
  OnnxOperand stored(const OnnxTensor& tensor, bool fixed) const;

  // The batch that was asked for in place of the file's.
  bool replaces_batch() const { return file_batch_ > 0; }
  const OnnxSamples& samples_of(ir::TensorId tensor);
  OnnxSamples samples_in_view(ir::TensorId x, const Shape& to);
  // What a constant shape of the file means at the batch that was asked for.
  void view_as_at_asked_batch(const OnnxNode& node, const OnnxOperand& from, const Shape& stated);
  Shape resolved(const OnnxNode& node, const Shape& from, const Shape& stated) const;

  // Errors of a node.
  [[noreturn]] void refuse(const OnnxNode& node, const std::string& message, const std::string& hint) const;
  void check_shape(const OnnxNode& node, const Shape& shape) const;
  // What is wrong with a shape; nothing: empty.
  static std::string fault(const Shape& shape);

  // What a node states.
  std::int64_t integer(const OnnxNode& node, const std::string& attribute, std::int64_t fallback) const;
  std::optional<Shape> integers(const OnnxNode& node, const std::string& attribute) const;
  std::string text(const OnnxNode& node, const std::string& attribute, const std::string& fallback) const;
  // Of an attribute, or in later opsets of an input.
  std::optional<Shape> integers(const OnnxNode& node, const std::string& attribute, std::size_t input) const;
  std::size_t dimension(const OnnxNode& node, std::int64_t stated, std::size_t rank) const;
  bool is_wanted(const OnnxNode& node, std::size_t output) const;
  // That no activation is a setting.
  void check_settings(const OnnxNode& node) const;

  // What a node reads and makes.
  OnnxOperand input(const OnnxNode& node, std::size_t i) const;
  ir::TensorId activation(const OnnxNode& node, std::size_t i);
  ir::TensorId values(const OnnxNode& node, std::size_t i);  // an activation of no integers
  // A tensor of the network for an operand whose dimensions are called so.
  Operand operand(const OnnxNode& node, const OnnxOperand& from, const std::vector<std::string>& names);
  ir::TensorId parameter(const OnnxNode& node, std::size_t i, const Shape& shape,
                         const std::vector<std::string>& names);
  void make(const OnnxNode& node, ir::TensorId tensor, std::size_t output = 0);
  void define(const OnnxNode& node, OnnxOperand operand, std::size_t output = 0);
  Shape shape_of(ir::TensorId tensor) const;
  bool is_single(const OnnxOperand& operand, const OnnxOperand& beside) const;
  void check_keeps_rank(const OnnxNode& node, const OnnxOperand& single, const OnnxOperand& beside) const;

  // Operators.
  FilterWindow window(const OnnxNode& node, const Shape& from, const Shape& taps) const;
  void convolution(const OnnxNode& node);
  void pooling(const OnnxNode& node);
  void global_pooling(const OnnxNode& node);
  void gemm(const OnnxNode& node);
  void matrix_product(const OnnxNode& node);
  void multiply(const OnnxNode& node, const OnnxOperand& a, const OnnxOperand& b, const OnnxOperand& addend);
  void combine(const OnnxNode& node);
  void apply(const OnnxNode& node);
  void batch_norm(const OnnxNode& node);
  void layer_norm(const OnnxNode& node);
  void softmax(const OnnxNode& node);
  void mean(const OnnxNode& node);
  void gather(const OnnxNode& node);
  void cross_entropy(const OnnxNode& node);
  // Views and constants.
  void flatten(const OnnxNode& node);
  void reshape(const OnnxNode& node);
  void squeeze(const OnnxNode& node);
  void unsqueeze(const OnnxNode& node);
  void transpose(const OnnxNode& node);
  void concat(const OnnxNode& node);
  void split(const OnnxNode& node);
  void slice(const OnnxNode& node);
  void same(const OnnxNode& node);
  void constant(const OnnxNode& node);
  void shape(const OnnxNode& node);
  void view_as(const OnnxNode& node, const Shape& to, const std::optional<OnnxSamples>& samples = {});
  bool is_cast_to_integers(const OnnxNode& node) const;
  bool fold(const OnnxNode& node);
  std::optional<OnnxOperand> fold_pieces(const OnnxNode& node, const std::vector<OnnxOperand>& inputs) const;
  std::optional<OnnxOperand> fold_slice(const OnnxNode& node, const OnnxOperand& from) const;
  std::optional<OnnxOperand> fold_elements(const OnnxNode& node, const std::vector<OnnxOperand>& inputs) const;
  struct Cut {
    std::size_t dim = 0;
    std::int64_t begin = 0, end = 0;
  };
  // What a slice takes of a shape: each dimension once, in steps of 1.
  std::vector<Cut> cuts(const OnnxNode& node, const Shape& from) const;

  friend const OnnxOperator* find_onnx_operator(std::string_view type);

  const OnnxGraph& graph_;
  std::filesystem::path file_;
  std::optional<std::int64_t> asked_batch_;
  std::int64_t batch_ = 1;
  std::int64_t file_batch_ = 0;  // replaced by batch_; 0: none was
  NetworkBuilder net_;
  std::unordered_map<std::string, OnnxOperand> operands_;
  std::unordered_map<const OnnxTensor*, ir::TensorId> weights_;
  std::unordered_map<std::string, const OnnxValue*> stated_;
  std::unordered_map<std::string, ir::TensorId> indices_;  // constants of integers that the network reads
  std::unordered_map<ir::TensorId, OnnxSamples> samples_;  // where the batch is replaced
  std::unordered_set<std::string> read_;                   // by nodes that outputs depend on
  std::unordered_set<std::string> computed_with_;          // outputs depend on their elements
  std::unordered_set<std::string> trained_;                // a layer reads them, perhaps through views
  std::unordered_set<std::string> ends_;                   // outputs
  double parameters_ = 0.0;
};

}  // namespace cairn::models
