// Corners of ONNX's semantics: constants that are computed, settings, what nothing reads, and files that are invalid.
#include "cairn/models/onnx.h"
#include "catch.h"
#include "onnx_checks.h"

#ifdef CAIRN_HAS_ONNX
namespace cairn::models {
namespace {

// A Constant node of numbers.
void constant_values(OnnxMaker& maker, const std::string& name, const Sizes& shape) {
  onnx::NodeProto& node = maker.add("Constant", {}, {name});
  onnx::AttributeProto* value = node.add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    value->mutable_t()->add_dims(size);
    count *= size;
  }
  for (std::int64_t i = 0; i < count; ++i) value->mutable_t()->add_float_data(1.0F);
}

std::string single_number(OnnxMaker& maker, const std::string& name, std::size_t rank) {
  maker.number(name, 2.0F);
  auto* tensor = maker.graph->mutable_initializer(maker.graph->initializer_size() - 1);
  for (std::size_t i = 0; i < rank; ++i) tensor->add_dims(1);
  return name;
}

std::string integer_tensor(OnnxMaker& maker, const std::string& name, const Sizes& shape, const Sizes& values) {
  maker.integers(name, values);
  auto* tensor = maker.graph->mutable_initializer(maker.graph->initializer_size() - 1);
  tensor->clear_dims();
  for (const std::int64_t size : shape) tensor->add_dims(size);
  return name;
}

// (N, 6, 8), multiplied by a weight: "r".
OnnxMaker samples_by_weight() {
  OnnxMaker maker;
  maker.input("x", {-1, 6, 8});
  maker.node("MatMul", {"x", maker.weight("w", {8, 8})}, "r");
  return maker;
}

bool has_operator(const Network& network, const std::string& name) {
  const auto& operators = network.graph.operators();
  return std::any_of(operators.begin(), operators.end(), [&](const ir::Operator& op) { return op.name == name; });
}

}  // namespace

TEST_CASE("onnx: a reshape on the way has no more dimensions than the larger shape") {
  OnnxMaker maker = one_node("Reshape", {2, 3, 2, 3, 2, 16});
  maker.graph->mutable_node(1)->add_input(maker.integers("to", {6, 12, 2, 2, 2, 2}));
  const Network network = import(maker);
  check_contract(network);
  CHECK(made_shape(network.graph, "y") == Sizes{6, 12, 2, 2, 2, 2});
  // Two are merged, three are merged, and what is split in four is first split in two: not 2, 3, 2, 3, 2, 2 and 8.
  CHECK(made_shape(network.graph, "y.part") == Sizes{6, 12, 2, 8});
}

TEST_CASE("onnx: constant integers do not grow without bound") {
  OnnxMaker maker = one_node("Reshape", {2, 4});
  std::string list = maker.integers("c", {1, 1, 1, 1});
  for (int i = 0; i < 40; ++i) {
    list = maker.node("Concat", {list, list}, "k" + std::to_string(i));
    maker.with("axis", 0);
  }
  maker.graph->mutable_node(1)->add_input(list);
  CHECK(test::contains(complaint(maker), "Concat 'k10': joins more than 4096 constant integers"));
}

TEST_CASE("onnx: views on the way have names of their own") {
  OnnxMaker maker = one_node("Reshape", {2, 6, 4});
  maker.graph->mutable_node(1)->add_input(maker.integers("to", {2, 4, 6}));
  maker.node("Relu", {"y"}, "y.part");
  maker.output("y.part");
  const Network network = import(maker);
  check_contract(network);
  CHECK(has_operator(network, "y.part.2"));
}

TEST_CASE("onnx: single numbers of more dimensions") {
  const auto combined = [](const std::string& type, const Sizes& shape, std::size_t rank, bool first) {
    OnnxMaker maker;
    maker.input("x", shape);
    maker.node("Relu", {"x"}, "r");
    const std::string number = single_number(maker, "c", rank);
    maker.node(type, first ? std::vector<std::string>{number, "r"} : std::vector<std::string>{"r", number}, "y");
    maker.output("y");
    return complaint(maker);
  };
  for (const std::string type : {"Mul", "Add", "Sub", "Div"})
    for (const bool first : {false, true}) {
      CHECK(combined(type, {2, 3}, 2, first).empty());
      // ONNX makes (1, 2, 3) of it.
      CHECK(test::contains(combined(type, {2, 3}, 3, first), "a number of shape (1, 1, 1) adds dimensions to (2, 3)"));
    }
  CHECK(combined("Pow", {3}, 1, false).empty());
  CHECK(test::contains(combined("Pow", {3}, 2, false), "a number of shape (1, 1) adds dimensions to (3)"));
}

