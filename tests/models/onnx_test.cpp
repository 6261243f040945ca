// Networks read from ONNX files, which are made here: counts by hand, the built-in twin, and what is refused.
#include "cairn/models/onnx.h"

#include <algorithm>

#include "catch.h"
#include "onnx_checks.h"

namespace cairn::models {
TEST_CASE("onnx: a build without it says what to install") {
  if (can_import_onnx()) return;
  WARN("built without ONNX: libonnx-dev and libprotobuf-dev are missing, imports are not tested");
  CHECK_THROWS_AS(import_onnx("x.onnx"), core::CapabilityError);
}

TEST_CASE("onnx: a network is a name or a file") {
  CHECK(names_onnx_file("a/b.onnx"));
  CHECK(!names_onnx_file("alexnet"));
  CHECK(find_network("alexnet", 2).batch == 2);
  CHECK(test::contains(test::complaints([] { find_network("alexnt"); }), "did you mean 'alexnet'?"));
}

#ifdef CAIRN_HAS_ONNX
namespace {

// Three convolutions' worth of AlexNet: conv, relu, pool, flatten, gemm, relu, dropout, gemm.
OnnxMaker small_alexnet(std::int64_t batch) {
  OnnxMaker maker;
  maker.input("image", {batch, 3, 63, 63});
  maker.node("Conv", {"image", maker.weight("w1", {8, 3, 11, 11}), maker.weight("b1", {8})}, "conv1");
  maker.with("strides", Sizes{4, 4}).with("kernel_shape", Sizes{11, 11});
  maker.node("Relu", {"conv1"}, "relu1");
  maker.node("MaxPool", {"relu1"}, "pool1");
  maker.with("kernel_shape", Sizes{3, 3}).with("strides", Sizes{2, 2});
  maker.node("Conv", {"pool1", maker.weight("w2", {16, 8, 5, 5})}, "conv2");
  maker.with("pads", Sizes{2, 2, 2, 2});
  maker.node("Relu", {"conv2"}, "relu2");
  maker.node("Flatten", {"relu2"}, "flatten");
  maker.node("Gemm", {"flatten", maker.weight("w3", {32, 16 * 36}), maker.weight("b3", {32})}, "fc1");
  maker.with("transB", 1);
  maker.node("Relu", {"fc1"}, "relu3");
  maker.add("Dropout", {"relu3"}, {"drop", "mask"});
  maker.node("Gemm", {"drop", maker.weight("w4", {32, 10}), maker.weight("b4", {1, 10})}, "fc2");
  maker.output("fc2", {batch, 10});
  return maker;
}

// ResNet-50 as torchvision exports it, layer by layer of table 1 of He et al. 2016.
class ResNetMaker {
 public:
  OnnxMaker make() {
    maker_.input("image", {-1, 3, 224, 224});
    std::string x = relu(normal("image", 3, 64, 7, 2, 3));
    x = maker_.node("MaxPool", {x}, "pool1");
    maker_.with("kernel_shape", Sizes{3, 3}).with("strides", Sizes{2, 2}).with("pads", Sizes{1, 1, 1, 1});
    std::int64_t from = 64, channels = 64;
    for (const int blocks : {3, 4, 6, 3}) {
      for (int block = 0; block < blocks; ++block, from = 4 * channels) {
        const std::int64_t stride = block == 0 && channels > 64 ? 2 : 1;
        std::string y = relu(normal(x, from, channels, 1, 1, 0));
        y = relu(normal(y, channels, channels, 3, stride, 1));
        y = normal(y, channels, 4 * channels, 1, 1, 0);
        if (block == 0) x = normal(x, from, 4 * channels, 1, stride, 0);
        x = relu(maker_.node("Add", {y, x}, name("add")));
      }
      channels *= 2;
    }
    x = maker_.node("GlobalAveragePool", {x}, "mean");
    x = maker_.node("Flatten", {x}, "flatten");
    maker_.node("Gemm", {x, maker_.weight("fc.w", {1000, 2048}), maker_.weight("fc.b", {1000})}, "fc");
    maker_.with("transB", 1);
    maker_.output("fc", {-1, 1000});
    return maker_;
  }

