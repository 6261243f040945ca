#include "mesh.h"

#include <numeric>

#include "calls.h"
#include "layouts.h"

namespace cairn::sequence {

Mesh::Mesh(const Problem& problem, const Grid& grid)
    : tokens_(problem.tokens),
      rows_(grid.rows),
      columns_(grid.columns),
      common_(std::gcd(rows_, columns_)),
      multiple_(std::lcm(rows_, columns_)),
      layout_(grid.layout),
      causal_(problem.mask == Mask::causal) {
  const std::int64_t modulus = columns_ / common_;
  while (rows_ / common_ * inverse_ % modulus != 1 % modulus) ++inverse_;
}

std::int64_t Mesh::rank(std::int64_t row, std::int64_t column) const {
  const auto wrapped = [](std::int64_t value, std::int64_t modulus) { return ((value % modulus) + modulus) % modulus; };
  return wrapped(row, rows_) * columns_ + wrapped(column, columns_);
}

std::int64_t Mesh::diagonal(std::int64_t rank) const {
  return (column(rank) % common_ + common_ - row(rank) % common_) % common_;
}

std::int64_t Mesh::residue(std::int64_t row, std::int64_t column) const {
  const std::int64_t modulus = columns_ / common_;
  const std::int64_t steps = (column - row) / common_ % modulus * inverse_ % modulus;
  return row + (steps + modulus) % modulus * rows_;
}

Tokens Mesh::with_residue(std::int64_t residue, std::int64_t modulus) const {
  return {{.first = residue, .count = tokens_ / modulus, .stride = modulus}};
}

Tokens Mesh::owned(std::int64_t rank) const {
  if (layout_ == Layout::contiguous) return tokens_of(layout_, tokens_, ranks(), rank);
  const std::int64_t along = diagonal(rank);
  const std::int64_t kept_column = (column(rank) + columns_ - along) % columns_;
  return with_residue(residue(row(rank), kept_column) + along * multiple_, ranks());
}

Tokens Mesh::keys(std::int64_t rank) const { return owned(keys_from(rank)); }

std::int64_t Mesh::keys_from(std::int64_t rank) const {
  const std::int64_t along = causal_ ? diagonal(rank) : 0;
  return this->rank(row(rank) + along, column(rank) + along);
}

std::int64_t Mesh::keys_to(std::int64_t rank) const {
  const std::int64_t along = causal_ ? diagonal(rank) : 0;
  return this->rank(row(rank) - along, column(rank) - along);
}

Tokens Mesh::row_queries(std::int64_t rank) const {
  if (layout_ == Layout::striped) return with_residue(row(rank), rows_);
  return slice(tokens_of(layout_, tokens_, rows_, row(rank)), 0, tokens_ / rows_);
}

Tokens Mesh::column_keys(std::int64_t rank) const {
  if (causal_) return with_residue(column(rank), columns_);
  Tokens held;
  for (std::int64_t row = 0; row < rows_; ++row)
    for (const TokenRun& run : keys(this->rank(row, column(rank)))) held.push_back(run);
  return joined(held, {});
}

void add_move_of_keys(RankList& list, const Share& share, const Mesh& mesh, std::int32_t stage) {
  const std::int64_t from = mesh.keys_from(share.rank), to = mesh.keys_to(share.rank);
  if (from == share.rank) return;
  const auto message = [&](std::int64_t peer, const Tokens& tokens) {
    return Message{.peer = peer, .parcel = {.tensors = k_keys, .tokens = tokens, .heads = share.heads}};
  };
  const Peers all{.count = mesh.ranks()};
  list.calls.push_back(hop(all, anywhere(all), during(stage), message(to, mesh.owned(share.rank)),
                           message(from, mesh.keys(share.rank))));
}

void add_return_of_key_gradients(RankList& list, const Share& share, const Mesh& mesh, std::int32_t stage) {
  const std::int64_t from = mesh.keys_to(share.rank), to = mesh.keys_from(share.rank);
  if (from == share.rank) return;
  const auto message = [&](std::int64_t peer, const Tokens& tokens) {
    return Message{
        .peer = peer, .parcel = {.tensors = k_key_gradients, .tokens = tokens, .heads = share.heads}, .gives = true};
  };
  const Peers all{.count = mesh.ranks()};
  list.calls.push_back(hop(all, anywhere(all), during(stage), message(to, mesh.keys(share.rank)),
                           message(from, mesh.owned(share.rank))));
}

std::optional<std::string> refuses_causal_blocks(const Problem& problem, const Grid& grid) {
  if (problem.mask != Mask::causal || grid.layout == Layout::striped) return std::nullopt;
  return "contiguous blocks leave the ranks of a 2-d grid uneven work under a causal mask: the layout must be striped";
}

Tokens owned_in_mesh(const Problem& problem, const Grid& grid, std::int64_t rank) {
  return Mesh(problem, grid).owned(rank);
}

}  // namespace cairn::sequence