TEST_CASE("onnx: integers of shapes keep the shape that ONNX gives them") {
  // [N] times a number without dimensions is a list of one.
  OnnxMaker product = samples_by_weight();
  product.node("Shape", {"r"}, "s");
  product.node("Gather", {"s", product.integers("zero", {0})}, "b");
  product.node("Mul", {"b", integer_tensor(product, "six", {}, {6})}, "b6");
  product.node("Concat", {product.integers("eight", {8}), "b6"}, "to");
  product.with("axis", 0);
  product.node("Reshape", {"r", "to"}, "y");
  product.output("y");
  CHECK(made_shape(import(product, 3).graph, "y") == Sizes{8, 18});
  // (1, 1) beside (3) is (1, 3), which is no list.
  OnnxMaker wide = samples_by_weight();
  wide.node("Add", {integer_tensor(wide, "one", {1, 1}, {1}), wide.integers("three", {1, 5, 7})}, "to");
  wide.node("Reshape", {"r", "to"}, "y");
  wide.output("y");
  CHECK(test::contains(complaint(wide, 3), "'to' is no constant list of integers"));
  // A list of one in the shape () is a number: it takes an element and drops the dimension.
  OnnxMaker number = samples_by_weight();
  number.node("Reshape", {number.integers("first", {1}), number.integers("none", {})}, "at");
  number.node("Gather", {"r", "at"}, "y");
  number.with("axis", 1);
  number.output("y");
  CHECK(made_shape(import(number, 3).graph, "y") == Sizes{3, 8});
  // 5 / 2 is 2 of integers and 2.5 of numbers.
  const auto halved = [](bool real) {
    OnnxMaker maker = samples_by_weight();
    std::vector<std::string> inputs{maker.integers("thirteen", {13}), maker.integers("two", {2})};
    for (std::string& each : inputs) {
      if (!real) continue;
      each = maker.node("Cast", {each}, each + "f");
      maker.with("to", 1);
    }
    maker.node("Div", inputs, "half");
    maker.node("Cast", {"half"}, "sixth");
    maker.with("to", 7);
    maker.node("Concat", {maker.integers("open", {-1}), "sixth"}, "to");
    maker.with("axis", 0);
    maker.node("Reshape", {"r", "to"}, "y");
    maker.output("y");
    return maker;
  };
  CHECK(made_shape(import(halved(false), 3).graph, "y") == Sizes{24, 6});
  CHECK(test::contains(complaint(halved(true), 3), "constants that are no list of known integers"));
}

TEST_CASE("onnx: a constant index stays a constant for others") {
  OnnxMaker maker;
  maker.input("x", {-1, 6, 8});
  maker.node("Gather", {maker.weight("table", {10, 8}), maker.integers("zero", {0})}, "row");
  maker.node("Add", {"x", "row"}, "q");
  maker.node("MatMul", {"q", maker.weight("w", {8, 8})}, "r");
  maker.node("Shape", {"r"}, "s");
  maker.node("Gather", {"s", "zero"}, "b");
  maker.node("Concat", {"b", maker.integers("open", {-1})}, "to");
  maker.with("axis", 0);
  maker.node("Reshape", {"r", "to"}, "y");
  maker.node("Gather", {"table", "zero"}, "again");
  maker.output("y");
  maker.output("again");
  const Network network = import(maker, 3);
  check_contract(network);
  CHECK(made_shape(network.graph, "y") == Sizes{3, 48});
  // x, the index, and targets of two losses.
  CHECK(network.graph.inputs().size() == 4);
}

