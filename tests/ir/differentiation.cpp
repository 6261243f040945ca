// What differentiation appends, derived by hand.
#include <set>

#include "cairn/ir/model.h"
#include "catch.h"
#include "support/spine_models.h"

using namespace cairn;
using namespace cairn::testing;
using namespace cairn::testing::small_models;

namespace {

const ir::Operator& find(const ir::Graph& graph, const std::string& name) {
  for (const ir::Operator& op : graph.operators())
    if (op.name == name) return op;
  FAIL("no operator " << name);
  return graph.operators().front();
}
bool has(const ir::Graph& graph, const std::string& name) {
  return std::any_of(graph.operators().begin(), graph.operators().end(),
                     [&](const ir::Operator& op) { return op.name == name; });
}
ir::TensorId tensor_of(const ir::Graph& graph, const std::string& name) {
  for (std::size_t id = 0; id < graph.tensors().size(); ++id)
    if (graph.tensors()[id].name == name) return static_cast<ir::TensorId>(id);
  FAIL("no tensor " << name);
  return ir::k_no_tensor;
}
std::vector<std::string> names_of(const ir::Graph& graph, std::size_t from) {
  std::vector<std::string> names;
  for (std::size_t id = from; id < graph.operators().size(); ++id) names.push_back(graph.operators()[id].name);
  return names;
}
std::set<std::string> names_of(const ir::Graph& graph, const std::vector<ir::TensorId>& tensors) {
  std::set<std::string> names;
  for (const ir::TensorId id : tensors) names.insert(graph.tensor(id).name);
  return names;
}
double flops_of(const ir::Graph& graph, const ir::Operator& op, const loopnest::Sizes& sizes) {
  return ir::flops({.op = &op, .graph = &graph, .box = op.domain.box(sizes)});
}
double bytes_of(const ir::Graph& graph, const ir::Operator& op, const loopnest::Sizes& sizes) {
  return ir::bytes({.op = &op, .graph = &graph, .box = op.domain.box(sizes)});
}

constexpr loopnest::Sizes k_sizes{.batch = 2, .sequence = 8};

}  // namespace

TEST_CASE("Backward of a perceptron layer") {
  // x -> fc (weight, bias) -> rectifier. Backward, in order: rectifier, input gradient, weight gradient, bias gradient.
  const ir::Model model = multilayer_perceptron(10, 6, 4);
  const ir::Graph& body = model.classes[1].graph;
  REQUIRE(body.forward_count() == 2);
  REQUIRE(names_of(body, 2) == std::vector<std::string>{"rectifier.backward", "fc.input_gradient", "fc.weight_gradient",
                                                        "fc.bias_gradient"});
  // Batch 2, width 6: forward 2 x 2 x 6 x 6 = 144; each of the two gradients the same; the bias 2 x 6 additions.
  REQUIRE(flops_of(body, find(body, "fc"), k_sizes) == 144.0);
  REQUIRE(flops_of(body, find(body, "fc.input_gradient"), k_sizes) == 144.0);
  REQUIRE(flops_of(body, find(body, "fc.weight_gradient"), k_sizes) == 144.0);
  REQUIRE(flops_of(body, find(body, "fc.bias_gradient"), k_sizes) == 12.0);
  // fc in fp32: x 12, w 36, bias 6, y 12 elements.
  REQUIRE(bytes_of(body, find(body, "fc"), k_sizes) == 4.0 * (12 + 36 + 6 + 12));
  REQUIRE(bytes_of(body, find(body, "fc.input_gradient"), k_sizes) == 4.0 * (12 + 36 + 12));
  // The accumulator is read and written.
  REQUIRE(bytes_of(body, find(body, "fc.weight_gradient"), k_sizes) == 4.0 * (12 + 12 + 2 * 36));
  REQUIRE(bytes_of(body, find(body, "fc.bias_gradient"), k_sizes) == 4.0 * (12 + 2 * 6));
  // Data has no gradient, so the entry has no input gradient.
  const ir::Graph& entry = model.classes[0].graph;
  REQUIRE(names_of(entry, 2) ==
          std::vector<std::string>{"rectifier.backward", "fc.weight_gradient", "fc.bias_gradient"});
  REQUIRE(entry.gradient(tensor_of(entry, "data")) == ir::k_no_tensor);
  // A loss has no output: its backward is seeded by nothing.
  const ir::Graph& exit = model.classes[2].graph;
  REQUIRE(names_of(exit, 2) ==
          std::vector<std::string>{"loss.backward", "fc.input_gradient", "fc.weight_gradient", "fc.bias_gradient"});
}

