#include "cairn/splits/propagation.h"

#include <algorithm>
#include <map>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/models/network.h"
#include "catch.h"
#include "linked_mesh.h"
#include "small_graph.h"

namespace cairn::splits {
namespace {

// Y = f(X W1) W2, after and before something element-wise.
SmallGraph feed_forward(std::int64_t batch, std::int64_t width, std::int64_t inner) {
  SmallGraph result;
  const ir::TensorId x = add_pointwise(result, "first", result.tensor("in", {{"b", batch}, {"n", width}}));
  const ir::TensorId hidden = add_pointwise(result, "gelu", add_dense(result, "fc1", x, batch, inner, width));
  add_pointwise(result, "last", add_dense(result, "fc2", hidden, batch, width, inner));
  return result;
}

const ir::Tensor& tensor_of(const ir::Graph& graph, const std::string& name) {
  return *std::find_if(graph.tensors().begin(), graph.tensors().end(),
                       [&](const ir::Tensor& tensor) { return tensor.name == name; });
}

Annotation annotated(const PlacementProblem& problem, const std::string& tensor, const std::string& text,
                     std::size_t axes) {
  return {.tensor = tensor,
          .placement = read_placement(tensor_of(*problem.graph, tensor), text, axes, "annotations." + tensor)};
}

std::map<std::string, std::string> signatures_of(const PlacementProblem& problem, const Propagated& propagated) {
  std::map<std::string, std::string> result;
  for (std::size_t id = 0; id < problem.operators.size(); ++id)
    result[problem.operators[id].name] = problem.operators[id].texts[static_cast<std::size_t>(propagated.options[id])];
  return result;
}

// What random annotations say of some tensors along some axes; only what divides.
std::vector<Annotation> random_annotations(core::Random& random, const ir::Graph& graph, const Mesh& mesh) {
  std::vector<Annotation> result;
  for (const ir::Tensor& tensor : graph.tensors()) {
    if (tensor.role == ir::Role::gradient || random.below(4) != 0) continue;
    Annotation annotation{.tensor = tensor.name};
    std::vector<std::int64_t> left;
    for (const ir::TensorDim& dim : tensor.dims) left.push_back(dim.extent.at({}));
    for (const MeshAxis& axis : mesh) {
      std::optional<Placement>& here = annotation.placement.emplace_back();
      const std::uint64_t drawn = random.below(tensor.dims.size() + 2);
      if (drawn == 0) here = Placement{};
      if (drawn < 2) continue;
      const auto dim = static_cast<std::uint8_t>(drawn - 2);
      if (left[dim] % axis.devices != 0) continue;
      left[dim] /= axis.devices;
      here = Placement{.kind = Placement::Kind::shard, .dim = dim};
    }
    result.push_back(std::move(annotation));
  }
  return result;
}

template <class Value>
void shuffle_annotations(std::vector<Value>& values, core::Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

}  // namespace

TEST_CASE("Two annotations on a feed-forward block give Megatron's placements") {
  const SmallGraph block = feed_forward(8, 8, 16);
  LinkedMesh mesh({linked("x", 4, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(block.graph, mesh.setup());
  const std::map<std::string, std::string> megatron{
      {"first", "B"}, {"fc1", "S(n)"}, {"gelu", "S(n)"}, {"fc2", "S(k)"}, {"last", "B"}};
  const std::vector<Annotation> weights{annotated(problem, "fc1.w", "S(n)", 1), annotated(problem, "fc2.w", "S(k)", 1)};
  const Propagated propagated = propagate(problem, mesh.setup().mesh, weights);
  REQUIRE(signatures_of(problem, propagated) == megatron);
  REQUIRE(propagated.options == expert_options(problem, 1));
  // Either alone is enough.
  for (const Annotation& each : weights)
    REQUIRE(propagate(problem, mesh.setup().mesh, std::vector{each}).options == propagated.options);
  // One all-reduce forward, one backward, and no other transfer.
  const PlacementAnswer answer = explain(problem, mesh.setup(), propagated.options);
  std::vector<program::Collective> moved;
  for (const PlacedWork& work : answer.works)
    if (const auto* transfer = std::get_if<program::Transfer>(&work.work)) moved.push_back(transfer->collective);
  REQUIRE(moved == std::vector(2, program::Collective::all_reduce));
}

TEST_CASE("Two annotations along two axes finalise a feed-forward block in two dimensions") {
  // The batch over nodes, and the hidden layer over devices: GSPMD's "2D finalised".
  const SmallGraph block = feed_forward(8, 8, 16);
  LinkedMesh mesh({linked("node", 2, 0.0, 1.0), linked("gpu", 4, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(block.graph, mesh.setup());
  const Propagated propagated =
      propagate(problem, mesh.setup().mesh,
                std::vector{annotated(problem, "in", "S(b) *", 2), annotated(problem, "fc1.w", "* S(n)", 2)});
  REQUIRE(
      signatures_of(problem, propagated) ==
      std::map<std::string, std::string>{
          {"first", "S(b) B"}, {"fc1", "S(b) S(n)"}, {"gelu", "S(b) S(n)"}, {"fc2", "S(b) S(k)"}, {"last", "S(b) B"}});
  REQUIRE(propagated.options == expert_options(problem, 1));
}

TEST_CASE("What is propagated stays as it is, whatever the order of the annotations") {
  core::Random random(4);
  const SmallGraph block = feed_forward(16, 8, 32);
  std::vector<ir::Graph> graphs{block.graph};
  for (const char* name : {"alexnet", "transformer-small", "dlrm"})
    graphs.push_back(models::build_network(name, 32).graph);
  LinkedMesh mesh({linked("outer", 2, 0.0, 1e9), linked("inner", 4, 0.0, 1e10)}, 1e12);
  for (const ir::Graph& graph : graphs) {
    const PlacementProblem problem = placement_problem(graph, mesh.setup());
    std::size_t spread = 0;
    for (int i = 0; i < 40; ++i) {
      std::vector<Annotation> annotations = random_annotations(random, *problem.graph, mesh.setup().mesh);
      const Propagated once = propagate(problem, mesh.setup().mesh, annotations);
      shuffle_annotations(annotations, random);
      const Propagated shuffled = propagate(problem, mesh.setup().mesh, annotations);
      REQUIRE(shuffled.tensors == once.tensors);
      REQUIRE(shuffled.options == once.options);
      // What was split, annotated beside what was asked; what stayed open is left open.
      std::vector<Annotation> all = annotations;
      for (std::size_t id = 0; id < once.tensors.size(); ++id) {
        const ir::Tensor& tensor = problem.graph->tensors()[id];
        if (tensor.role == ir::Role::gradient) continue;
        Annotation& annotation = all.emplace_back();
        annotation.tensor = tensor.name;
        for (const Placement& axis : once.tensors[id])
          annotation.placement.push_back(axis.kind == Placement::Kind::shard ? std::optional(axis) : std::nullopt);
      }
      const Propagated twice = propagate(problem, mesh.setup().mesh, all);
      REQUIRE(twice.rounds == 0);
      REQUIRE(twice.tensors == once.tensors);
      REQUIRE(twice.options == once.options);
      for (const Annotation& annotation : annotations)
        for (std::size_t axis = 0; axis < 2; ++axis)
          if (annotation.placement[axis])
            for (std::size_t id = 0; id < once.tensors.size(); ++id)
              if (problem.graph->tensors()[id].name == annotation.tensor)
                REQUIRE(once.tensors[id][axis] == *annotation.placement[axis]);
      spread += once.rounds;
    }
    REQUIRE(spread > 0);
  }
}

TEST_CASE("Annotations that contradict or cannot be are refused by name") {
  const SmallGraph block = feed_forward(8, 8, 16);
  LinkedMesh mesh({linked("x", 4, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(block.graph, mesh.setup());
  const auto refusal = [&](const std::vector<Annotation>& annotations) -> std::string {
    try {
      propagate(problem, mesh.setup().mesh, annotations);
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().front().to_string();
    }
    return "accepted";
  };
  const Annotation columns = annotated(problem, "fc1.w", "S(n)", 1), rows = annotated(problem, "fc1.w", "S(k)", 1);
  REQUIRE(refusal({columns, columns}) == "accepted");
  REQUIRE(refusal({columns, rows}).find("annotations.fc1.w: annotated twice along x, and differently") !=
          std::string::npos);
  REQUIRE(refusal({{.tensor = "fc3.w", .placement = columns.placement}}).find("did you mean 'fc1.w'?") !=
          std::string::npos);
  REQUIRE(refusal({{.tensor = "fc1.w", .placement = {}}}).find("placed along 0 axes, and the mesh has 1") !=
          std::string::npos);
  const SmallGraph odd = feed_forward(6, 8, 16);
  const PlacementProblem of_six = placement_problem(odd.graph, mesh.setup());
  REQUIRE_THROWS_AS(propagate(of_six, mesh.setup().mesh, std::vector{annotated(of_six, "in", "S(b)", 1)}),
                    core::ConfigurationError);
  for (const char* text : {"", "S(q)", "S(7)", "S(n) B", "P", "S()", "s(n)"}) {
    CAPTURE(text);
    REQUIRE_THROWS_AS(annotated(problem, "fc1.w", text, 1), core::ConfigurationError);
  }
  REQUIRE(annotated(problem, "fc1.w", "S(1)", 1).placement == rows.placement);
}

}  // namespace cairn::splits