 private:
  std::string name(const std::string& kind) { return kind + "." + std::to_string(++count_); }
  std::string relu(const std::string& x) { return maker_.node("Relu", {x}, name("relu")); }
  std::string normal(const std::string& x, std::int64_t from, std::int64_t to, std::int64_t taps, std::int64_t stride,
                     std::int64_t padding) {
    const std::string conv = name("conv"), norm = name("norm");
    maker_.node("Conv", {x, maker_.weight(conv + ".w", {to, from, taps, taps})}, conv);
    maker_.with("strides", Sizes{stride, stride}).with("pads", Sizes(4, padding));
    std::vector<std::string> inputs{conv};
    for (const char* each : {".gain", ".shift", ".mean", ".variance"})
      inputs.push_back(maker_.weight(norm + each, {to}));
    return maker_.node("BatchNormalization", inputs, norm);
  }

  OnnxMaker maker_;
  int count_ = 0;
};

}  // namespace

TEST_CASE("onnx: a small AlexNet, by hand") {
  const Network network = import(small_alexnet(4));
  CHECK(network.batch == 4);
  check_contract(network);
  CHECK(network.graph.parameter_elements() == 8 * 3 * 121 + 8 + 16 * 8 * 25 + 32 * 16 * 36 + 32 + 32 * 10 + 10);
  // (63 - 11) / 4 + 1 = 14 positions, (14 - 3) / 2 + 1 = 6.
  CHECK(listing(network.graph) ==
        std::vector<std::string>{"conv1: convolution b4 c3 h14 w14 r11 s11 n8", "relu1: relu b4 c8 h14 w14",
                                 "pool1: max-pool b4 c8 h6 w6 r3 s3", "conv2: convolution b4 c8 h6 w6 r5 s5 n16",
                                 "relu2: relu b4 c16 h6 w6", "flatten: reshape b4 c16 h6 w6", "fc1:  b4 n32 k576",
                                 "relu3: relu b4 n32", "drop: dropout b4 n32", "fc2:  b4 n10 k32",
                                 "loss.fc2: cross-entropy b4 n10"});
  CHECK(flops_of_network(network.graph) ==
        4.0 * (2 * 14 * 14 * 8 * 3 * 121 + 14 * 14 * 8 + 6 * 6 * 8 * 9 + 2 * 36 * 16 * 8 * 25 + 36 * 16 + 2 * 576 * 32 +
               32 + 2 * 32 + 2 * 320 + 4 * 10));
}

TEST_CASE("onnx: ResNet-50 is the built-in one") {
  const OnnxMaker maker = ResNetMaker().make();
  const Network network = import(maker, 8);
  check_contract(network);
  CHECK(network.graph.parameter_elements() == 25'557'032);
  const Network twin = build_network("resnet50", 8);
  CHECK(flops_of_network(network.graph, true) == flops_of_network(twin.graph, true));
  CHECK(flops_of_network(network.graph) == flops_of_network(twin.graph));
  // But for the flattened mean, a view.
  CHECK(network.graph.operators().size() == twin.graph.operators().size() + 1);
}

TEST_CASE("onnx: a transformer block") {
  OnnxMaker maker(17);
  constexpr std::int64_t l = 6, e = 16, h = 4;
  maker.input("tokens", {2, l}, onnx::TensorProto::INT64);
  maker.node("Gather", {maker.weight("table", {100, e}), "tokens"}, "embedded");
  maker.node("Add", {"embedded", maker.weight("positions", {1, l, e})}, "x");
  const std::string shape = maker.integers("heads", {2, l, h, e / h});
  for (const std::string each : {"q", "k", "v"}) {
    maker.node("MatMul", {"x", maker.weight("w" + each, {e, e})}, each + "p");
    maker.node("Add", {maker.weight("b" + each, {e}), each + "p"}, each + "b");
    maker.node("Reshape", {each + "b", shape}, each + "r");
    maker.node("Transpose", {each + "r"}, each);
    maker.with("perm", each == "k" ? Sizes{0, 2, 3, 1} : Sizes{0, 2, 1, 3});
  }
  maker.node("MatMul", {"q", "k"}, "scores");
  maker.node("Div", {"scores", maker.number("root", 2.0f)}, "scaled");
  maker.node("Softmax", {"scaled"}, "probabilities");
  maker.node("MatMul", {"probabilities", "v"}, "context");
  maker.node("Transpose", {"context"}, "together");
  maker.with("perm", Sizes{0, 2, 1, 3});
  maker.node("Reshape", {"together", maker.integers("joined", {0, 0, -1})}, "flat");
  maker.node("MatMul", {"flat", maker.weight("wo", {e, e})}, "out");
  maker.node("Add", {"out", "x"}, "residual");
  maker.node("LayerNormalization", {"residual", maker.weight("g", {e}), maker.weight("s", {e})}, "norm");
  maker.output("norm");
  for (const std::int64_t batch : {2, 5}) {
    const Network network = import(maker, batch);
    check_contract(network);
    CHECK(network.graph.parameter_elements() == 100 * e + l * e + 4 * e * e + 3 * e + 2 * e);
    // Four products of (e, e) a token, scores and contexts of l x l pairs.
    CHECK(flops_of_network(network.graph, true) == 2.0 * static_cast<double>(batch) * (4 * l * e * e + 2 * l * l * e));
    CHECK(made_shape(network.graph, "scores") == Sizes{batch, h, l, l});
    CHECK(made_shape(network.graph, "flat") == Sizes{batch, l, e});
    CHECK(network.graph.operators().back().variant == "squared-error");
  }
  const std::vector<std::string> lines = listing(import(maker).graph);
  const auto has = [&](const char* line) { return std::count(lines.begin(), lines.end(), line) == 1; };
  CHECK(has("embedded:  b2 l6 e16 v100"));
  CHECK(has("qp:  b2 l6 n16 k16"));
  CHECK(has("qr: reshape b2 l6 n4 ni4"));
}

TEST_CASE("onnx: a layer norm of small nodes, with the gradient of what is repeated") {
  OnnxMaker maker;
  maker.input("x", {3, 8});
  maker.node("MatMul", {"x", maker.weight("w", {8, 8})}, "y");
  maker.node("ReduceMean", {"y"}, "mean");
  maker.with("axes", Sizes{-1});
  maker.node("Sub", {"y", "mean"}, "centred");
  maker.node("Pow", {"centred", maker.number("two", 2.0f)}, "square");
  maker.node("ReduceMean", {"square"}, "variance");
  maker.with("axes", Sizes{-1});
  maker.node("Add", {"variance", maker.number("epsilon", 1e-5f)}, "safe");
  maker.node("Sqrt", {"safe"}, "deviation");
  maker.node("Div", {"centred", "deviation"}, "normal");
  maker.node("Mul", {"normal", maker.weight("gain", {8})}, "scaled");
  maker.node("Add", {"scaled", maker.weight("shift", {8})}, "z");
  maker.output("z");
  const Network network = import(maker);
  check_contract(network);
  CHECK(network.graph.parameter_elements() == 64 + 16);
  const ir::Operator& centred = network.graph.op(2);
  REQUIRE(centred.name == "centred");
  CHECK(centred.accesses[0].gradient == ir::InputGradient::passed);
  CHECK(centred.accesses[1].gradient == ir::InputGradient::computed);
  CHECK(centred.domain.footprint(centred.accesses[1].projection, centred.domain.box({})) == 3);
}

TEST_CASE("onnx: a parameter that repeats what it is added to") {
  OnnxMaker maker;
  maker.input("x", {3, 1});
  maker.node("MatMul", {"x", maker.weight("w", {1, 1})}, "y");
  maker.node("Add", {"y", maker.weight("row", {8})}, "z");
  maker.output("z");
  const Network network = import(maker);
  check_contract(network);
  CHECK(made_shape(network.graph, "z") == Sizes{3, 8});
  CHECK(!network.graph.op(1).accesses[1].addend);
}

TEST_CASE("onnx: grouped and dilated convolutions") {
  OnnxMaker maker;
  maker.input("x", {2, 8, 10, 10});
  maker.node("Conv", {"x", maker.weight("w1", {8, 1, 3, 3}), maker.weight("b1", {8})}, "depthwise");
  maker.with("group", 8);
  maker.node("Conv", {"depthwise", maker.weight("w2", {12, 4, 3, 3})}, "grouped");
  maker.with("group", 2).with("pads", Sizes{1, 1, 1, 1});
  maker.node("Conv", {"grouped", maker.weight("w3", {4, 12, 3, 3})}, "dilated");
  maker.with("dilations", Sizes{2, 2});
  maker.node("Relu", {"dilated"}, "y");
  maker.output("y");
  const Network network = import(maker);
  check_contract(network);
  CHECK(listing(network.graph)[0] == "depthwise: convolution b2 g8 h8 w8 r3 s3");
  CHECK(listing(network.graph)[1] == "grouped: convolution b2 g2 c4 h8 w8 r3 s3 n6");
  CHECK(listing(network.graph)[2] == "dilated: convolution b2 c12 h4 w4 r3 s3 n4");
  const auto read = [&](ir::OperatorId id, std::size_t access) {
    const ir::Operator& op = network.graph.op(id);
    return op.domain.footprint(op.accesses[access].projection, op.domain.box({}));
  };
  CHECK(read(0, 0) == 2 * 8 * 10 * 10);
  CHECK(read(0, 1) == 8 * 9);
  CHECK(read(1, 0) == 2 * 8 * 10 * 10);
  CHECK(read(1, 1) == 12 * 4 * 9);
  CHECK(read(2, 0) == 2 * 12 * 8 * 8);
}

TEST_CASE("onnx: views of any shape keep their elements") {
  const auto reshaped = [](const Sizes& from, const Sizes& to) {
    OnnxMaker maker = one_node("Reshape", from);
    maker.graph->mutable_node(1)->add_input(maker.integers("to", to));
    const Network network = import(maker);
    check_contract(network);
    return made_shape(network.graph, "y");
  };
  CHECK(reshaped({2, 6, 4}, {2, 24}) == Sizes{2, 24});
  CHECK(reshaped({2, 24}, {2, 6, -1}) == Sizes{2, 6, 4});
  CHECK(reshaped({2, 6, 4}, {2, 4, 6}) == Sizes{2, 4, 6});
  CHECK(reshaped({2, 3, 4, 5, 6}, {-1}) == Sizes{720});
  CHECK(reshaped({720}, {2, 3, 4, 5, 6}) == Sizes{2, 3, 4, 5, 6});
  CHECK(reshaped({2, 3, 2, 5, 2, 7}, {7, 2, 5, 2, 3, 2}) == Sizes{7, 2, 5, 2, 3, 2});
  CHECK(reshaped({2, 3, 2, 3, 2, 16}, {6, 12, 2, 2, 2, 2}) == Sizes{6, 12, 2, 2, 2, 2});
  CHECK(reshaped({2, 1, 1, 5}, {1, 10, 1}) == Sizes{1, 10, 1});
  CHECK(reshaped({1, 1}, {1}) == Sizes{1});
}

TEST_CASE("onnx: parts of tensors, and integers made of shapes") {
  OnnxMaker maker;
  maker.input("x", {-1, 6, 8});
  maker.node("Relu", {"x"}, "r");
  maker.add("Split", {"r", maker.integers("sizes", {3, 1, 4})}, {"a", "unread", "c"});
  maker.with("axis", 2);
  maker.node("Concat", {"c", "a"}, "joined");
  maker.with("axis", -1);
  maker.node("Gather", {"joined", maker.integers("first", {0})}, "one");
  maker.with("axis", 1);
  maker.node("Slice", {"joined", maker.integers("from", {1}), maker.integers("end", {1000}), maker.integers("on", {1})},
             "rest");
  // (N, 6, 8) -> (N, 6 * 7).
  maker.node("Shape", {"x"}, "shape");
  maker.node("Gather", {"shape", maker.integers("zero", {0})}, "samples");
  maker.node("Concat", {"samples", maker.integers("open", {-1})}, "target");
  maker.with("axis", 0);
  maker.node("Reshape", {"joined", "target"}, "flat");
  maker.node("Squeeze", {"one", maker.integers("middle", {1})}, "row");
  for (const char* each : {"rest", "flat", "row"}) maker.output(each);
  const Network network = import(maker, 4);
  check_contract(network);
  CHECK(made_shape(network.graph, "joined") == Sizes{4, 6, 7});
  CHECK(made_shape(network.graph, "rest") == Sizes{4, 5, 7});
  CHECK(made_shape(network.graph, "flat") == Sizes{4, 42});
  CHECK(made_shape(network.graph, "row") == Sizes{4, 7});
  CHECK(network.graph.outputs().size() == 3);
}

TEST_CASE("onnx: weights may be listed among the inputs, tied, transposed, and of no use") {
  OnnxMaker maker;
  maker.input("tokens", {-1, 3}, onnx::TensorProto::INT32);
  maker.input("table", {50, 8});
  maker.weight("table", {50, 8});
  maker.weight("unread", {1000});
  maker.node("Gather", {"table", "tokens"}, "x");
  maker.node("Transpose", {"table"}, "turned");
  maker.node("MatMul", {"x", "turned"}, "logits");
  maker.node("Relu", {"x"}, "dead");
  maker.output("logits");
  const Network network = import(maker, 2);
  check_contract(network);
  CHECK(network.graph.parameter_elements() == 400);
  CHECK(network.graph.inputs().size() == 2);  // tokens and targets
  CHECK(listing(network.graph).size() == 3);
  CHECK(network.graph.op(1).domain.find("n") >= 0);
}

TEST_CASE("onnx: nodes in any order, and a loss of the file's own") {
  OnnxMaker maker;
  maker.input("x", {-1, 4});
  maker.input("labels", {-1}, onnx::TensorProto::INT64);
  maker.add("SoftmaxCrossEntropyLoss", {"y", "labels"}, {"loss"});
  maker.node("Relu", {"m"}, "y");
  maker.node("MatMul", {"x", maker.weight("w", {4, 5})}, "m");
  maker.output("loss");
  const Network network = import(maker, 3);
  check_contract(network);
  CHECK(listing(network.graph) ==
        std::vector<std::string>{"m:  b3 n5 k4", "y: relu b3 n5", "loss: cross-entropy b3 n5"});
  CHECK(network.graph.outputs().size() == 1);
}

TEST_CASE("onnx: the batch") {
  CHECK(import(small_alexnet(-1), 16).batch == 16);
  CHECK(import(small_alexnet(4), 16).batch == 16);
  CHECK(flops_of_network(import(small_alexnet(4), 16).graph) == flops_of_network(import(small_alexnet(-1), 16).graph));
  CHECK(test::contains(complaint(small_alexnet(-1)), "batch: "));
  CHECK(test::contains(complaint(small_alexnet(-1)), "input 'image' of shape (N, 3, 63, 63)"));
  CHECK(test::contains(complaint(small_alexnet(-1)), "--batch 32"));
  CHECK(test::contains(complaint(small_alexnet(-1), 0), "a batch of 0 samples"));
  CHECK(test::contains(complaint(small_alexnet(-1), std::int64_t{1} << 40), "a dimension of 1099511627776"));
  OnnxMaker two;
  two.input("x", {2, 4});
  two.input("y", {1, 4});
  two.node("Add", {"x", "y"}, "z");
  two.node("MatMul", {"z", two.weight("w", {4, 4})}, "m");
  two.output("m");
  CHECK(import(two).batch == 2);
  CHECK(test::contains(complaint(two, 3), "has inputs of 2 and of 1 samples"));
}

TEST_CASE("onnx: operators that are unknown are listed at once") {
  OnnxMaker maker = small_alexnet(1);
  maker.node("LRN", {"image"}, "lrn1");
  maker.node("LRN", {"lrn1"}, "lrn2");
  maker.node("If", {"lrn2"}, "branch");
  onnx::AttributeProto* inner = maker.graph->mutable_node(maker.graph->node_size() - 1)->add_attribute();
  inner->set_name("then_branch");
  inner->set_type(onnx::AttributeProto::GRAPH);
  maker.add("Foo", {"branch"}, {"foo"}).set_domain("my.ops");
  const std::string all = complaint(maker);
  CHECK(test::contains(all, "onnx: operator 'LRN' is not supported: 2 nodes, the first 'lrn1'"));
  CHECK(test::contains(all, "operator 'If' is not supported: 1 node, the first 'branch' (graphs inside nodes"));
  CHECK(test::contains(all, "operator 'my.ops::Foo' is not supported: 1 node, the first 'foo'"));
}

TEST_CASE("onnx: files that are no graphs") {
  CHECK(test::contains(test::complaints([] { import_onnx("/nowhere/x.onnx"); }), "cannot be read"));
  CHECK(test::contains(test::complaints([] { import_onnx("/"); }), "cannot be read"));
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "cairn_test_bad.onnx";
  const auto with_bytes = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return test::complaints([&] { import_onnx(file); });
  };
  const std::string bytes = small_alexnet(1).bytes();
  CHECK(test::contains(with_bytes(bytes.substr(0, bytes.size() / 2)), "no ONNX file, or a truncated one"));
  CHECK(test::contains(with_bytes("model: alexnet\n"), "no ONNX file"));
  CHECK(test::contains(with_bytes(""), "no graph in it"));
  std::filesystem::resize_file(file, std::uintmax_t{1} << 31);
  CHECK(test::contains(test::complaints([&] { import_onnx(file); }), "larger than 2047 MiB"));
  std::filesystem::remove(file);
  CHECK(test::contains(complaint(OnnxMaker(6)), "version 6 of ONNX's operators"));
  OnnxMaker unstated;
  unstated.model.clear_opset_import();
  CHECK(test::contains(complaint(unstated), "no version of ONNX's operators is stated"));
  CHECK(test::contains(complaint(OnnxMaker()), "no output depends on an input"));
  OnnxMaker idle;
  idle.input("x", {1, 2});
  idle.output("x");
  CHECK(test::contains(complaint(idle), "no output depends on an input"));
}