TEST_CASE("Without fused accumulation a fresh gradient is written in the parameter's format and then added") {
  SmallModelOptions options;
  options.fused_accumulation = false;
  options.format = numerics::Format::bf16;
  const ir::Model model = multilayer_perceptron(10, 6, 4, options);
  const ir::Graph& body = model.classes[1].graph;
  REQUIRE(names_of(body, 2) == std::vector<std::string>{"rectifier.backward", "fc.input_gradient", "fc.weight_gradient",
                                                        "fc.weight_gradient.accumulate", "fc.bias_gradient"});
  // Written once in bf16 (2 bytes), not read.
  REQUIRE(bytes_of(body, find(body, "fc.weight_gradient"), k_sizes) == 2.0 * (12 + 12 + 36));
  // Read 36 in bf16; the accumulator (bf16 here, set by the model's option) read and written.
  REQUIRE(bytes_of(body, find(body, "fc.weight_gradient.accumulate"), k_sizes) == 2.0 * (36 + 2 * 36));
}

TEST_CASE("Saved activations of the perceptron") {
  const ir::Model model = multilayer_perceptron(10, 6, 4);
  const ir::Graph& body = model.classes[1].graph;
  // The weight gradient reads x, the rectifier its own output.
  REQUIRE(names_of(body, body.saved()) == std::set<std::string>{"x", "rectifier.out"});
  // Everything recomputed: what the forward operators read from outside.
  REQUIRE(names_of(body, body.saved({1, 1})) == std::set<std::string>{"x"});
  // Only the rectifier recomputed: its input has to stay instead.
  REQUIRE(names_of(body, body.saved({0, 1})) == std::set<std::string>{"x", "fc.out"});
  const ir::Graph& exit = model.classes[2].graph;
  REQUIRE(names_of(exit, exit.saved()) == std::set<std::string>{"x", "fc.out"});
}

TEST_CASE("Backward of a transformer block") {
  const ir::Model model = small_transformer();
  const ir::Graph& body = model.classes[1].graph;
  // residual2 passes its gradient to both sides and has no operator of its own; so do residual1. Where two gradients
  // meet, a sum.
  REQUIRE(names_of(body, body.forward_count()) ==
          std::vector<std::string>{
              "fc2.input_gradient", "fc2.weight_gradient", "activation.backward", "fc1.input_gradient",
              "fc1.weight_gradient", "norm2.backward", "norm2.parameter_gradient", "residual1.gradient_sum",
              "proj.input_gradient", "proj.weight_gradient", "attention.backward", "qkv.input_gradient",
              "qkv.weight_gradient", "norm1.backward", "norm1.parameter_gradient", "x.gradient_sum"});
  // The gradient of residual2 itself is what fc2 reads: nothing stands between.
  const ir::TensorId border = body.border_gradient(body.outputs().front());
  REQUIRE(body.gradient(body.outputs().front()) == border);
  REQUIRE(body.gradient(tensor_of(body, "fc2.out")) == border);
  // Plain contractions: backward twice forward.
  double forward = 0.0;
  double backward = 0.0;
  for (const char* name : {"qkv", "proj", "fc1", "fc2"}) {
    forward += flops_of(body, find(body, name), k_sizes);
    backward += flops_of(body, find(body, std::string(name) + ".input_gradient"), k_sizes) +
                flops_of(body, find(body, std::string(name) + ".weight_gradient"), k_sizes);
  }
  REQUIRE(forward == 2.0 * 16 * (16 * 48 + 16 * 16 + 2 * 16 * 32));  // 16 tokens, hidden 16, ffn 32
  REQUIRE(backward == 2.0 * forward);
  // Attention with its guard: b n s (s + 1) / 2 pairs of head_dim 4, 4 and 10 FLOPs each.
  const double pairs = 2.0 * 4 * 36 * 4;
  REQUIRE(flops_of(body, find(body, "attention"), k_sizes) == 4.0 * pairs);
  REQUIRE(flops_of(body, find(body, "attention.backward"), k_sizes) == 10.0 * pairs);
  const ir::Operator& attention = find(body, "attention");
  REQUIRE(ir::flops_full({.op = &attention, .graph = &body, .box = attention.domain.box(k_sizes)}) ==
          4.0 * 2 * 4 * 64 * 4);
  // One gradient tensor for the three slices of qkv.
  const ir::Operator& derived = find(body, "attention.backward");
  std::set<ir::TensorId> written;
  for (const ir::Access& access : derived.accesses)
    if (access.mode != ir::Mode::read) written.insert(access.tensor);
  REQUIRE(written == std::set<ir::TensorId>{body.gradient(tensor_of(body, "qkv.out"))});
}

