// Rows of tensors: the numbers of one token and head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/sequence/list.h"

namespace cairn::sequence {

struct Place {
  Tensor tensor = Tensor::query;
  std::int64_t token = 0;
  std::int64_t head = 0;
};
// "key of token 3, head 0"
std::string text(const Place& place);

// Which tensors a pass reads, and which it makes.
bool is_input(Pass pass, Tensor tensor);
bool is_result(Pass pass, Tensor tensor);

// Visits the rows of a parcel until one has a fault: visit(place, number of the row among those of its tensor) -> fault.
template <class Visit>
std::optional<std::string> for_rows(const Problem& problem, const Parcel& parcel, Visit&& visit) {
  const std::vector<std::int64_t> tokens = positions(parcel.tokens);
  for (const Tensor tensor : members(parcel.tensors)) {
    const Heads heads = heads_of(problem, tensor, parcel.heads);
    std::size_t row = 0;
    for (const std::int64_t token : tokens)
      for (std::int64_t head = heads.first; head < heads.first + heads.count; ++head, ++row)
        if (auto fault = visit(Place{.tensor = tensor, .token = token, .head = head}, row)) return fault;
  }
  return std::nullopt;
}

// Visits what a tile reads, the rows of its queries and of its keys.
template <class Visit>
std::optional<std::string> for_rows_read(const Problem& problem, Pass pass, const Tile& tile, Visit&& visit) {
  TensorSet of_queries = set_of(Tensor::query);
  if (pass == Pass::backward) of_queries |= set_of(Tensor::output_gradient, Tensor::logsumexp, Tensor::delta);
  const Parcel queries{.tensors = of_queries, .tokens = tile.queries, .heads = tile.heads};
  const Parcel keys{.tensors = set_of(Tensor::key, Tensor::value), .tokens = tile.keys, .heads = tile.heads};
  if (auto fault = for_rows(problem, queries, visit)) return fault;
  return for_rows(problem, keys, visit);
}

}  // namespace cairn::sequence
