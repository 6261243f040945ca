// Networks from ONNX files: the graph of an inference or of a training's forward pass becomes loop nests as those of
// network.h.
//
// Each node that a loss depends on becomes one operator, named like the node (by its first output where it has no
// name); a few become several views, and what can be computed from shapes and constants alone becomes none. A node that
// reads the shape of a tensor does not depend on its elements. Activations, parameters and what comes from outside:
//
//   initializers of floating-point numbers   parameters, but single numbers in pointwise operators
//   Constant nodes of floating-point numbers likewise, if a layer reads them (products, convolutions, norms, tables);
//                                            from outside where pointwise operators alone do (masks, tables of
//                                            positions). They are not computed with in advance, but single numbers
//   running statistics of batch norms        left out: nothing is trained in them
//   inputs that are no initializers          what comes from outside, indices where they are integers
//   outputs whose elements no node reads     get a loss, named "loss.<output>", so that the network trains: of a shape
//                                            (batch, classes) cross-entropy against classes from outside, of another a
//                                            squared error against values from outside. A softmax before it stays. A
//                                            SoftmaxCrossEntropyLoss of the file is taken for what it is. Where nodes
//                                            read all outputs, the last gets the loss.
//
// Operators (opset 7 on): Conv in one to three dimensions, grouped or dilated, but of one stride, of one dilation and
// padded alike on both sides; MaxPool, AveragePool, where ceil_mode adds no position, GlobalAveragePool, GlobalMaxPool;
// Gemm, whose C is a parameter or a single number, MatMul; Add, Sum of two, Sub, Mul, Div, with numpy's repetition;
// Relu, LeakyRelu, Sigmoid, Tanh, Clip, Elu, Softplus, HardSigmoid, HardSwish, Erf, Exp, Log, Sqrt, Pow, Neg, Abs,
// Reciprocal, Gelu, Dropout; BatchNormalization, LayerNormalization over the last dimension; Softmax, LogSoftmax;
// ReduceMean; Gather of rows of a table, or of one constant index; Flatten, Reshape, Transpose, Squeeze, Unsqueeze,
// Concat, Split, Slice of step 1 along constant bounds, Identity, Cast; Constant, Shape and what is computed from
// shapes. Exponents, bounds and other settings are constants; single numbers have no more dimensions than what they are
// combined with.
//
// FLOPs are those of network.h. A power and an error function count as one FLOP, so a GELU of several nodes counts what
// its nodes do. LogSoftmax is a "softmax"; a transposed or a split tensor is a view, as a product reads its operands in
// any order. Shapes follow from the inputs; where the file states others that is an error. Contents of tensors are not
// read, but shapes, axes and indices: weights outside the file need not be there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "cairn/models/network.h"

namespace cairn::models {

// Whether this build reads ONNX: it needs libonnx and protobuf.
bool can_import_onnx();

// The network of a file, named by its path.
// batch: samples, the extent of the first dimension of inputs that are read; needed where the file gives it a symbol
// (or none), and put in place of a number where all of them have the same. In constant shapes the dimension that has
// the samples follows it: the one into which their distance in elements falls, which a view keeps. With one sample in
// the file that may be either of two neighbours, (l, 1, k) to (l, h, d); then the import is refused, but where one of
// them is left open (-1) or is a 1 of its own. Samples that are outermost stay in front.
// Errors: core::CapabilityError in a build without ONNX; core::ConfigurationError at `batch`; at `onnx` for a file that
// is unreadable, truncated, or above 2 GiB, for operators that are unknown (all at once) or have subgraphs, for
// settings and shapes that they do not support, for cycles, for dimensions other than the batch that are open, and for
// constant shapes that do not tell which dimension another batch goes to.
Network import_onnx(const std::filesystem::path& file, std::optional<std::int64_t> batch = {});

inline constexpr std::string_view k_onnx_suffix = ".onnx";
// A name of network_names(), or a file: what ends in ".onnx".
bool names_onnx_file(std::string_view name_or_file);
Network find_network(std::string_view name_or_file, std::optional<std::int64_t> batch = {});

}  // namespace cairn::models
