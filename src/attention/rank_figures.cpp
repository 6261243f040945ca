#include "rank_figures.h"

#include <algorithm>
#include <vector>

#include "cairn/sequence/folds.h"

namespace cairn::attention {
namespace {

using sequence::Pass;
using sequence::Tensor;

constexpr std::int64_t k_ranks_between = 3;  // the first and the last of many ranks

std::vector<std::int64_t> ranks_looked_at(std::int64_t ranks) {
  std::vector<std::int64_t> all;
  if (ranks <= k_ranks_looked_at) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) all.push_back(rank);
  } else {
    all = {0, ranks - 1};
  }
  return all;
}

std::int64_t messages_of(const sequence::RankList& list) {
  std::int64_t count = 0;
  for (const sequence::Call& call : list.calls) count += static_cast<std::int64_t>(call.sends.size());
  return count;
}

void raise(std::int64_t& largest, std::int64_t value) { largest = std::max(largest, value); }

class Figures {
 public:
  Figures(const sequence::Problem& problem, const sequence::Scheme& scheme, const sequence::Grid& grid)
      : problem_(problem), scheme_(scheme), grid_(grid) {}

  RankFigures of_all(bool backward) {
    for (const std::int64_t rank : ranks_looked_at(grid_.ranks())) {
      std::int64_t messages = forward(rank);
      if (backward) messages += this->backward(rank);
      raise(figures_.messages, messages);
    }
    figures_.balance = mean_pairs() / static_cast<double>(std::max<std::int64_t>(most_pairs_, 1));
    return figures_;
  }

 private:
  sequence::Parcel owned(std::int64_t rank, sequence::TensorSet tensors) const {
    return {.tensors = tensors, .tokens = scheme_.owned(problem_, grid_, rank), .heads = sequence::all_heads(problem_)};
  }

  std::int64_t forward(std::int64_t rank) {
    const sequence::RankList list = scheme_.list(problem_, grid_, Pass::forward, rank);
    const sequence::TensorSet state =
        sequence::set_of(Tensor::query, Tensor::key, Tensor::value, Tensor::output, Tensor::logsumexp);
    raise(figures_.sent.forward, sequence::bytes_sent(problem_, list));
    raise(figures_.received.forward, sequence::bytes_received(problem_, list));
    if (rank == grid_.ranks() - 1)
      raise(figures_.memory, sequence::bytes(problem_, owned(rank, state)) + sequence::buffer_bytes(problem_, list));
    raise(most_pairs_, sequence::pairs(problem_, list));
    for (const sequence::Tile& tile : list.tiles)
      figures_.whole_heads = figures_.whole_heads && tile.heads == sequence::all_heads(problem_);
    return messages_of(list);
  }

  std::int64_t backward(std::int64_t rank) {
    const sequence::RankList list = scheme_.list(problem_, grid_, Pass::backward, rank);
    const sequence::TensorSet gradients = sequence::set_of(
        Tensor::output_gradient, Tensor::delta, Tensor::query_gradient, Tensor::key_gradient, Tensor::value_gradient);
    const sequence::Parcel own = owned(rank, gradients), kept = scheme_.kept(problem_, grid_, rank);
    raise(figures_.sent.backward, sequence::bytes_sent(problem_, list));
    raise(figures_.received.backward, sequence::bytes_received(problem_, list));
    raise(figures_.memory,
          sequence::bytes(problem_, kept) + sequence::bytes(problem_, own) + sequence::buffer_bytes(problem_, list));
    figures_.keeps_owned = figures_.keeps_owned && sequence::count(kept.tokens) <= sequence::count(own.tokens);
    return messages_of(list);
  }

  double mean_pairs() const {
    const sequence::Tokens all{{.first = 0, .count = problem_.tokens, .stride = 1}};
    const std::int64_t pairs = sequence::pairs(problem_, all, all) * problem_.heads * problem_.sequences;
    return static_cast<double>(pairs) / static_cast<double>(grid_.ranks());
  }

  const sequence::Problem& problem_;
  const sequence::Scheme& scheme_;
  const sequence::Grid& grid_;
  RankFigures figures_;
  std::int64_t most_pairs_ = 0;
};

}  // namespace

RankFigures rank_figures(const sequence::Problem& problem, const sequence::Scheme& scheme, const sequence::Grid& grid,
                         bool backward) {
  return Figures(problem, scheme, grid).of_all(backward);
}

}  // namespace cairn::attention
