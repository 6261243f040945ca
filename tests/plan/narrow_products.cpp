// Products in a narrow format: casts, copies, what is kept and what travels, against counts by hand.
//
// Two products, b = 2, s = 8, h = 8, f = 16: the stream has 128 elements, the inner tensor 256, each weight 128; bf16
// between products.
#include "cairn/ir/narrow.h"
#include "cairn/plan/lowering.h"

#include "catch.h"
#include "support/spine_models.h"
#include "support/transfers.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using numerics::Format;
using program::Collective;

namespace {

constexpr auto k_gather = Collective::all_gather;
constexpr auto k_scatter = Collective::reduce_scatter;
constexpr auto k_reduce = Collective::all_reduce;

ir::NarrowProducts fp8(ir::SecondCopy second, bool gathered = false) {
  ir::NarrowProducts narrow;
  narrow.second_copy = second;
  narrow.own_parts = {"ffn"};
  narrow.gathered = gathered;
  return narrow;
}
ir::NarrowProducts mxfp8(bool gathered) {
  ir::NarrowProducts narrow = fp8(ir::SecondCopy::quantised, gathered);
  narrow.activations = narrow.weights = narrow.gradients = Format::mxfp8;
  return narrow;
}

ir::Model narrowed(const ir::NarrowProducts& narrow) {
  ir::Model model = two_products();
  ir::narrow_products(model.classes[0].graph, narrow);
  return model;
}

plan::LayerLowering lowered(const ir::Model& model, std::int64_t t) {
  plan::LayerOptions o;
  o.sizes = {.batch = 2, .sequence = 8};
  plan::Strategy s;
  s.tensor = t;
  s.sequence_parallel = t > 1;
  o.rules = plan::split_rules(s);
  o.groups = {{.axis = program::Axis::tensor, .size = t, .stride = 1}};
  return plan::LayerLowering(model.classes[0], o);
}

double bytes_of(const ir::Model& model, const std::string& name) {
  const ir::Graph& graph = model.classes[0].graph;
  for (const ir::Operator& op : graph.operators())
    if (op.name == name)
      return ir::bytes({.op = &op, .graph = &graph, .box = op.domain.box({.batch = 2, .sequence = 8})});
  FAIL("no operator " << name);
  return 0.0;
}
std::vector<std::string> names_of(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Operator& op : graph.operators()) names.push_back(op.name);
  return names;
}

}  // namespace

TEST_CASE("One scale per tensor, units that want the summed dimension innermost: casts write two copies") {
  const ir::Model model = narrowed(fp8(ir::SecondCopy::transposed));
  REQUIRE(names_of(model.classes[0].graph) == std::vector<std::string>{"fc1.input_cast", "fc1", "fc2.input_cast", "fc2",
                                                                       "fc2.gradient_cast", "fc2.input_gradient",
                                                                       "fc2.weight_gradient", "fc1.gradient_cast",
                                                                       "fc1.input_gradient", "fc1.weight_gradient"});
  REQUIRE(bytes_of(model, "fc1.input_cast") == 128 * (2 + 1 + 1));
  REQUIRE(bytes_of(model, "fc2.input_cast") == 256 * (2 + 1 + 1));
  REQUIRE(bytes_of(model, "fc1") == 128 * 1 + 128 * 1 + 256 * 2);
  // dW: two narrow operands, an fp32 accumulator read and written.
  REQUIRE(bytes_of(model, "fc1.weight_gradient") == 256 * 1 + 128 * 1 + 128 * 4 * 2);
  // Kept: one narrow copy of each input, in place of two bytes per element.
  REQUIRE(lowered(model, 1).state().saved_bytes == 128 + 256);
  const ir::Model wide = two_products();
  REQUIRE(lowered(wide, 1).state().saved_bytes == 2 * (128 + 256));
  REQUIRE(lowered(model, 1).state().parameter_elements() == lowered(wide, 1).state().parameter_elements());
}

TEST_CASE("Units that take any layout: one copy serves forward and weight gradient") {
  const ir::Model model = narrowed(fp8(ir::SecondCopy::shared));
  REQUIRE(bytes_of(model, "fc1.input_cast") == 128 * (2 + 1));
  REQUIRE(bytes_of(model, "fc1.gradient_cast") == 256 * (2 + 1));
  REQUIRE(lowered(model, 1).state().saved_bytes == 128 + 256);
}

TEST_CASE("Blocks lie along the summed dimension: both copies come from the wide tensor, scales included") {
  const ir::Model model = narrowed(mxfp8(false));
  REQUIRE(bytes_of(model, "fc1.input_cast") == 128 * (2 + 2 * 8.25 / 8));
  REQUIRE(lowered(model, 1).state().saved_bytes == (128 + 256) * 8.25 / 8);
}

