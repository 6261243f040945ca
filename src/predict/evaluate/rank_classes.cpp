#include "rank_classes.h"

#include <algorithm>

#include <fmt/format.h>

#include "at.h"
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
      context_(fold(program, program::Axis::context, options)),
      data_(fold(program, program::Axis::data, options)) {
  if (actors() > k_most_actors)
    throw core::ConfigurationError(
        "simulation", fmt::format("{} ranks that all differ are more than the event engine takes", actors()),
        fmt::format("use a smaller cluster, or at most {} distinct ranks", k_most_actors));
}

std::int64_t RankClasses::rank(std::int64_t actor) const {
  const program::Mesh& mesh = program_.mesh;
  const std::int64_t copy = actor % copies();
  const auto along = [&](const std::vector<std::int64_t>& classes, std::int64_t index, program::Axis axis) {
    return classes[at(index)] * mesh.group(axis).stride;
  };
  return stage(actor) * mesh.group(program::Axis::pipeline).stride +
         along(tensor_, actor % per_stage() / copies(), program::Axis::tensor) +
         along(context_, copy / std::ssize(data_), program::Axis::context) +
         along(data_, copy % std::ssize(data_), program::Axis::data);
}

std::int64_t RankClasses::covering(std::int64_t rank) const {
  // Coordinates without a class of their own are in the last one.
  const auto place = [](const std::vector<std::int64_t>& classes, std::int64_t coordinate) {
    const auto own = std::find(classes.begin(), classes.end(), coordinate);
    return own != classes.end() ? own - classes.begin() : static_cast<std::ptrdiff_t>(classes.size()) - 1;
  };
  const program::Mesh& mesh = program_.mesh;
  return mesh.coordinate(rank, program::Axis::pipeline) * per_stage() +
         place(tensor_, mesh.coordinate(rank, program::Axis::tensor)) * copies() +
         place(context_, mesh.coordinate(rank, program::Axis::context)) * std::ssize(data_) +
         place(data_, mesh.coordinate(rank, program::Axis::data));
}

Communicator RankClasses::communicator(std::int64_t actor, program::Axis axis, const program::Group& group) const {
  if (program::group_of(axis) == program::ParameterGroup::expert) {
    const std::int64_t own = rank(actor);
    const program::Group inside = program_.expert_mesh.group(axis);
    // Copies of a stage's experts on another stage are met by way of the replica group, as those of its other layers.
    const program::Group& ranks = axis == program::Axis::expert_data && program_.has_model_copies ? inside : group;
    return {.first = own - own / ranks.stride % ranks.size * ranks.stride,
            .stride = ranks.stride,
            .size = ranks.size,
            .by_rank = true,
            // Groups over domains and inside one may begin with the same rank, and with that of a dense group.
            .level = ranks.stride > inside.stride ? 2 : 1};
  }
  if (axis == program::Axis::tensor)
    return {.first = actor - actor % per_stage() + actor % copies(), .stride = copies(), .size = std::ssize(tensor_)};
  if (axis == program::Axis::context)
    return {.first = actor - actor % copies() + actor % std::ssize(data_),
            .stride = std::ssize(data_),
            .size = std::ssize(context_)};
  // Gradients and parameters, among all that hold copies.
  return {.first = actor - actor % copies(), .stride = 1, .size = copies()};
}

std::int64_t RankClasses::member(const Communicator& communicator, std::int64_t index) const {
  const std::int64_t place = communicator.first + index * communicator.stride;
  return communicator.by_rank ? actor_of(place) : place;
}

// Every rank is an actor.
std::int64_t RankClasses::actor_of(std::int64_t rank) const {
  const program::Mesh& mesh = program_.mesh;
  return mesh.coordinate(rank, program::Axis::pipeline) * per_stage() +
         mesh.coordinate(rank, program::Axis::tensor) * copies() +
         mesh.coordinate(rank, program::Axis::context) * std::ssize(data_) + mesh.coordinate(rank, program::Axis::data);
}

}  // namespace cairn::predict
