// An ONNX graph around its nodes: what it can be read at all, inputs and the batch, losses.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "cairn/models/onnx.h"
#include "onnx_importer.h"

namespace cairn::models {
namespace {

constexpr std::int64_t k_oldest_opset = 7;
// Strides of merged indices are 32-bit; points of an operator and elements of all parameters are counted in 64.
constexpr std::int64_t k_most_extent = (std::int64_t{1} << 31) - 1;
constexpr double k_most_elements = 0x1p48;
constexpr double k_most_points = 0x1p60;

const char* const k_check_hint = "give a file that onnx.checker accepts";

std::vector<std::string> input_dim_names(std::size_t rank) {
  static const std::vector<std::vector<std::string>> k_names{{},
                                                             {"b"},
                                                             {"b", "k"},
                                                             {"b", "l", "k"},
                                                             {"b", "c", "h", "w"},
                                                             {"b", "c", "d", "h", "w"},
                                                             {"b", "c", "d", "h", "w", "u"}};
  return k_names[rank];
}

}  // namespace

std::int64_t OnnxOperand::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

std::string OnnxImporter::fault(const Shape& shape) {
  if (shape.size() > ir::k_max_rank) return fmt::format("more than {} dimensions", ir::k_max_rank);
  double elements = 1.0;
  for (const std::int64_t size : shape) {
    if (size < 1) return fmt::format("a dimension of {}", size);
    if (size > k_most_extent) return fmt::format("a dimension of {}, more than {}", size, k_most_extent);
    elements *= static_cast<double>(size);
  }
  return elements > k_most_elements ? fmt::format("{:.3g} elements", elements) : "";
}

// Every type of node that is unknown, at once.
void OnnxImporter::check_operators() const {
  if (graph_.opset < k_oldest_opset)
    refuse_onnx(file_,
                graph_.opset == 0 ? "no version of ONNX's operators is stated"
                                  : fmt::format("version {} of ONNX's operators", graph_.opset),
                fmt::format("convert it to opset {} or later (onnx.version_converter)", k_oldest_opset));
  struct Unknown {
    std::size_t count = 0;
    const OnnxNode* first = nullptr;
  };
  std::map<std::string_view, Unknown> unknown;
  for (const OnnxNode& node : graph_.nodes) {
    if (find_onnx_operator(node.type) != nullptr && !node.has_subgraph()) continue;
    Unknown& entry = unknown[node.type];
    if (entry.count++ == 0) entry.first = &node;
  }
  core::Diagnostics diagnostics;
  for (const auto& [type, entry] : unknown)
    diagnostics.add(
        {.file = file_.string(),
         .key_path = "onnx",
         .message = fmt::format("operator {} is not supported: {} {}, the first {}", core::quoted(type), entry.count,
                                entry.count == 1 ? "node" : "nodes", core::quoted(entry.first->name)),
         .hint = entry.first->has_subgraph() ? "graphs inside nodes are not read: export it without control flow"
                                             : "export it as operators of models/onnx.h"});
  diagnostics.raise_if_errors();
}

void OnnxImporter::add_input(const OnnxValue& value) {
  Shape shape;
  for (const OnnxDim& dim : value.dims) shape.push_back(dim.has_size ? dim.size : batch_);
  if (const std::string wrong = fault(shape); !wrong.empty())
    refuse_onnx(file_, fmt::format("input {} has {}", core::quoted(value.name), wrong), k_check_hint);
  if (file_batch_ > 0) shape.front() = batch_;
  if (const std::string wrong = fault(shape); !wrong.empty())
    throw core::ConfigurationError("batch", fmt::format("input {} has {}", core::quoted(value.name), wrong),
                                   "give fewer samples");
  const bool indexes = value.elements == OnnxElements::integers;
  std::vector<std::string> names = input_dim_names(shape.size());
  if (indexes && names.size() == 2) names.back() = "l";  // tokens of a sequence
  NamedSizes dims;
  for (std::size_t i = 0; i < shape.size(); ++i) dims.push_back({names[i], shape[i]});
  const std::string name = net_.distinct(value.name);
  OnnxOperand operand{.kind = OnnxOperand::Kind::activation, .shape = shape};
  operand.tensor = indexes ? net_.indices(name, dims) : net_.input(name, dims);
  samples_[operand.tensor] = {.place = OnnxSamples::Place::known};
  for (std::size_t i = 0; i < shape.size(); ++i) operand.axes.push_back(static_cast<int>(i));
  operands_[value.name] = std::move(operand);
}

OnnxOperand OnnxImporter::stored(const OnnxTensor& tensor, bool fixed) const {
  OnnxOperand operand{.shape = tensor.shape, .stored = &tensor, .fixed = fixed};
  // An empty list stands for an option that is left out.
  const bool empty = tensor.shape == Shape{0};
  if (const std::string wrong = empty ? std::string() : fault(tensor.shape); !wrong.empty())
    refuse_onnx(file_, fmt::format("tensor {} has {}", core::quoted(tensor.name), wrong), k_check_hint);
  const bool values = tensor.elements == OnnxElements::values;
  if (!values || empty || tensor.shape.empty()) {
    operand.kind = OnnxOperand::Kind::constant;
    operand.has_numbers = tensor.has_numbers;
    operand.numbers = tensor.numbers;
    return operand;
  }
  operand.kind = OnnxOperand::Kind::weight;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) operand.axes.push_back(static_cast<int>(i));
  return operand;
}