TEST_CASE("onnx: graphs that cannot be run") {
  OnnxMaker cycle;
  cycle.input("x", {1, 2});
  cycle.node("Add", {"x", "c"}, "a");
  cycle.node("Relu", {"a"}, "b");
  cycle.node("Relu", {"b"}, "c");
  cycle.node("Relu", {"c"}, "after");
  cycle.output("after");
  CHECK(test::contains(complaint(cycle), "in a cycle: 'a', 'b', 'c' ("));
  OnnxMaker missing = one_node("Relu", {1, 2});
  missing.graph->mutable_node(1)->set_input(0, "nothing");
  CHECK(test::contains(complaint(missing), "node 'y' reads 'nothing', which nothing makes"));
  OnnxMaker twice = one_node("Relu", {1, 2});
  twice.graph->mutable_node(1)->set_output(0, "r");
  CHECK(test::contains(complaint(twice), "tensor 'r' is made twice"));
}

TEST_CASE("onnx: shapes that cannot be") {
  const auto input_complaint = [](const Sizes& shape) { return complaint(one_node("Relu", shape), 2); };
  CHECK(test::contains(input_complaint({-1, 3, -1}), "(N, 3, N) is open in other dimensions than the first"));
  CHECK(test::contains(input_complaint({}), "input 'x' has no shape"));
  CHECK(test::contains(input_complaint({2, -7}), "a dimension of -7"));
  CHECK(test::contains(input_complaint({2, 0}), "a dimension of 0"));
  CHECK(test::contains(input_complaint({2, std::int64_t{1} << 40}), "a dimension of 1099511627776"));
  CHECK(test::contains(input_complaint({2, 1 << 30, 1 << 30}), "2.31e+18 elements"));
  CHECK(test::contains(input_complaint({2, 1, 1, 1, 1, 1, 1}), "7 dimensions"));
  OnnxMaker stated = small_alexnet(2);
  stated.value("pool1", {2, 8, 7, 7});
  CHECK(test::contains(complaint(stated), "makes 'pool1' of shape (2, 8, 6, 6), and the file says (2, 8, 7, 7)"));
  OnnxMaker weight = small_alexnet(2);
  weight.graph->mutable_initializer(0)->set_dims(1, -3);
  CHECK(test::contains(complaint(weight), "tensor 'w1' has a dimension of -3"));
}

