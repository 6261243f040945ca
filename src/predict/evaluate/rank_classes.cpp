#include "rank_classes.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/program/parameter_group.h"

namespace cairn::predict {
namespace {

constexpr std::int64_t k_most_actors = 1 << 18;

std::vector<std::int64_t> fold(const program::Program& program, program::Axis axis, const EventOptions& options) {
  std::vector<std::int64_t> named;
  const program::Mesh& mesh = program.mesh;
  const std::int64_t size = mesh.size(axis);
  const bool experts = program.expert_mesh.ranks() > 1 && !options.slow_ranks.empty();
  if (options.jitter_sigma > 0.0 || experts) {
    for (std::int64_t coordinate = 0; coordinate < size; ++coordinate) named.push_back(coordinate);
    return named;
  }
  for (const SlowRank& slow : options.slow_ranks) named.push_back(mesh.coordinate(slow.rank, axis));
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  for (std::int64_t coordinate = 0; coordinate < size; ++coordinate)
    if (!std::binary_search(named.begin(), named.end(), coordinate)) {
      named.push_back(coordinate);
      break;
    }
  return named;
}

}  // namespace

RankClasses::RankClasses(const program::Program& program, const EventOptions& options)
    : program_(program),
      stages_(static_cast<std::int64_t>(program.stages())),
      tensor_(fold(program, program::Axis::tensor, options)),
      data_(fold(program, program::Axis::data, options)) {
  if (actors() > k_most_actors)
    throw core::ConfigurationError(
        "simulation", fmt::format("{} ranks that all differ are more than the event engine takes", actors()),
        fmt::format("use a smaller cluster, or at most {} distinct ranks", k_most_actors));
}

std::int64_t RankClasses::rank(std::int64_t actor) const {
  const auto data = static_cast<std::int64_t>(data_.size());
  const std::int64_t tensor_class = actor % per_stage() / data;
  return stage(actor) * program_.mesh.group(program::Axis::pipeline).stride +
         tensor_[static_cast<std::size_t>(tensor_class)] * program_.mesh.group(program::Axis::tensor).stride +
         data_[static_cast<std::size_t>(actor % data)] * program_.mesh.group(program::Axis::data).stride;
}

std::int64_t RankClasses::covering(std::int64_t rank) const {
  // Coordinates without a class of their own are in the last one.
  const auto place = [](const std::vector<std::int64_t>& classes, std::int64_t coordinate) {
    const auto own = std::find(classes.begin(), classes.end(), coordinate);
    return own != classes.end() ? own - classes.begin() : static_cast<std::ptrdiff_t>(classes.size()) - 1;
  };
  const program::Mesh& mesh = program_.mesh;
  return mesh.coordinate(rank, program::Axis::pipeline) * per_stage() +
         place(tensor_, mesh.coordinate(rank, program::Axis::tensor)) * static_cast<std::int64_t>(data_.size()) +
         place(data_, mesh.coordinate(rank, program::Axis::data));
}

Circle RankClasses::circle(std::int64_t actor, program::Axis axis, const program::Group& group) const {
  if (program::group_of(axis) == program::ParameterGroup::expert) {
    const std::int64_t own = rank(actor);
    const program::Group inside = program_.expert_mesh.group(axis);
    // Copies of a stage's experts on another stage are met by way of the replica group, as those of its other layers.
    const program::Group& circle = axis == program::Axis::expert_data && program_.has_model_copies ? inside : group;
    return {.first = own - own / circle.stride % circle.size * circle.stride,
            .stride = circle.stride,
            .size = circle.size,
            .by_rank = true,
            // Groups over domains and inside one may begin with the same rank, and with that of a dense group.
            .level = circle.stride > inside.stride ? 2 : 1};
  }
  const auto data = static_cast<std::int64_t>(data_.size());
  if (axis == program::Axis::tensor)
    return {.first = actor - actor % per_stage() + actor % data,
            .stride = data,
            .size = static_cast<std::int64_t>(tensor_.size())};
  return {.first = actor - actor % data, .stride = 1, .size = data};
}

std::int64_t RankClasses::member(const Circle& circle, std::int64_t index) const {
  const std::int64_t at = circle.first + index * circle.stride;
  return circle.by_rank ? actor_of(at) : at;
}

// Every rank is an actor.
std::int64_t RankClasses::actor_of(std::int64_t rank) const {
  const program::Mesh& mesh = program_.mesh;
  const auto data = static_cast<std::int64_t>(data_.size());
  return mesh.coordinate(rank, program::Axis::pipeline) * per_stage() +
         mesh.coordinate(rank, program::Axis::tensor) * data + mesh.coordinate(rank, program::Axis::data);
}

}  // namespace cairn::predict
