// Networks against published sizes, counts by hand, and what network.h promises of every graph.
#include "cairn/models/network.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "catch.h"
#include "support/complaints.h"

namespace cairn::models {
namespace {

std::int64_t parameters_of(std::string_view network) { return build_network(network, 1).graph.parameter_elements(); }

double points_of(const ir::Operator& op) { return static_cast<double>(op.domain.points(op.domain.box({}))); }

double flops_of_all(const ir::Graph& graph) {
  double total = 0;
  for (const ir::Operator& op : graph.operators()) total += points_of(op) * op.flops_per_point;
  return total;
}

// Of one sample, in all convolutions and products.
std::int64_t multiply_adds(std::string_view network) {
  const Network built = build_network(network, 1);
  std::int64_t total = 0;
  for (const ir::Operator& op : built.graph.operators())
    if (op.kind == ir::Kind::contraction) total += op.domain.points(op.domain.box({}));
  return total;
}

// Operators by kind and variant.
std::map<std::string, int> census(std::string_view network) {
  static const std::map<ir::Kind, std::string> k_kinds{
      {ir::Kind::contraction, "contraction"}, {ir::Kind::pointwise, "pointwise"},
      {ir::Kind::reduce, "reduce"},           {ir::Kind::scan, "scan"},
      {ir::Kind::gather, "gather"},           {ir::Kind::opaque, "opaque"}};
  std::map<std::string, int> counts;
  const Network built = build_network(network, 1);
  for (const ir::Operator& op : built.graph.operators())
    ++counts[k_kinds.at(op.kind) + (op.variant.empty() ? "" : " ") + op.variant];
  return counts;
}

const ir::Operator& operator_named(const ir::Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.operators().begin(), graph.operators().end(),
                                  [&](const ir::Operator& op) { return op.name == name; });
  REQUIRE(found != graph.operators().end());
  return *found;
}

std::vector<std::int64_t> shape_of(const ir::Graph& graph, ir::TensorId id) {
  std::vector<std::int64_t> shape;
  for (const ir::TensorDim& dim : graph.tensor(id).dims) shape.push_back(dim.extent.at({}));
  return shape;
}

// The shape of what an operator makes first.
std::vector<std::int64_t> output_shape(const ir::Graph& graph, std::string_view name) {
  for (const ir::Access& access : operator_named(graph, name).accesses)
    if (access.mode != ir::Mode::read) return shape_of(graph, access.tensor);
  return {};
}

std::string dims_text(const ir::Operator& op) {
  std::string text;
  for (const auto& dim : op.domain.dims()) text += (text.empty() ? "" : " ") + dim.name;
  return text;
}

std::int64_t footprint(const ir::Operator& op, std::size_t access) {
  return op.domain.footprint(op.accesses[access].projection, op.domain.box({}));
}

bool writes_a_part(const ir::Operator& op) { return op.variant == "stack" || op.variant == "concat"; }

}  // namespace

