#include "oracle_state.h"

#include <algorithm>

#include "cairn/core/assert.h"
#include "tile_arithmetic.h"

namespace cairn::sequence {
namespace {

// Pairs that make a row of a result.
std::int32_t pairs_of(const Problem& problem, const Visible& visible, Tensor tensor, std::int64_t token) {
  return static_cast<std::int32_t>(of_keys(tensor) ? visible.queries_of(token) * problem.group()
                                                   : visible.keys_of(token));
}

}  // namespace

OracleState::OracleState(const Problem& problem, const Visible& visible, Pass pass, const Tensors<float>& inputs,
                         std::int64_t ranks)
    : pass_(pass), inputs_(inputs), ranks_(static_cast<std::size_t>(ranks)) {
  for (std::size_t i = 0; i < k_tensors; ++i) {
    const auto tensor = static_cast<Tensor>(i);
    heads_[i] = heads_of(problem, tensor, all_heads(problem)).count;
    if (!is_result(pass, tensor) && !is_input(pass, tensor)) continue;
    for (std::int64_t token = 0; token < problem.tokens; ++token)
      whole_[i].push_back(is_input(pass, tensor) ? 1 : pairs_of(problem, visible, tensor, token));
    for (OfRank& rank : ranks_) {
      rank.parts[i].assign(static_cast<std::size_t>(problem.tokens * heads_[i]), k_absent);
      if (is_result(pass, tensor)) rank.results[tensor] = Rows<float>(problem, tensor);
    }
  }
}

std::size_t OracleState::row(const Place& place) const {
  return static_cast<std::size_t>(place.token * heads_[static_cast<std::size_t>(place.tensor)] + place.head);
}

std::int32_t OracleState::whole(Tensor tensor, std::int64_t token) const {
  return whole_[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(token)];
}

std::int32_t OracleState::part(std::int64_t rank, const Place& place) const {
  return ranks_[static_cast<std::size_t>(rank)].parts[static_cast<std::size_t>(place.tensor)][row(place)];
}

std::int32_t& OracleState::part_at(std::int64_t rank, const Place& place) {
  return ranks_[static_cast<std::size_t>(rank)].parts[static_cast<std::size_t>(place.tensor)][row(place)];
}

bool OracleState::holds(std::int64_t rank, const Place& place) const {
  if (part(rank, place) == whole(place.tensor, place.token)) return true;
  if (place.tensor != Tensor::delta) return false;
  return part(rank, {.tensor = Tensor::output, .token = place.token, .head = place.head}) == 1 &&
         part(rank, {.tensor = Tensor::output_gradient, .token = place.token, .head = place.head}) == 1;
}

const float* OracleState::numbers(std::int64_t rank, const Place& place) const {
  if (is_input(pass_, place.tensor)) return inputs_[place.tensor].at(place.token, place.head);
  return ranks_[static_cast<std::size_t>(rank)].results[place.tensor].at(place.token, place.head);
}

void OracleState::add(std::int64_t rank, const Place& place, std::int32_t pairs, const float* numbers,
                      const float* logsumexp) {
  Tensors<float>& results = ranks_[static_cast<std::size_t>(rank)].results;
  float* there = results[place.tensor].at(place.token, place.head);
  const std::int64_t count = results[place.tensor].width();
  std::int32_t& part = part_at(rank, place);
  const bool empty = part <= 0;
  part = std::max(part, 0) + pairs;
  if (pairs == 0) return;
  if (empty) {
    std::copy_n(numbers, count, there);
    return;
  }
  if (place.tensor != Tensor::output && place.tensor != Tensor::logsumexp) {
    add_scaled(there, 1.0F, numbers, count);
    return;
  }
  CAIRN_ASSERT(logsumexp != nullptr);
  const float held = *results[Tensor::logsumexp].at(place.token, place.head);
  if (place.tensor == Tensor::logsumexp)
    *there = joined_logsumexp(held, *logsumexp);
  else
    join_output(there, held, numbers, *logsumexp, count);
}

float* OracleState::add_pairs(std::int64_t rank, const Place& place, std::int32_t pairs) {
  std::int32_t& part = part_at(rank, place);
  part = std::max(part, 0) + pairs;
  return ranks_[static_cast<std::size_t>(rank)].results[place.tensor].at(place.token, place.head);
}

void OracleState::remove(std::int64_t rank, const Place& place) {
  part_at(rank, place) = k_absent;
  Rows<float>& rows = ranks_[static_cast<std::size_t>(rank)].results[place.tensor];
  std::fill_n(rows.at(place.token, place.head), rows.width(), 0.0F);
}

}  // namespace cairn::sequence