TEST_CASE("Saved activations of a transformer block, with regions recomputed") {
  const ir::Model model = small_transformer();
  const ir::Graph& body = model.classes[1].graph;
  REQUIRE(names_of(body, body.saved()) == std::set<std::string>{"x", "norm1.out", "norm1.scale", "qkv.out", "context",
                                                                "logsumexp", "residual1", "norm2.out", "norm2.scale",
                                                                "fc1.out", "activation.out"});
  std::vector<char> attention(body.forward_count(), 0);
  for (std::size_t id = 0; id < body.forward_count(); ++id) attention[id] = body.operators()[id].region == "attention";
  // The context is made again from qkv; all else stays.
  REQUIRE(names_of(body, body.saved(attention)) == std::set<std::string>{"x", "norm1.out", "norm1.scale", "qkv.out",
                                                                         "residual1", "norm2.out", "norm2.scale",
                                                                         "fc1.out", "activation.out"});
  REQUIRE(names_of(body, body.saved(std::vector<char>(body.forward_count(), 1))) == std::set<std::string>{"x"});
}

TEST_CASE("An in-place operator is differentiated in place and saves one storage") {
  TransformerOptions options;
  options.in_place = true;
  const ir::Model model = small_transformer(options);
  const ir::Graph& body = model.classes[1].graph;
  const ir::TensorId inner = tensor_of(body, "fc1.out");
  const ir::TensorId out = tensor_of(body, "activation.out");
  REQUIRE(body.tensor(out).alias_of == inner);
  REQUIRE(body.tensor(body.gradient(inner)).alias_of == body.gradient(out));
  const auto saved = names_of(body, body.saved());
  REQUIRE(saved.count("fc1.out") == 1);  // the storage both names share
  REQUIRE(saved.count("activation.out") == 0);
}

TEST_CASE("A gradient that others still read is not overwritten in place") {
  // r = x + y, y = f(z) in the storage of z: the gradient of r goes to x as it is, so the gradient of z needs storage
  // of its own.
  ir::Graph graph;
  const auto shape = [&](const char* name) {
    return tensor(graph, name, {{"n", extent(4)}}, ir::Role::activation, numerics::Format::fp32);
  };
  const ir::TensorId x = shape("x");
  const ir::TensorId z = shape("z");
  graph.set_inputs({x, z});
  ir::Tensor in_place = graph.tensor(shape("y"));
  in_place.alias_of = z;
  const ir::TensorId y = graph.add_tensor(in_place);
  append(graph, operation("f", ir::Kind::pointwise, {{"n", extent(4)}}, 1.0, 1.0),
         {read(z, {at(0)}), write(y, {at(0)})}, {y});
  const ir::TensorId r = shape("r");
  append(graph, operation("add", ir::Kind::pointwise, {{"n", extent(4)}}, 1.0),
         {read(x, {at(0)}, ir::InputGradient::passed), read(y, {at(0)}, ir::InputGradient::passed), write(r, {at(0)})});
  graph.set_outputs({r});
  graph.differentiate({});
  REQUIRE(graph.gradient(x) == graph.border_gradient(r));
  REQUIRE(graph.gradient(z) != graph.gradient(x));
  REQUIRE(graph.tensor(graph.gradient(z)).alias_of == ir::k_no_tensor);
}

TEST_CASE("Parameters of fused operators get one reduction beside the fused derivative") {
  const ir::Model model = small_transformer();
  const ir::Graph& body = model.classes[1].graph;
  const ir::Operator& norm = find(body, "norm1.backward");
  const ir::Operator& gain = find(body, "norm1.parameter_gradient");
  REQUIRE(norm.kind == ir::Kind::reduce);
  REQUIRE(gain.kind == ir::Kind::reduce);
  // Both read the output's gradient and x, the scale; only the first reads the gain. 16 tokens of 16: bf16 activations.
  const double rows = 16 * 16 * 2.0;
  REQUIRE(bytes_of(body, norm, k_sizes) == rows + rows + 16 * 2.0 + 16 * 4.0 + rows);
  REQUIRE(bytes_of(body, gain, k_sizes) == rows + rows + 16 * 4.0 + 2 * 16 * 4.0);
  REQUIRE(flops_of(body, norm, k_sizes) == 7.0 * 256);
  REQUIRE(flops_of(body, gain, k_sizes) == 2.0 * 256);
  // An embedding is looked up; its gradient is scattered.
  const ir::Graph& entry = model.classes[0].graph;
  REQUIRE(names_of(entry, 1) == std::vector<std::string>{"embedding.parameter_gradient"});
  REQUIRE(find(entry, "embedding.parameter_gradient").kind == ir::Kind::scatter);
  REQUIRE(entry.saved().empty());
}

