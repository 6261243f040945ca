#include "cairn/splits/signature.h"

#include <algorithm>
#include <set>

#include "catch.h"
#include "distributed.h"
#include "small_graph.h"

namespace cairn::splits {
namespace {

Mesh mesh_of(std::initializer_list<std::int64_t> devices) {
  Mesh mesh;
  for (const std::int64_t each : devices) mesh.push_back({.name = "", .devices = each});
  return mesh;
}

std::set<std::string> texts(const SmallGraph& of, const ir::Operator& op, const Mesh& mesh) {
  std::set<std::string> result;
  for (const Signature& each : signatures(of.graph, op, mesh, {})) result.insert(text(of.graph, op, each));
  return result;
}

std::set<std::string> operand_texts(const SmallGraph& of, const ir::Operator& op, const Mesh& mesh) {
  std::set<std::string> result;
  for (const Signature& each : signatures(of.graph, op, mesh, {})) {
    std::string line;
    for (const OperandPlacement& operand : each.operands) line += (line.empty() ? "" : ", ") + text(operand.value);
    result.insert(line);
  }
  return result;
}

ir::Operator operator_over(const Sized& dims, ir::Kind kind) {
  ir::Operator op;
  op.name = "op";
  op.kind = kind;
  for (const auto& [name, extent] : dims) op.domain.add(name, loopnest::Extent::of(extent));
  return op;
}

void read(ir::Operator& op, ir::TensorId tensor, loopnest::Projection at,
          ir::InputGradient gradient = ir::InputGradient::computed, bool addend = false) {
  op.accesses.push_back({.tensor = tensor, .projection = std::move(at), .gradient = gradient, .addend = addend});
}

void write(ir::Operator& op, ir::TensorId tensor, loopnest::Projection at, ir::Mode mode = ir::Mode::write) {
  op.accesses.push_back({.tensor = tensor, .projection = std::move(at), .mode = mode});
}

// Y[m, n] += X[m, k] W[k, n], both factors activations.
ir::Operator product(SmallGraph& to, std::int64_t m, std::int64_t n, std::int64_t k) {
  ir::Operator op = operator_over({{"m", m}, {"n", n}, {"k", k}}, ir::Kind::contraction);
  read(op, to.tensor("X", {{"m", m}, {"k", k}}), loopnest::projection_of({0, 2}));
  read(op, to.tensor("W", {{"k", k}, {"n", n}}), loopnest::projection_of({2, 1}));
  write(op, to.tensor("Y", {{"m", m}, {"n", n}}), loopnest::projection_of({0, 1}), ir::Mode::accumulate);
  return op;
}

std::vector<std::int64_t> extents_of(const SmallGraph& graph, const ir::Access& access) {
  std::vector<std::int64_t> result;
  for (const ir::TensorDim& dim : graph.graph.tensor(access.tensor).dims) result.push_back(dim.extent.constant);
  return result;
}

// Executes forward and backward on the devices; whether result and gradients equal those of the whole tensors.
void require_valid(const SmallGraph& graph, const ir::Operator& op, const Signature& signature, const Mesh& mesh,
                   core::Random& random) {
  CAPTURE(text(graph.graph, op, signature));
  const std::size_t result = op.accesses.size() - 1;
  std::vector<Dense> whole;
  std::vector<std::vector<Dense>> dealt;
  for (std::size_t i = 0; i < op.accesses.size(); ++i) {
    whole.push_back(random_tensor(extents_of(graph, op.accesses[i]), random));
    const OperandPlacement& placed = signature.operands[i];
    dealt.push_back(deal(whole[i], i == result ? placed.gradient : placed.value, mesh, random));
  }
  std::vector<std::int64_t> box;
  for (const loopnest::Dim& dim : op.domain.dims()) box.push_back(dim.extent.constant);
  const std::vector<std::int64_t> local_box = local_extents(op, signature, mesh);
  const auto local = [&](std::size_t device) {
    std::vector<Dense> operands;
    for (const std::vector<Dense>& each : dealt) operands.push_back(each[device]);
    return operands;
  };
  std::vector<Dense> held;
  for (std::size_t device = 0; device < dealt.front().size(); ++device)
    held.push_back(forward(op, local(device), local_box));
  REQUIRE(put_together(held, signature.operands[result].value, mesh) == forward(op, whole, box));
  for (std::size_t operand = 0; operand < result; ++operand) {
    held.clear();
    for (std::size_t device = 0; device < dealt.front().size(); ++device)
      held.push_back(backward(op, local(device), local_box, operand));
    REQUIRE(put_together(held, signature.operands[operand].gradient, mesh) == backward(op, whole, box, operand));
  }
}

// A product of two or three factors over random dimensions, at times with a bias.
ir::Operator random_einsum(SmallGraph& to, core::Random& random) {
  const std::size_t dims = 2 + random.below(3);
  Sized sizes;
  for (std::size_t dim = 0; dim < dims; ++dim)
    sizes.emplace_back(std::string(1, static_cast<char>('a' + dim)), std::int64_t{1} << (1 + random.below(2)));
  ir::Operator op = operator_over(sizes, ir::Kind::contraction);
  const auto some = [&](Sized& chosen, const std::vector<char>& allowed) {
    loopnest::Projection at;
    for (std::size_t dim = 0; dim < dims; ++dim)
      if (allowed[dim] != 0 && random.below(3) != 0) {
        chosen.push_back(sizes[dim]);
        at.push_back(loopnest::Affine::of(static_cast<loopnest::DimId>(dim)));
      }
    return at;
  };
  const std::vector<char> all(dims, 1);
  const std::size_t factors = 2 + random.below(2);
  for (std::size_t i = 0; i < factors; ++i) {
    Sized chosen;
    const loopnest::Projection at = some(chosen, all);
    read(op, to.tensor("x" + std::to_string(i), chosen), at);
  }
  Sized output;
  const loopnest::Projection at = some(output, all);
  if (random.below(2) == 0) {
    std::vector<char> shown(dims, 0);
    for (const loopnest::Affine& form : at) shown[form.terms.front().dim] = 1;
    Sized chosen;
    const loopnest::Projection bias = some(chosen, shown);
    read(op, to.parameter("bias", chosen), bias, ir::InputGradient::computed, true);
  }
  write(op, to.tensor("y", output), at, ir::Mode::accumulate);
  return op;
}

}  // namespace

TEST_CASE("A matrix product has six signatures, those that give the product when executed, and no others") {
  SmallGraph graph;
  const ir::Operator op = product(graph, 2, 6, 4);
  const Mesh mesh = mesh_of({2});
  REQUIRE(operand_texts(graph, op, mesh) ==
          std::set<std::string>{"S(0), B, S(0)", "B, S(1), S(1)", "S(1), S(0), P", "P, B, P", "B, P, P", "B, B, B"});
  REQUIRE(texts(graph, op, mesh) == std::set<std::string>{"S(m)", "S(n)", "S(k)", "P(X)", "P(W)", "B"});

  // Every combination of placements, each device multiplying what it holds.
  core::Random random(1);
  using Kind = Placement::Kind;
  const std::vector<Placement> placements = {
      {.kind = Kind::shard, .dim = 0}, {.kind = Kind::shard, .dim = 1}, {}, {.kind = Kind::partial}};
  const Dense x = random_tensor({2, 4}, random), w = random_tensor({4, 6}, random);
  const Dense y = forward(op, {x, w, zeros({2, 6})}, {2, 6, 4});
  std::set<std::string> valid;
  for (const Placement& of_x : placements)
    for (const Placement& of_w : placements)
      for (const Placement& of_y : placements) {
        const auto xs = deal(x, {of_x}, mesh, random), ws = deal(w, {of_w}, mesh, random);
        if (xs[0].extents[1] != ws[0].extents[0]) continue;
        const std::int64_t m = xs[0].extents[0], n = ws[0].extents[1], k = ws[0].extents[0];
        std::vector<Dense> held;
        for (std::size_t device = 0; device < 2; ++device)
          held.push_back(forward(op, {xs[device], ws[device], zeros({m, n})}, {m, n, k}));
        if (put_together(held, {of_y}, mesh) == y)
          valid.insert(text(NdPlacement{of_x}) + ", " + text(NdPlacement{of_w}) + ", " + text(NdPlacement{of_y}));
      }
  REQUIRE(valid == operand_texts(graph, op, mesh));
}

TEST_CASE("Signatures of random products give the result and all gradients when executed on their devices") {
  core::Random random(2);
  std::size_t executed = 0;
  for (int i = 0; i < 300; ++i) {
    SmallGraph graph;
    const ir::Operator op = random_einsum(graph, random);
    const Mesh mesh = random.below(2) == 0 ? mesh_of({2}) : mesh_of({2, 2});
    for (const Signature& each : signatures(graph.graph, op, mesh, {})) {
      require_valid(graph, op, each, mesh, random);
      ++executed;
    }
  }
  REQUIRE(executed > 2000);
}

TEST_CASE("Windows that overlap hold their positions together, windows side by side do not") {
  core::Random random(3);
  const auto convolution = [](SmallGraph& graph, std::int64_t stride, std::int64_t taps, std::int64_t padding) {
    const std::int64_t positions = 4, side = stride * positions;
    ir::Operator op =
        operator_over({{"b", 2}, {"c", 2}, {"h", positions}, {"r", taps}, {"n", 2}}, ir::Kind::contraction);
    loopnest::Projection window = loopnest::projection_of({0, 1});
    loopnest::Affine form{.terms = {{.dim = 2, .stride = static_cast<std::int32_t>(stride)}, {.dim = 3, .stride = 1}},
                          .offset = -padding};
    window.push_back(form);
    read(op, graph.tensor("x", {{"b", 2}, {"c", 2}, {"h", side}}), window);
    read(op, graph.parameter("w", {{"n", 2}, {"c", 2}, {"r", taps}}), loopnest::projection_of({4, 1, 3}));
    write(op, graph.tensor("y", {{"b", 2}, {"n", 2}, {"h", positions}}), loopnest::projection_of({0, 4, 2}),
          ir::Mode::accumulate);
    return op;
  };
  SmallGraph overlapping, beside;
  const Mesh mesh = mesh_of({2});
  REQUIRE(texts(overlapping, convolution(overlapping, 1, 3, 1), mesh) ==
          std::set<std::string>{"S(b)", "S(c)", "S(n)", "P(x)", "B"});
  const ir::Operator apart = convolution(beside, 2, 2, 0);
  REQUIRE(texts(beside, apart, mesh) == std::set<std::string>{"S(b)", "S(c)", "S(n)", "S(h)", "P(x)", "B"});
  for (const Signature& each : signatures(beside.graph, apart, mesh, {}))
    require_valid(beside, apart, each, mesh, random);
  SmallGraph wide;
  const ir::Operator nested = convolution(wide, 2, 1, 0);
  for (const Signature& each : signatures(wide.graph, nested, mesh_of({2, 2}), {}))
    require_valid(wide, nested, each, mesh_of({2, 2}), random);
}

TEST_CASE("A view splits the outermost of the dimensions that it merges and passes everything on") {
  core::Random random(4);
  SmallGraph graph;
  ir::Operator op = operator_over({{"b", 4}, {"c", 4}, {"h", 2}}, ir::Kind::opaque);
  op.variant = "reshape";
  loopnest::Projection merged = loopnest::projection_of({0});
  merged.push_back({.terms = {{.dim = 1, .stride = 2}, {.dim = 2, .stride = 1}}, .offset = 0});
  read(op, graph.tensor("x", {{"b", 4}, {"c", 4}, {"h", 2}}), loopnest::projection_of({0, 1, 2}));
  write(op, graph.tensor("y", {{"b", 4}, {"ch", 8}}), merged);
  REQUIRE(operand_texts(graph, op, mesh_of({2})) == std::set<std::string>{"S(0), S(0)", "S(1), S(1)", "P, P", "B, B"});
  const Mesh mesh = mesh_of({2, 2});
  for (const Signature& each : signatures(graph.graph, op, mesh, {})) require_valid(graph, op, each, mesh, random);
}

TEST_CASE("A stack takes several tensors, all in one placement, into one") {
  SmallGraph graph;
  ir::Operator op = operator_over({{"b", 4}, {"e", 4}}, ir::Kind::opaque);
  op.variant = "stack";
  const ir::TensorId out = graph.tensor("out", {{"i", 2}, {"b", 4}, {"e", 4}});
  for (const char* name : {"x", "y"})
    read(op, graph.tensor(name, {{"b", 4}, {"e", 4}}), loopnest::projection_of({0, 1}));
  for (const std::int64_t place : {0, 1}) {
    loopnest::Projection at{loopnest::Affine{.terms = {}, .offset = place}};
    at.push_back(loopnest::Affine::of(0));
    at.push_back(loopnest::Affine::of(1));
    write(op, out, at);
  }
  REQUIRE(operand_texts(graph, op, mesh_of({2})) ==
          std::set<std::string>{"S(0), S(0), S(1), S(1)", "S(1), S(1), S(2), S(2)", "P, P, P, P", "B, B, B, B"});
}

TEST_CASE("Sums pass summands on, other functions do not") {
  SmallGraph graph;
  const Sized dims{{"b", 4}, {"e", 6}};
  ir::Operator sum = operator_over(dims, ir::Kind::pointwise);
  sum.flops_per_point = 1.0;
  const auto both = loopnest::projection_of({0, 1});
  read(sum, graph.tensor("x", dims), both, ir::InputGradient::passed);
  read(sum, graph.parameter("bias", {{"e", 6}}), loopnest::projection_of({1}), ir::InputGradient::computed, true);
  write(sum, graph.tensor("y", dims), both);
  REQUIRE(operand_texts(graph, sum, mesh_of({2})) ==
          std::set<std::string>{"S(0), B, S(0)", "S(1), S(0), S(1)", "P, P, P", "B, B, B"});
  // Four devices split e no more than they divide it.
  REQUIRE(texts(graph, sum, mesh_of({4})) == std::set<std::string>{"S(b)", "P", "B"});
  REQUIRE(texts(graph, sum, mesh_of({2, 2})) ==
          std::set<std::string>{"S(b) S(b)", "S(b) S(e)", "S(b) P", "S(b) B", "S(e) S(b)", "S(e) P", "S(e) B", "P S(b)",
                                "P S(e)", "P P", "P B", "B S(b)", "B S(e)", "B P", "B B"});
  const ir::TensorId rectified = add_pointwise(graph, "relu", graph.tensor("z", dims));
  REQUIRE(texts(graph, graph.graph.op(graph.graph.producer(rectified)), mesh_of({2})) ==
          std::set<std::string>{"S(b)", "S(e)", "B"});
}

TEST_CASE("A softmax is split along its rows by exchanging what it keeps of them, a loss likewise") {
  SmallGraph graph;
  const Sized dims{{"b", 4}, {"e", 4}};
  ir::Operator op = operator_over(dims, ir::Kind::reduce);
  op.variant = "softmax";
  read(op, graph.tensor("x", dims), loopnest::projection_of({0, 1}));
  write(op, graph.tensor("y", dims), loopnest::projection_of({0, 1}));
  write(op, graph.statistic("rows", {{"b", 4}}), loopnest::projection_of({0}));
  REQUIRE(operand_texts(graph, op, mesh_of({2})) ==
          std::set<std::string>{"S(0), S(0), S(0)", "S(1), S(1), B", "B, B, B"});
}

TEST_CASE("An embedding is split over its rows by leaving zeros for those that a device lacks") {
  SmallGraph graph;
  ir::Operator op = operator_over({{"b", 4}, {"e", 4}}, ir::Kind::gather);
  const loopnest::DimId row = op.domain.add("v", loopnest::Extent::of(8), 1);
  op.domain.choose(row, {0});
  read(op, graph.parameter("table", {{"v", 8}, {"e", 4}}), loopnest::projection_of({2, 1}));
  read(op, graph.tensor("ids", {{"b", 4}}, ir::Role::index), loopnest::projection_of({0}), ir::InputGradient::none);
  write(op, graph.tensor("y", {{"b", 4}, {"e", 4}}), loopnest::projection_of({0, 1}));
  REQUIRE(operand_texts(graph, op, mesh_of({2})) ==
          std::set<std::string>{"B, S(0), S(0)", "S(1), B, S(1)", "S(0), B, P", "B, B, B"});
}

TEST_CASE("A recurrence is split over the batch alone") {
  SmallGraph graph;
  ir::Operator op = operator_over({{"seq", 4}, {"b", 4}, {"n", 4}}, ir::Kind::scan);
  read(op, graph.tensor("x", {{"b", 4}, {"seq", 4}}), loopnest::projection_of({1, 0}));
  write(op, graph.tensor("y", {{"b", 4}, {"seq", 4}, {"n", 4}}), loopnest::projection_of({1, 0, 2}));
  REQUIRE(texts(graph, op, mesh_of({2})) == std::set<std::string>{"S(b)", "B"});
}

}  // namespace cairn::splits