void OnnxImporter::check_stated(const OnnxNode& node) {
  for (const std::string& output : node.outputs) {
    const auto stated = stated_.find(output);
    const auto found = operands_.find(output);
    if (stated == stated_.end() || found == operands_.end() || !stated->second->has_shape ||
        found->second.is(OnnxOperand::Kind::absent))
      continue;
    const Shape& shape = found->second.shape;
    const std::vector<OnnxDim>& dims = stated->second->dims;
    const bool made = replaces_batch() && found->second.is(OnnxOperand::Kind::activation);
    const OnnxSamples samples = made ? samples_of(found->second.tensor) : OnnxSamples{};
    bool same = shape.size() == dims.size();
    std::size_t scaled = 0;
    for (std::size_t i = 0; same && i < shape.size(); ++i) {
      if (!dims[i].has_size || dims[i].size == shape[i]) continue;
      const bool may_follow = samples.place == OnnxSamples::Place::lost || (samples.is_known() && samples.at.dim == i);
      same = may_follow && ++scaled == 1 &&
             static_cast<double>(dims[i].size) * static_cast<double>(batch_) ==
                 static_cast<double>(shape[i]) * static_cast<double>(file_batch_);
    }
    if (!same)
      refuse(node,
             fmt::format("makes {} of shape {}, and the file says {}", core::quoted(output), onnx_shape_text(shape),
                         onnx_shape_text(dims)),
             "run onnx.shape_inference on the file anew");
  }
}

void OnnxImporter::check_sizes(const OnnxNode& node, std::size_t first_operator) const {
  const std::vector<ir::Operator>& operators = net_.graph().operators();
  for (std::size_t i = first_operator; i < operators.size(); ++i) {
    double points = 1.0;
    for (const loopnest::Dim& dim : operators[i].domain.dims()) points *= static_cast<double>(dim.extent.at({}));
    if (points > k_most_points) refuse(node, fmt::format("takes {:.3g} points", points), "give fewer samples");
  }
}

void OnnxImporter::add_loss(const std::string& output, const OnnxOperand& operand) {
  const std::string name = net_.distinct("loss." + output);
  if (operand.shape.size() == 2) return net_.cross_entropy(name, operand.tensor);
  ir::TensorId x = operand.tensor;
  // A loss for each row needs rows.
  if (operand.shape.size() == 1) x = net_.reshape(net_.distinct(name + ".row"), x, {operand.shape.front(), 1});
  net_.squared_error(name, x);
}

