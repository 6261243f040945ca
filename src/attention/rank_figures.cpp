#include "rank_figures.h"

#include <algorithm>

#include "cairn/sequence/folds.h"
#include "cairn/sequence/group.h"

namespace cairn::attention {
namespace {

using sequence::Pass;
using sequence::Tensor;

double mean_pairs(const sequence::Problem& problem, const sequence::Grid& grid) {
  const sequence::Tokens all{{.first = 0, .count = problem.tokens, .stride = 1}};
  const std::int64_t pairs = sequence::pairs(problem, all, all) * problem.heads * problem.sequences;
  return static_cast<double>(pairs) / static_cast<double>(grid.ranks());
}

}  // namespace

RankFigures rank_figures(const sequence::Problem& problem, const sequence::Scheme& scheme, const sequence::Grid& grid,
                         bool backward) {
  const sequence::Parcel owned{.tokens = scheme.owned(problem, grid, 0), .heads = sequence::all_heads(problem)};
  const auto own = [&](sequence::TensorSet tensors) {
    return sequence::bytes(problem, {.tensors = tensors, .tokens = owned.tokens, .heads = owned.heads});
  };
  const auto there = sequence::group_pass(scheme, problem, grid, Pass::forward);
  RankFigures figures{
      .messages = there->messages,
      .balance = mean_pairs(problem, grid) / static_cast<double>(std::max<std::int64_t>(there->pairs, 1)),
      .whole_heads = there->whole_heads};
  figures.sent.forward = there->sent;
  figures.received.forward = there->received;
  figures.memory = own(sequence::set_of(Tensor::query, Tensor::key, Tensor::value, Tensor::output, Tensor::logsumexp)) +
                   there->buffer_bytes;
  if (!backward) return figures;
  const auto back = sequence::group_pass(scheme, problem, grid, Pass::backward);
  const sequence::Parcel kept = scheme.kept(problem, grid, 0);
  figures.sent.backward = back->sent;
  figures.received.backward = back->received;
  figures.messages += back->messages;
  figures.memory =
      std::max(figures.memory, sequence::bytes(problem, kept) +
                                   own(sequence::set_of(Tensor::output_gradient, Tensor::delta, Tensor::query_gradient,
                                                        Tensor::key_gradient, Tensor::value_gradient)) +
                                   back->buffer_bytes);
  figures.keeps_owned = sequence::count(kept.tokens) <= sequence::count(owned.tokens);
  return figures;
}

}  // namespace cairn::attention