TEST_CASE("onnx: a part of constant positions") {
  OnnxMaker maker;
  maker.input("x", {3, 5, 8});
  Sizes positions;
  for (std::int64_t i = 0; i < 9; ++i) positions.push_back(i);
  integer_tensor(maker, "all", {1, 9}, positions);
  maker.node("Slice", {"all", maker.integers("from", {0}), maker.integers("end", {5}), maker.integers("on", {1})}, "p");
  maker.node("Gather", {maker.weight("table", {9, 8}), "p"}, "rows");
  maker.node("Add", {"x", "rows"}, "q");
  maker.node("MatMul", {"q", maker.weight("w", {8, 8})}, "y");
  maker.output("y");
  const Network network = import(maker);
  check_contract(network);
  CHECK(made_shape(network.graph, "rows") == Sizes{1, 5, 8});
  CHECK(made_shape(network.graph, "y") == Sizes{3, 5, 8});
}

TEST_CASE("onnx: what only shapes are read of is left out") {
  OnnxMaker maker;
  maker.input("x", {2, 4});
  maker.input("form", {2, 1});
  maker.node("MatMul", {"x", maker.weight("w", {4, 4})}, "a");
  maker.node("MatMul", {"a", maker.weight("dead", {4, 2})}, "d");
  maker.node("Relu", {"d"}, "e");
  maker.node("Shape", {"e"}, "s");
  maker.node("Add", {"s", maker.integers("zeros", {0, 2})}, "to");
  maker.node("Reshape", {"a", "to"}, "y");
  maker.node("Shape", {"form"}, "f");
  maker.node("Reshape", {"y", maker.integers("flat", {-1, 1})}, "z");
  maker.output("z");
  maker.output("f");
  const Network network = import(maker);
  check_contract(network);
  CHECK(network.graph.parameter_elements() == 16);
  CHECK(network.graph.inputs().size() == 2);  // x and targets
  CHECK(!has_operator(network, "d"));
  CHECK(!has_operator(network, "e"));
  CHECK(made_shape(network.graph, "y") == Sizes{2, 4});
  // An output of which a shape alone is read has a loss.
  maker.output("e");
  CHECK(has_operator(import(maker), "loss.e"));
  check_contract(import(maker));
  // A part that a shape alone is read of.
  OnnxMaker parts = one_node("Relu", {2, 6});
  parts.add("Split", {"y"}, {"left", "right"});
  parts.with("axis", 1);
  parts.node("Shape", {"right"}, "s");
  parts.node("Reshape", {"left", "s"}, "z");
  parts.graph->clear_output();
  parts.output("z");
  check_contract(import(parts));
}

TEST_CASE("onnx: settings are no activations") {
  OnnxMaker maker;
  maker.input("x", {2, 4});
  maker.node("MatMul", {"x", maker.weight("w", {4, 4})}, "a");
  maker.node("MatMul", {"a", maker.weight("w2", {4, 1})}, "rows");
  maker.node("ReduceMean", {"rows"}, "e");
  OnnxMaker clipped = maker;
  clipped.graph = clipped.model.mutable_graph();
  maker.node("Pow", {"a", "e"}, "y");
  maker.output("y");
  CHECK(test::contains(complaint(maker), "Pow 'y': reads 'e', which the network computes, as a setting"));
  clipped.node("Clip", {"a", "", "e"}, "y");
  clipped.output("y");
  CHECK(test::contains(complaint(clipped), "Clip 'y': reads 'e', which the network computes, as a setting"));
}