void OnnxImporter::add_losses() {
  const OnnxValue* last = nullptr;
  bool trains = false;
  for (const OnnxValue& output : graph_.outputs) {
    const auto found = operands_.find(output.name);
    if (found == operands_.end()) continue;
    const OnnxOperand& operand = found->second;
    trains = trains || operand.loss;
    if (!operand.is(OnnxOperand::Kind::activation) || net_.graph().producer(operand.tensor) < 0 ||
        net_.graph().tensor(operand.tensor).role != ir::Role::activation)
      continue;
    last = &output;
    // An output that is named twice has one loss.
    if (!computed_with_.insert(output.name).second) continue;
    add_loss(output.name, operand);
    trains = true;
  }
  if (!trains && last != nullptr) add_loss(last->name, operands_.at(last->name));
  if (!trains && last == nullptr)
    refuse_onnx(file_, "no output depends on an input by an operator that can be trained", k_check_hint);
}

// Which names are read at all, whose elements reach an output, and which are parameters if they are weights. The
// elements of what a Shape reads reach none; a constant node's tensor that pointwise operators alone read is no
// parameter.
void OnnxImporter::settle_uses(const std::vector<std::size_t>& order) {
  for (const OnnxValue& output : graph_.outputs) ends_.insert(output.name);
  for (const std::size_t i : order) read_.insert(graph_.nodes[i].inputs.begin(), graph_.nodes[i].inputs.end());
  for (std::size_t at = order.size(); at-- > 0;) {
    const OnnxNode& node = graph_.nodes[order[at]];
    const OnnxOperator& op = *find_onnx_operator(node.type);
    const auto any_output = [&](const auto& in) { return std::any_of(node.outputs.begin(), node.outputs.end(), in); };
    if (!any_output([&](const std::string& name) { return ends_.contains(name) || computed_with_.contains(name); }))
      continue;
    const bool trains = op.kind == OnnxOperator::Kind::layer ||
                        (op.kind == OnnxOperator::Kind::view &&
                         any_output([&](const std::string& name) { return trained_.contains(name); }));
    for (std::size_t i = 0; i < std::min(op.operands, node.inputs.size()); ++i) {
      computed_with_.insert(node.inputs[i]);
      if (trains) trained_.insert(node.inputs[i]);
    }
  }
}

Network OnnxImporter::import() {
  check_operators();
  const std::vector<std::size_t> order = onnx_order(graph_, file_);
  for (const std::vector<OnnxValue>* values : {&graph_.values, &graph_.outputs})
    for (const OnnxValue& value : *values) stated_[value.name] = &value;
  for (const OnnxTensor& tensor : graph_.initializers) operands_[tensor.name] = stored(tensor, false);
  for (const OnnxNode& node : graph_.nodes) net_.distinct(node.name);
  settle_uses(order);

  std::vector<const OnnxValue*> inputs;
  for (const OnnxValue& input : graph_.inputs)
    if (!operands_.contains(input.name) && read_.contains(input.name)) inputs.push_back(&input);
  settle_batch(inputs);
  for (const OnnxValue* input : inputs)
    if (!operands_.contains(input->name)) add_input(*input);
  for (const std::size_t i : order) import_node(graph_.nodes[i]);
  add_losses();
  return {.name = file_.string(), .batch = batch_, .graph = net_.finish_needed()};
}

void OnnxImporter::import_node(const OnnxNode& node) {
  const std::size_t operators = net_.graph().operators().size();
  if (!fold(node)) (this->*find_onnx_operator(node.type)->import)(node);
  check_sizes(node, operators);
  check_stated(node);
}

bool can_import_onnx() {
#ifdef CAIRN_HAS_ONNX
  return true;
#else
  return false;
#endif
}

Network import_onnx(const std::filesystem::path& file, std::optional<std::int64_t> batch) {
  const OnnxGraph graph = read_onnx(file);
  return OnnxImporter(graph, file, batch).import();
}

bool names_onnx_file(std::string_view name_or_file) { return name_or_file.ends_with(k_onnx_suffix); }

Network find_network(std::string_view name_or_file, std::optional<std::int64_t> batch) {
  return names_onnx_file(name_or_file) ? import_onnx(name_or_file, batch) : build_network(name_or_file, batch);
}

}  // namespace cairn::models