TEST_CASE("Convolution: transposed and weight gradients keep the window") {
  const ir::Model model = convolutional_network(8, 4, 10);
  const ir::Graph& body = model.classes[1].graph;
  const double forward = flops_of(body, find(body, "conv"), k_sizes);
  REQUIRE(forward == 2.0 * 2 * 4 * 8 * 8 * 4 * 9);
  REQUIRE(flops_of(body, find(body, "conv.input_gradient"), k_sizes) == forward);
  REQUIRE(flops_of(body, find(body, "conv.weight_gradient"), k_sizes) == forward);
  const ir::Operator& input = find(body, "conv.input_gradient");
  // Reads the inner part of the result's gradient and the weights, writes the whole rimmed map.
  REQUIRE(bytes_of(body, input, k_sizes) == 4.0 * (2 * 4 * 64 + 4 * 4 * 9 + 2 * 4 * 100));
  // No gradient of the image.
  REQUIRE_FALSE(has(model.classes[0].graph, "conv.input_gradient"));
  REQUIRE(has(model.classes[0].graph, "conv.weight_gradient"));
}

TEST_CASE("Recurrent cell: gradients of the state, of shared weights and of gate slices") {
  const ir::Model model = recurrent_network(5, 3, 2);
  const ir::Graph& body = model.classes[1].graph;
  // The gates' sum passes its gradient to both products; no gradient of the data.
  REQUIRE_FALSE(has(body, "from_x.input_gradient"));
  REQUIRE(body.gradient(tensor_of(body, "from_x.out")) == body.gradient(tensor_of(body, "gate.sum")));
  REQUIRE(body.gradient(tensor_of(body, "from_h.out")) == body.gradient(tensor_of(body, "gate.sum")));
  // 2 x 4 x 3 x (5 + 3) multiply-adds forward; without the input gradient of from_x backward is short of twice that by
  // 2 2 4 3 5.
  REQUIRE(flops_of(body, find(body, "from_x"), k_sizes) + flops_of(body, find(body, "from_h"), k_sizes) ==
          2.0 * 2 * 12 * 8);
  REQUIRE(flops_of(body, find(body, "gate.sum.bias_gradient"), k_sizes) == 2.0 * 12);
  // Shared by all steps: counted once, however many steps.
  REQUIRE(model.parameters() == 2 * 3 + 12 * (5 + 3 + 1) + (3 + 1) * 2);
}

TEST_CASE("Stored order is a topological order") {
  for (const ir::Model& model : {small_transformer(), multilayer_perceptron(10, 6, 4), convolutional_network(8, 4, 10),
                                 recurrent_network(5, 3, 2)})
    for (const ir::LayerClass& layer : model.classes) {
      const ir::Graph& graph = layer.graph;
      const auto order = ir::topological_order(graph);
      REQUIRE(order.size() == graph.operators().size());
      std::vector<std::size_t> place(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) place[static_cast<std::size_t>(order[i])] = i;
      for (std::size_t consumer = 0; consumer < graph.operators().size(); ++consumer)
        for (const ir::Access& access : graph.operators()[consumer].accesses) {
          const ir::OperatorId producer = graph.producer(access.tensor);
          if (access.mode != ir::Mode::read || producer < 0) continue;
          REQUIRE(producer < static_cast<ir::OperatorId>(consumer));  // as stored
          REQUIRE(place[static_cast<std::size_t>(producer)] < place[consumer]);
        }
    }
}

TEST_CASE("Model totals: parameters with ties once, forward FLOPs") {
  TransformerOptions options;
  // Per block: qkv 48 x 16, proj 16 x 16, fc1 and fc2 32 x 16 each, two gains of 16.
  constexpr std::int64_t k_block = 48 * 16 + 16 * 16 + 2 * 32 * 16 + 2 * 16;
  REQUIRE(small_transformer(options).parameters() == 4 * k_block + 64 * 16 + 16);
  options.tied = false;
  REQUIRE(small_transformer(options).parameters() == 4 * k_block + 2 * 64 * 16 + 16);
  // 16 tokens, 4 blocks; the look-up has none, the head has 64 x 16.
  const double products = 16.0 * (4 * (48 * 16 + 16 * 16 + 2 * 32 * 16) + 64 * 16);
  REQUIRE(small_transformer(options).forward_flops(k_sizes, false) == 2.0 * products + 4 * 4.0 * 2 * 4 * 64 * 4);
  REQUIRE(small_transformer(options).forward_flops(k_sizes, true) == 2.0 * products + 4 * 4.0 * 2 * 4 * 36 * 4);
}