TEST_CASE("Scales from the tensor's own maximum: it is read once more") {
  ir::NarrowProducts narrow = fp8(ir::SecondCopy::transposed);
  narrow.finds_maxima = true;
  const ir::Model model = narrowed(narrow);
  // The stream's maximum is one fp32 number; the inner tensor's are one for each part a rank may hold.
  REQUIRE(bytes_of(model, "fc1.input_maximum") == 128 * 2 + 4);
  REQUIRE(bytes_of(model, "fc1.input_cast") == 128 * (2 + 1 + 1) + 4);
  REQUIRE(bytes_of(model, "fc2.input_maximum") == 256 * 2 + 16 * 4);
}

TEST_CASE("Activations kept wide are cast again in backward") {
  ir::NarrowProducts narrow = fp8(ir::SecondCopy::transposed);
  narrow.save_wide = true;
  const ir::Model model = narrowed(narrow);
  REQUIRE(bytes_of(model, "fc1.input_cast") == 128 * (2 + 1));
  REQUIRE(bytes_of(model, "fc1.input_again_cast") == 128 * (2 + 1));
  REQUIRE(lowered(model, 1).state().saved_bytes == 2 * (128 + 256));
}

TEST_CASE("Operators that write a transposed copy are the library's, others are not") {
  const auto library = [](ir::NarrowProducts narrow) {
    narrow.transposing = "library";
    std::vector<std::string> names;
    const ir::Model model = narrowed(narrow);
    for (const ir::Operator& op : model.classes[0].graph.operators())
      if (op.variant == "library") names.push_back(op.name);
    return names;
  };
  REQUIRE(library(fp8(ir::SecondCopy::transposed)) ==
          std::vector<std::string>{"fc1.input_cast", "fc2.input_cast", "fc2.gradient_cast", "fc1.gradient_cast"});
  REQUIRE(library(fp8(ir::SecondCopy::shared)).empty());
  REQUIRE(library(mxfp8(false)).empty());
  // Gathered rows are transposed where they arrive, after a cast that writes one copy.
  REQUIRE(
      library(fp8(ir::SecondCopy::transposed, true)) ==
      std::vector<std::string>{"fc2.input_cast", "fc2.gradient_transpose", "fc1.gradient_cast", "fc1.input_transpose"});
}

TEST_CASE("Products that accumulate in two stages are those asked for, if they are narrow") {
  const auto split_of = [](const ir::NarrowProducts& narrow) {
    std::vector<std::string> names;
    const ir::Model model = narrowed(narrow);
    for (const ir::Operator& op : model.classes[0].graph.operators())
      if (op.split_accumulation) names.push_back(op.name);
    return names;
  };
  ir::NarrowProducts narrow = fp8(ir::SecondCopy::transposed);
  REQUIRE(split_of(narrow).empty());
  narrow.split_accumulation = {.input_gradient = true, .weight_gradient = true};
  REQUIRE(split_of(narrow) == std::vector<std::string>{"fc2.input_gradient", "fc2.weight_gradient",
                                                       "fc1.input_gradient", "fc1.weight_gradient"});
  narrow.weight_gradient = false;
  narrow.split_accumulation.forward = true;
  REQUIRE(split_of(narrow) == std::vector<std::string>{"fc1", "fc2", "fc2.input_gradient", "fc1.input_gradient"});
}

TEST_CASE("Only some of the products narrow") {
  ir::NarrowProducts narrow = fp8(ir::SecondCopy::transposed);
  narrow.weight_gradient = false;
  const ir::Model model = narrowed(narrow);
  REQUIRE(bytes_of(model, "fc1.weight_gradient") == 256 * 2 + 128 * 2 + 128 * 4 * 2);
  REQUIRE(lowered(model, 1).state().saved_bytes == 2 * (128 + 256));
  narrow.weight_gradient = true;
  narrow.input_gradient = false;
  const ir::Model other = narrowed(narrow);
  REQUIRE(bytes_of(other, "fc1.input_gradient") == 256 * 2 + 128 * 2 + 128 * 2);  // reads the wide weight
  REQUIRE(bytes_of(other, "fc1") == 128 * 1 + 128 * 1 + 256 * 2);
  REQUIRE(lowered(other, 1).state().parameter_elements() == 256);
}

TEST_CASE("Whichever products are narrow, parameters and the gradients that ranks reduce are the same") {
  plan::GradientSync sync;
  sync.collective = k_reduce;
  for (const program::ParameterGroup group : program::k_all_parameter_groups)
    sync.copies[group] = sync.replicas[group] = {.axis = program::Axis::data};
  sync.copies[program::ParameterGroup::dense].size = 2;
  sync.bytes_per_element = 4.0;
  for (int products = 0; products < 8; ++products) {
    ir::NarrowProducts narrow = fp8(ir::SecondCopy::shared);
    narrow.forward = (products & 1) != 0;
    narrow.input_gradient = (products & 2) != 0;
    narrow.weight_gradient = (products & 4) != 0;
    CAPTURE(products);
    const ir::Model model = narrowed(narrow);
    REQUIRE(lowered(model, 1).state().parameter_elements() == 128 + 128);
    double reduced = 0.0;
    for (const auto& [collective, bytes] : transfers(lowered(model, 1).backward(sync), program::Axis::data))
      reduced += bytes;
    REQUIRE(reduced == 4.0 * (128 + 128));
  }
}