TEST_CASE("onnx: constant nodes that are weights") {
  // A filter of one element, and a bias of one unit.
  OnnxMaker filter;
  filter.input("x", {2, 1, 5, 5});
  constant_values(filter, "f", {1, 1, 1, 1});
  filter.node("Conv", {"x", "f"}, "y");
  filter.output("y");
  CHECK(import(filter).graph.parameter_elements() == 1);
  OnnxMaker bias;
  bias.input("x", {2, 4});
  constant_values(bias, "c", {1});
  bias.node("Gemm", {"x", bias.weight("w", {4, 1}), "c"}, "y");
  bias.output("y");
  CHECK(import(bias).graph.parameter_elements() == 5);
  bias.graph->mutable_node(1)->set_input(2, bias.number("half", 0.5F));
  CHECK(import(bias).graph.parameter_elements() == 4);
  bias.graph->mutable_node(1)->set_input(2, bias.integers("nine", Sizes(9, 1)));
  CHECK(test::contains(complaint(bias), "adds (9) to (2, 1)"));
  // A layer reads it, before or after it is added: a parameter, once.
  for (const bool layer_first : {false, true}) {
    OnnxMaker table;
    table.input("x", {4, 4});
    constant_values(table, "t", {4, 4});
    table.node(layer_first ? "MatMul" : "Add", {"x", "t"}, "a");
    table.node("Transpose", {"t"}, "turned");
    table.node(layer_first ? "Add" : "MatMul", {"a", "turned"}, "y");
    table.output("y");
    const Network network = import(table);
    check_contract(network);
    CHECK(network.graph.parameter_elements() == 16);
  }
  // Pointwise operators alone: from outside. A single number of a list is computed with.
  OnnxMaker mask;
  mask.input("x", {3, 4});
  constant_values(mask, "m", {3, 4});
  constant_values(mask, "one", {1});
  mask.node("Sqrt", {"one"}, "root");
  mask.node("MatMul", {"x", mask.weight("w", {4, 4})}, "a");
  mask.node("Add", {"a", "m"}, "b");
  mask.node("Div", {"b", "root"}, "y");
  mask.output("y");
  const Network network = import(mask);
  check_contract(network);
  CHECK(network.graph.parameter_elements() == 16);
  CHECK(network.graph.inputs().size() == 3);
}

TEST_CASE("onnx: a long chain of what comes from outside") {
  OnnxMaker maker;
  std::string x = maker.input("x", {2, 4});
  constexpr int k_nodes = 20'000;
  for (int i = 0; i < k_nodes; ++i) x = maker.node("Relu", {x}, "r" + std::to_string(i));
  maker.output(x);
  CHECK(import(maker).graph.operators().size() == k_nodes + 1);
}

TEST_CASE("onnx: messages say why, and are short") {
  OnnxMaker loss;
  loss.input("x", {3, 2});
  loss.input("labels", {3}, onnx::TensorProto::INT64);
  loss.node("MatMul", {"x", loss.weight("w", {2, 2})}, "y");
  loss.node("SoftmaxCrossEntropyLoss", {"y", "labels"}, "loss");
  loss.node("Identity", {"loss"}, "z");
  loss.output("z");
  CHECK(test::contains(complaint(loss), "Identity 'z': reads 'loss', a loss"));
  OnnxMaker window = one_node("MaxPool", {2, 4, 4, 4});
  window.with("kernel_shape", Sizes(100'000, 2));
  CHECK(test::contains(complaint(window), "a window (2, 2, 2, 2, 2, 2, 2, 2, ... (100000 in all))"));
  const auto sliced = [](onnx::TensorProto::DataType type, const Sizes& shape, const Sizes& axes) {
    OnnxMaker maker;
    maker.input("x", shape, type);
    const Sizes from(axes.size(), 0), end(axes.size(), 1);
    maker.node("Slice", {"x", maker.integers("from", from), maker.integers("end", end), maker.integers("on", axes)},
               "y");
    maker.output("y");
    return complaint(maker);
  };
  CHECK(sliced(onnx::TensorProto::FLOAT, {2, 4}, {1, 0}).empty());
  CHECK(test::contains(sliced(onnx::TensorProto::FLOAT, {4}, {0}), "takes a part of a vector"));
  CHECK(
      test::contains(sliced(onnx::TensorProto::INT64, {2, 4}, {1}), "takes a part of integers that come from outside"));
  CHECK(test::contains(sliced(onnx::TensorProto::FLOAT, {2, 4}, {1, -1}), "axes (1, -1) that repeat one"));
}

TEST_CASE("onnx: files that onnx.checker refuses") {
  OnnxMaker axes = one_node("Unsqueeze", {3, 2});
  axes.graph->mutable_node(1)->add_input(axes.integers("axes", {0, 0}));
  CHECK(test::contains(complaint(axes), "axes (0, 0) that repeat one"));
  OnnxMaker output = one_node("Relu", {3, 2});
  output.output("nothing");
  CHECK(test::contains(complaint(output), "nothing makes the output 'nothing'"));
  OnnxMaker padding;
  padding.input("x", {2, 4, 7});
  padding.node("Conv", {"x", padding.weight("w", {4, 4, 3})}, "y");
  padding.with("auto_pad", std::string("SAME"));
  padding.output("y");
  CHECK(test::contains(complaint(padding), "auto_pad is 'SAME'"));
}

}  // namespace cairn::models
#endif
