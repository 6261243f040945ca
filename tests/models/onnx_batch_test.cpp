// Another batch than the file's: which inputs and which dimensions of constant shapes follow it.
#include "cairn/models/onnx.h"
#include "catch.h"
#include "onnx_checks.h"

#ifdef CAIRN_HAS_ONNX
namespace cairn::models {
namespace {

constexpr std::int64_t k_mha_length = 5, k_mha_width = 12, k_mha_heads = 3, k_mha_head_size = 4;

// Self-attention of sequence-first layers: (l, batch heads, d) for each of q, k and v, and back. `middle`: the size of
// that dimension in the constant shapes; `rows`: of the flattened result.
OnnxMaker sequence_first(std::int64_t batch, std::int64_t middle, std::int64_t rows) {
  OnnxMaker maker;
  maker.input("x", {batch, k_mha_length, k_mha_width});
  maker.node("Transpose", {"x"}, "t");
  maker.with("perm", Sizes{1, 0, 2});
  const std::string heads = maker.integers("heads", {k_mha_length, middle, k_mha_head_size});
  for (const std::string each : {"q", "k", "v"}) {
    maker.node("MatMul", {"t", maker.weight("w" + each, {k_mha_width, k_mha_width})}, each + "p");
    maker.node("Reshape", {each + "p", heads}, each + "r");
    maker.node("Transpose", {each + "r"}, each);
    maker.with("perm", each == "k" ? Sizes{1, 2, 0} : Sizes{1, 0, 2});
  }
  maker.node("MatMul", {"q", "k"}, "scores");
  maker.node("Softmax", {"scores"}, "weights");
  maker.node("MatMul", {"weights", "v"}, "context");
  maker.node("Transpose", {"context"}, "back");
  maker.with("perm", Sizes{1, 0, 2});
  maker.node("Reshape", {"back", maker.integers("rows", {rows, k_mha_width})}, "y");
  maker.output("y");
  return maker;
}

void check_sequence_first(const Network& network, std::int64_t batch) {
  INFO(batch);
  check_contract(network);
  CHECK(made_shape(network.graph, "qr") == Sizes{k_mha_length, batch * k_mha_heads, k_mha_head_size});
  CHECK(made_shape(network.graph, "scores") == Sizes{batch * k_mha_heads, k_mha_length, k_mha_length});
  CHECK(made_shape(network.graph, "y") == Sizes{k_mha_length * batch, k_mha_width});
  // Three products of (e, e) a token, scores and contexts of l x l pairs.
  CHECK(flops_of_network(network.graph, true) ==
        2.0 * static_cast<double>(batch * (3 * k_mha_length * k_mha_width * k_mha_width +
                                           2 * k_mha_length * k_mha_length * k_mha_width)));
}

// x, a view in between, and a constant shape.
Sizes reshaped(const Sizes& from, const Sizes& order, const Sizes& to, std::int64_t batch) {
  OnnxMaker maker;
  maker.input("x", from);
  maker.node("Transpose", {"x"}, "t");
  maker.with("perm", order);
  maker.node("Reshape", {"t", maker.integers("to", to)}, "y");
  maker.output("y");
  const Network network = import(maker, batch);
  check_contract(network);
  return made_shape(network.graph, "y");
}

}  // namespace

TEST_CASE("onnx: another batch of sequence-first attention") {
  for (const std::int64_t batch : {1, 2, 3, 7, 32}) {
    check_sequence_first(import(sequence_first(4, 4 * k_mha_heads, k_mha_length * 4), batch), batch);
    check_sequence_first(import(sequence_first(1, -1, -1), batch), batch);
  }
  check_sequence_first(import(sequence_first(1, k_mha_heads, k_mha_length)), 1);
  // (5, 1, 12) for (5, 3, 4): (5 b, 3, 4) or (5, 3 b, 4).
  const std::string open = complaint(sequence_first(1, k_mha_heads, k_mha_length), 32);
  CHECK(test::contains(open, "takes (5, 32, 12) for the constant (5, 3, 4)"));
  CHECK(test::contains(open, "it is open which dimension gets the samples (export it with a symbol for the batch"));
}

TEST_CASE("onnx: the dimension of a constant shape that another batch goes to") {
  const Sizes same{0, 1, 2}, second{1, 0, 2}, last{1, 2, 0};
  CHECK(reshaped({2, 6, 8}, same, {12, 8}, 5) == Sizes{30, 8});
  CHECK(reshaped({2, 6, 8}, same, {2, 48}, 5) == Sizes{5, 48});
  CHECK(reshaped({2, 6, 8}, same, {-1, 48}, 5) == Sizes{5, 48});
  CHECK(reshaped({2, 6, 8}, same, {2, -1}, 5) == Sizes{5, 48});
  CHECK(reshaped({2, 6, 8}, same, {0, -1}, 5) == Sizes{5, 48});
  CHECK(reshaped({1, 6, 8}, same, {6, 8}, 5) == Sizes{30, 8});
  CHECK(reshaped({1, 6, 8}, same, {1, 48}, 5) == Sizes{5, 48});
  CHECK(reshaped({1, 6, 8}, same, {1, -1}, 5) == Sizes{5, 48});
  CHECK(reshaped({2, 6, 8}, second, {6, 2, 4, 2}, 5) == Sizes{6, 5, 4, 2});
  CHECK(reshaped({2, 6, 8}, second, {6, 8, 2}, 5) == Sizes{6, 20, 2});
  CHECK(reshaped({2, 6, 8}, second, {12, 8}, 5) == Sizes{30, 8});
  CHECK(reshaped({2, 6, 8}, second, {3, 4, 8}, 5) == Sizes{3, 10, 8});
  CHECK(reshaped({1, 6, 8}, second, {6, 1, 4, 2}, 5) == Sizes{6, 5, 4, 2});
  CHECK(reshaped({1, 6, 8}, second, {6, 1, -1}, 5) == Sizes{6, 5, 8});
  CHECK(reshaped({2, 6, 8}, last, {6, 16}, 5) == Sizes{6, 40});
  // Four samples are split into two by two.
  OnnxMaker halves;
  halves.input("x", {4, 6});
  halves.node("Reshape", {"x", halves.integers("to", {2, 12})}, "r");
  halves.node("Relu", {"r"}, "y");
  halves.output("y");
  CHECK(import(halves).batch == 4);
  CHECK(test::contains(complaint(halves, 8), "it is open which dimension gets the samples"));
  // What is made of shapes has the batch already.
  OnnxMaker shapes;
  shapes.input("x", {1, 6, 8});
  shapes.node("Shape", {"x"}, "s");
  shapes.node("Gather", {"s", shapes.integers("zero", {0})}, "b");
  shapes.node("Concat", {"b", shapes.integers("rest", {-1})}, "to");
  shapes.with("axis", 0);
  shapes.node("Reshape", {"x", "to"}, "y");
  shapes.output("y");
  CHECK(made_shape(import(shapes, 4).graph, "y") == Sizes{4, 48});
}

TEST_CASE("onnx: stated shapes follow another batch where the samples are") {
  const auto stated = [](const Sizes& shape, std::int64_t batch) {
    OnnxMaker maker;
    maker.input("x", {2, 4});
    maker.node("MatMul", {"x", maker.weight("w", {4, 6})}, "y");
    maker.output("y", shape);
    return complaint(maker, batch);
  };
  CHECK(stated({2, 6}, 4).empty());
  CHECK(stated({-1, 6}, 4).empty());
  CHECK(test::contains(stated({4, 3}, 4), "of shape (4, 6), and the file says (4, 3)"));
  CHECK(test::contains(stated({2, 3}, 4), "of shape (4, 6), and the file says (2, 3)"));
}

TEST_CASE("onnx: inputs that no output depends on have no batch") {
  for (const Sizes& unread : {Sizes{7, 4}, Sizes{-1, 4}, Sizes{0, 4}, Sizes{2, -1}, Sizes{}}) {
    OnnxMaker maker;
    maker.input("unread", unread);
    maker.input("x", {2, 4});
    maker.node("MatMul", {"x", maker.weight("w", {4, 4})}, "y");
    maker.output("y");
    CHECK(import(maker).batch == 2);
    const Network network = import(maker, 3);
    check_contract(network);
    CHECK(made_shape(network.graph, "y") == Sizes{3, 4});
  }
}

}  // namespace cairn::models
#endif