TEST_CASE("Gathers move the narrow copy; one that is transposed afterwards travels once") {
  const ir::Model transposed = narrowed(fp8(ir::SecondCopy::transposed, true));
  const auto layer = lowered(transposed, 4);
  REQUIRE(transfers(layer.forward()) == Sent{{k_gather, 128}, {k_scatter, 256}});
  REQUIRE(transfers(layer.backward()) == Sent{{k_gather, 128}, {k_gather, 128}, {k_scatter, 256}});
  // Kept: a quarter of rows(x), not yet transposed, and a quarter of columns(inner).
  REQUIRE(layer.state().saved_bytes == (128 + 256) / 4.0);
  // The transposition works on what has been gathered, the cast on a quarter.
  double transposed_elements = 0.0;
  for (const program::Work& work : layer.backward().works)
    if (const auto* shard = std::get_if<ir::Shard>(&work);
        shard != nullptr && shard->op->name == "fc2.gradient_transpose")
      transposed_elements = ir::bytes(*shard) / 2;
  REQUIRE(transposed_elements == 128);

  // Block by block there is no way from one orientation to the other: both travel where both are needed.
  const ir::Model blocks = narrowed(mxfp8(true));
  REQUIRE(transfers(lowered(blocks, 4).forward()) == Sent{{k_gather, 132}, {k_scatter, 256}});
  REQUIRE(transfers(lowered(blocks, 4).backward()) ==
          Sent{{k_gather, 132}, {k_gather, 132}, {k_gather, 132}, {k_scatter, 256}});
}

TEST_CASE("Gathers of the wide tensor: it is kept as a shard, gathered again and cast whole") {
  ir::NarrowProducts narrow = fp8(ir::SecondCopy::transposed, true);
  narrow.gather_narrow = false;
  const ir::Model model = narrowed(narrow);
  const auto layer = lowered(model, 4);
  REQUIRE(transfers(layer.forward()) == Sent{{k_gather, 256}, {k_scatter, 256}});
  REQUIRE(transfers(layer.backward()) == Sent{{k_gather, 256}, {k_gather, 256}, {k_scatter, 256}});
  REQUIRE(layer.state().saved_bytes == (256 + 256) / 4.0);
}

TEST_CASE("The maximum of a tensor that is gathered is found over all ranks, that of a rank's own part is not") {
  ir::NarrowProducts narrow = fp8(ir::SecondCopy::transposed, true);
  narrow.finds_maxima = true;
  const ir::Model model = narrowed(narrow);
  const auto layer = lowered(model, 4);
  REQUIRE(transfers(layer.forward()) == Sent{{k_reduce, 4}, {k_gather, 128}, {k_scatter, 256}});
  REQUIRE(transfers(layer.backward()) == Sent{{k_reduce, 4}, {k_gather, 128}, {k_gather, 128}, {k_scatter, 256}});
}

TEST_CASE("A normalisation that writes the narrow copy, or finds the maximum") {
  const ir::Model wide = small_transformer();
  const auto stream = static_cast<double>(2 * 8 * 16);
  const auto bytes = [&](const ir::Model& model, const std::string& name) {
    const ir::Graph& graph = model.classes[1].graph;
    for (const ir::Operator& op : graph.operators())
      if (op.name == name)
        return ir::bytes({.op = &op, .graph = &graph, .box = op.domain.box({.batch = 2, .sequence = 8})});
    return -1.0;
  };
  const double before = bytes(wide, "norm1");
  REQUIRE(before > 0);
  ir::Model narrow = small_transformer();
  ir::NarrowProducts options = fp8(ir::SecondCopy::transposed);
  options.norm = ir::NormWrites::narrow;
  ir::narrow_products(narrow.classes[1].graph, options);
  REQUIRE(bytes(narrow, "norm1") == before - stream);
  REQUIRE(bytes(narrow, "qkv.input_cast") == -1.0);
  REQUIRE(bytes(narrow, "qkv.input_transpose") == 2 * stream);
  REQUIRE(bytes(narrow, "proj.input_cast") == 4 * stream);

  ir::Model maximum = small_transformer();
  options.norm = ir::NormWrites::maximum;
  options.finds_maxima = true;
  ir::narrow_products(maximum.classes[1].graph, options);
  REQUIRE(bytes(maximum, "norm1") == before + 4);
  REQUIRE(bytes(maximum, "qkv.input_maximum") == -1.0);
  REQUIRE(bytes(maximum, "qkv.input_cast") == 4 * stream + 4);
  REQUIRE(bytes(maximum, "proj.input_maximum") > 0.0);
}