TEST_CASE("networks: parameters as published, exact to the last one") {
  // torchvision's checkpoints.
  CHECK(parameters_of("vgg16") == 138'357'544);
  CHECK(parameters_of("resnet50") == 25'557'032);
  CHECK(parameters_of("resnet152") == 60'192'808);
  // Its inception_v3 has 27,161,264: less the auxiliary classifier (convolutions 768 x 128 and 128 x 768 x 25 with
  // norms of 2 x 128 and 2 x 768, 768 x 1000 + 1000) and the bias of the last layer.
  CHECK(parameters_of("inceptionv3") == 27'161'264 - (98'304 + 256 + 2'457'600 + 1'536 + 769'000) - 1'000);
  // BertForPreTraining of the transformers library, bert-large-uncased.
  CHECK(parameters_of("bert") == 336'226'108);
}

TEST_CASE("networks: parameters by hand") {
  // Five convolutions, c x n x taps; three products.
  CHECK(parameters_of("alexnet") == 3 * 96 * 121 + 96 * 256 * 25 + 256 * 384 * 9 + 384 * 384 * 9 + 384 * 256 * 9 +
                                        9216 * 4096 + 4096 * 4096 + 4096 * 1024);
  // Table, LSTM, last product.
  CHECK(parameters_of("rnnlm") == 2 * 100'000 * 2048 + 2 * 8 * 2048 * 2048);
  // Two tables and the head; 18 attentions of 4 e^2, 12 feed-forwards of 2 x 4 e^2, 30 norms of 2 e.
  CHECK(parameters_of("transformer-small") == 3 * 50'000 * 512 + 512 * 512 * (18 * 4 + 12 * 8) + 30 * 2 * 512);
  // Tables of 30522 + 512 + 2 rows and a norm; a layer has 12 e^2 in products, 4 e + 4 e + e in their biases, two norms
  // of 2 e; a transform with bias and norm, a bias for each token; pooler with bias, two classes.
  const std::int64_t e = 1024;
  CHECK(parameters_of("bert") == (30522 + 512 + 2) * e + 2 * e + 24 * (12 * e * e + 9 * e + 4 * e) + e * e + 3 * e +
                                     30522 + e * e + e + 2 * e + 2);
  // 3^3 taps; 512 filters of 4^3 positions are left.
  CHECK(parameters_of("cosmoflow") == 27 * (4 * 32 + 32 * 64 + 64 * 128 + 128 * 256 + 256 * 512) +
                                          (32 + 64 + 128 + 256 + 512) + 32'768 * 128 + 128 + 128 * 64 + 64 + 64 * 4 +
                                          4);
  // 187,767,399 rows of 128: the MLPerf reference states 24 billion. 27 vectors have 351 pairs.
  CHECK(parameters_of("dlrm") == 187'767'399 * std::int64_t{128} + 13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128 +
                                     (128 + 351) * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 +
                                     256 + 256 + 1);
}

TEST_CASE("networks: multiply-adds of a sample") {
  // Published: 15.47, 4.09 and 11.51 billion at 224 x 224; torchvision's table of weights.
  CHECK(static_cast<double>(multiply_adds("vgg16")) == Approx(15.47e9).epsilon(0.0005));
  CHECK(static_cast<double>(multiply_adds("resnet50")) == Approx(4.09e9).epsilon(0.001));
  CHECK(static_cast<double>(multiply_adds("resnet152")) == Approx(11.51e9).epsilon(0.001));
  // Of torchvision's inception_v3 5.71 without the auxiliary classifier.
  CHECK(static_cast<double>(multiply_adds("inceptionv3")) == Approx(5.71e9).epsilon(0.005));
  // AlexNet: positions x weights of each convolution, then the products.
  CHECK(multiply_adds("alexnet") == 55 * 55 * 34'848 + 27 * 27 * 614'400 + 13 * 13 * (884'736 + 1'327'104 + 884'736) +
                                        9216 * 4096 + 4096 * 4096 + 4096 * 1024);
  // CosmoFlow: half the side and twice the channels make a quarter from stage to stage, but from 4 channels to 32 to 64.
  const std::int64_t first = std::int64_t{128} * 128 * 128 * 27 * 4 * 32;
  CHECK(multiply_adds("cosmoflow") ==
        first + 2 * first + first + first / 2 + first / 4 + 32'768 * 128 + 128 * 64 + 256);
  // DLRM: the products of all 27 x 27 pairs, beside the weights of its layers.
  CHECK(multiply_adds("dlrm") ==
        13 * 512 + 512 * 256 + 256 * 128 + 27 * 27 * 128 + 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256);
}

TEST_CASE("networks: an LSTM is eight products a layer") {
  const Network network = build_network("rnnlm", 2);
  const ir::Operator& lstm = operator_named(network.graph, "lstm");
  CHECK(dims_text(lstm) == "layer seq b n k");
  CHECK(points_of(lstm) * lstm.flops_per_point == 2.0 * 256 * 2 * 2 * 8 * 2048 * 2048);
  // x, eight slices of the weight, y: the slices are all of it.
  REQUIRE(lstm.accesses.size() == 10);
  const ir::TensorId weight = lstm.accesses[1].tensor;
  std::int64_t read = 0;
  for (std::size_t i = 1; i <= 8; ++i) {
    CHECK(lstm.accesses[i].tensor == weight);
    CHECK(lstm.accesses[i].projection.back().offset == static_cast<std::int64_t>(i) - 1);
    read += footprint(lstm, i);
  }
  CHECK(read == network.graph.tensor(weight).elements({}));
}

TEST_CASE("networks: operators of the prototype, counted there") {
  using Census = std::map<std::string, int>;
  // Its 13 vertices but that a view there counts as two, and the seven functions that it has inside them.
  CHECK(census("alexnet") == Census{{"contraction convolution", 5},
                                    {"reduce max-pool", 3},
                                    {"opaque reshape", 1},
                                    {"contraction", 3},
                                    {"reduce cross-entropy", 1},
                                    {"pointwise relu", 7}});
  // Blocks A (3), B, C (4), D, E (2) have 7, 4, 10, 6, 9 convolutions after the stem's 5; E three concats, others one.
  CHECK(census("inceptionv3") == Census{{"contraction convolution", 94},
                                        {"reduce batch-norm", 94},
                                        {"pointwise relu", 94},
                                        {"opaque concat", 15},
                                        {"reduce max-pool", 4},
                                        {"reduce average-pool", 9},
                                        {"reduce mean", 1},
                                        {"contraction", 1},
                                        {"reduce cross-entropy", 1}});
  CHECK(census("rnnlm") == Census{{"gather", 1}, {"scan lstm", 1}, {"contraction", 1}, {"reduce cross-entropy", 1}});
  // 99 products there, of which two are embeddings; 6 x 2 + 6 x 3 blocks are added and normalised.
  CHECK(census("transformer-small") == Census{{"gather", 2},
                                              {"contraction", 97},
                                              {"pointwise add", 32},
                                              {"reduce layer-norm", 30},
                                              {"reduce softmax", 18},
                                              {"opaque stack", 6},
                                              {"opaque unstack", 18},
                                              {"pointwise relu", 12},
                                              {"pointwise dropout", 12},
                                              {"reduce cross-entropy", 1}});
}

TEST_CASE("networks: shapes along the way") {
  using Shape = std::vector<std::int64_t>;
  const ir::Graph alexnet = build_network("alexnet", 2).graph;
  CHECK(output_shape(alexnet, "conv1") == Shape{2, 96, 55, 55});
  CHECK(output_shape(alexnet, "pool2") == Shape{2, 256, 13, 13});
  CHECK(output_shape(alexnet, "flatten") == Shape{2, 9216});
  const ir::Graph inception = build_network("inceptionv3", 2).graph;
  CHECK(output_shape(inception, "mixed5b.concat") == Shape{2, 256, 35, 35});
  CHECK(output_shape(inception, "mixed5d.concat") == Shape{2, 288, 35, 35});
  CHECK(output_shape(inception, "mixed6e.concat") == Shape{2, 768, 17, 17});
  CHECK(output_shape(inception, "mixed7a.concat") == Shape{2, 1280, 8, 8});
  CHECK(output_shape(inception, "mixed7c.concat") == Shape{2, 2048, 8, 8});
  const ir::Graph transformer = build_network("transformer-small", 2).graph;
  CHECK(output_shape(transformer, "decoder.3.cross.stack") == Shape{3, 2, 256, 512});
  CHECK(output_shape(transformer, "decoder.3.cross.qkv") == Shape{3, 2, 8, 256, 64});
  CHECK(output_shape(transformer, "decoder.3.cross.scores") == Shape{2, 8, 256, 256});
  CHECK(dims_text(operator_named(transformer, "decoder.3.cross.qkv")) == "s b h l k e");
  CHECK(output_shape(build_network("resnet50", 2).graph, "layer4.1.project") == Shape{2, 2048, 7, 7});
  CHECK(output_shape(build_network("dlrm", 2).graph, "interaction.concat") == Shape{2, 479});
  CHECK(output_shape(build_network("cosmoflow", 2).graph, "flatten") == Shape{2, 32'768});
}

TEST_CASE("networks: convolutions see their windows") {
  const ir::Graph graph = build_network("alexnet", 2).graph;
  const ir::Operator& conv1 = operator_named(graph, "conv1");
  CHECK(dims_text(conv1) == "b c h w r s n");
  // Windows of 11 every 4 cover all 227: 54 x 4 + 11.
  CHECK(footprint(conv1, 0) == 2 * 3 * 227 * 227);
  // Half of the rows: 28 windows of 55, 27 x 4 + 11 rows.
  loopnest::Box half = conv1.domain.box({});
  half[2].end = 28;
  CHECK(conv1.domain.footprint(conv1.accesses[0].projection, half) == 2 * 3 * 119 * 227);
  // Windows of 5 with padding 2 reach two elements beside 27 positions on each side.
  CHECK(footprint(operator_named(graph, "conv2"), 0) == 2 * 96 * 31 * 31);

  const ir::Graph volumes = build_network("cosmoflow", 1).graph;
  const ir::Operator& conv = operator_named(volumes, "conv2");
  CHECK(dims_text(conv) == "b c d h w q r s n");
  CHECK(footprint(conv, 0) == 32 * 66 * 66 * 66);
  CHECK(footprint(conv, 1) == 64 * 32 * 27);
}

TEST_CASE("networks: embeddings visit the rows that the samples choose") {
  const ir::Graph graph = build_network("dlrm", 16).graph;
  // Table 0 has 40 million rows, of which 16 are read; table 5 has three.
  CHECK(footprint(operator_named(graph, "embedding.0"), 0) == 16 * 128);
  CHECK(footprint(operator_named(graph, "embedding.5"), 0) == 3 * 128);
  const ir::Operator& pairs = operator_named(graph, "interaction.pairs");
  CHECK(footprint(pairs, 0) == 16 * 351);
}

TEST_CASE("networks: what network.h promises of every graph") {
  for (const std::string_view name : network_names()) {
    INFO(name);
    const Network network = build_network(name, 2);
    const ir::Graph& graph = network.graph;
    std::set<std::string> names;
    std::set<ir::TensorId> made(graph.inputs().begin(), graph.inputs().end());
    for (const ir::Operator& op : graph.operators()) {
      INFO(op.name);
      CHECK(names.insert(op.name).second);
      int last_place = 0;
      for (const ir::Access& access : op.accesses) {
        const ir::Tensor& tensor = graph.tensor(access.tensor);
        const bool read = access.mode == ir::Mode::read;
        const bool parameter = tensor.role == ir::Role::parameter, index = tensor.role == ir::Role::index;
        if (read) CHECK((parameter || made.contains(access.tensor)));
        const int place = !read ? 3 : index ? 2 : parameter ? 1 : 0;
        CHECK(place >= last_place);
        last_place = place;
        const bool outside = std::count(graph.inputs().begin(), graph.inputs().end(), access.tensor) > 0;
        CHECK((access.gradient == ir::InputGradient::none) == (!read || outside));
      }
      for (const ir::Access& access : op.accesses) {
        if (access.mode == ir::Mode::read) continue;
        made.insert(access.tensor);
        if (!writes_a_part(op))
          CHECK(op.domain.footprint(access.projection, op.domain.box({})) == graph.tensor(access.tensor).elements({}));
      }
    }
    for (const ir::TensorId output : graph.outputs()) CHECK(made.contains(output));
  }
}

TEST_CASE("networks: stored order is an order of dependencies, and nothing is left over") {
  for (const std::string_view name : network_names()) {
    INFO(name);
    const ir::Graph graph = build_network(name, 1).graph;
    std::vector<ir::OperatorId> sorted = ir::topological_order(graph);
    std::sort(sorted.begin(), sorted.end());
    std::vector<ir::OperatorId> stored(graph.operators().size());
    std::iota(stored.begin(), stored.end(), 0);
    CHECK(sorted == stored);
    std::vector<char> read(graph.tensors().size(), 0);
    for (ir::OperatorId id : stored)
      for (const ir::Access& access : graph.op(id).accesses)
        if (access.mode == ir::Mode::read) {
          CHECK(graph.producer(access.tensor) < id);
          read[static_cast<std::size_t>(access.tensor)] = 1;
        }
    // Every activation and parameter has a reader; statistics and losses have none.
    for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
      INFO(graph.tensors()[id].name);
      CHECK((read[id] != 0) == !graph.tensors()[id].statistic);
    }
  }
}

TEST_CASE("networks: FLOPs grow with the batch, parameters do not") {
  for (const std::string_view name : network_names()) {
    INFO(name);
    const ir::Graph one = build_network(name, 1).graph, three = build_network(name, 3).graph;
    CHECK(flops_of_all(three) == 3 * flops_of_all(one));
    CHECK(three.parameter_elements() == one.parameter_elements());
  }
}

TEST_CASE("networks: default batches, and mistakes") {
  CHECK(build_network("alexnet").batch == 128);
  CHECK(build_network("dlrm").batch == 2048);
  const auto complaint = [](std::string_view name, std::optional<std::int64_t> batch) {
    return test::complaints([&] { build_network(name, batch); });
  };
  CHECK(test::contains(complaint("resnet5O", {}), "did you mean 'resnet50'?"));
  CHECK(test::contains(complaint("inception", {}), "did you mean 'inceptionv3'?"));
  CHECK(test::contains(complaint("qqq", {}), "known: alexnet vgg16"));
  CHECK(test::contains(complaint("alexnet", 0), "a batch of 0 samples"));
}

}  // namespace cairn::models