TEST_CASE("onnx: settings that a loop nest does not have") {
  const auto conv = [](const std::string& setting, const Sizes& values) {
    OnnxMaker maker;
    maker.input("x", {2, 4, 9, 9});
    maker.node("Conv", {"x", maker.weight("w", {4, 4, 3, 3})}, "y");
    maker.with(setting, values);
    maker.output("y");
    return complaint(maker);
  };
  CHECK(conv("strides", {2, 2}).empty());
  CHECK(test::contains(conv("strides", {1, 2}), "Conv 'y': strides (1, 2)"));
  CHECK(test::contains(conv("strides", {0, 0}), "strides are (0, 0)"));
  CHECK(test::contains(conv("pads", {0, 0, 1, 1}), "is padded by 0 and 1 on the two sides"));
  CHECK(test::contains(conv("dilations", {1, 2}), "dilations (1, 2)"));
  CHECK(test::contains(conv("dilations", {5, 5}), "reaches over 11 of 9 elements"));
  CHECK(test::contains(conv("kernel_shape", {5, 5}), "kernel_shape is not that of the weight"));
  CHECK(test::contains(conv("group", {2}), "attribute group is no integer"));
  const auto error_of = [](OnnxMaker maker) { return complaint(maker); };
  CHECK(test::contains(error_of(one_node("Conv", {1, 2, 5, 5})), "(1, 2, 5, 5) with a weight ()"));
  CHECK(test::contains(error_of(one_node("MatMul", {1, 2})), "(.., m, k) and (.., k, n) are due"));
  CHECK(test::contains(error_of(one_node("Concat", {4})), "joins vectors"));
  OnnxMaker open = one_node("Reshape", {2, 4});
  open.graph->mutable_node(1)->add_input("x");
  CHECK(test::contains(complaint(open), "'x' is no constant list of integers"));
  OnnxMaker wrong = one_node("Reshape", {2, 4});
  wrong.graph->mutable_node(1)->add_input(wrong.integers("to", {3, 3}));
  CHECK(test::contains(complaint(wrong), "takes (2, 4) for (3, 3)"));
  OnnxMaker mask = small_alexnet(1);
  mask.node("Relu", {"mask"}, "read");
  mask.output("read");
  CHECK(test::contains(complaint(mask), "reads 'mask', a further output that is not modelled"));
}
#endif

}  // namespace cairn::models
