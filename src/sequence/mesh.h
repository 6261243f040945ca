// Rows and columns of ranks for ATTENTION2D: rank = row * columns + column. A rank computes queries that its row owns
// against keys that its column holds.
//
// Under a full mask any tokens will do: contiguous blocks, or tokens = residue (mod p).
//
// Under a causal mask work is even, and kernels can state the mask by places (local_offset), where the queries of row i
// are the tokens = i (mod r) and the keys of column j those = j (mod c). A rank that owns tokens = x (mod p) can use
// both its queries and its keys where it stands only if x = i (mod r) and x = j (mod c), which some x satisfies only if
// i = j (mod g), g = gcd(r, c). So in a mesh with g = 1 nobody sends keys elsewhere first, and in any other at least
// the p - p/g ranks with i != j (mod g) must. Exactly these do here:
//   [a, b] is the least x with x = a (mod r), x = b (mod c), for a = b (mod g); lcm(r, c) = p/g more is as good.
//   With k = (j - i) mod g, rank (i, j) owns the tokens     [i, j - k] + k p/g  (mod p),
//                           and computes with the keys of   [i + k, j] + k p/g  (mod p),
//   which rank (i + k, j + k) owns. Along a row j - k and k tell the columns apart, along a column i + k and k the rows:
//   both are all residues = i (mod r), or = j (mod c). Where k = 0 they are the same tokens.
#pragma once

#include <cstdint>

#include "families.h"

namespace cairn::sequence {

class Mesh {
 public:
  Mesh(const Problem& problem, const Grid& grid);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t ranks() const { return rows_ * columns_; }
  std::int64_t row(std::int64_t rank) const { return rank / columns_; }
  std::int64_t column(std::int64_t rank) const { return rank % columns_; }
  // Row and column wrap around.
  std::int64_t rank(std::int64_t row, std::int64_t column) const;
  Peers row_peers(std::int64_t rank) const { return {.first = row(rank) * columns_, .count = columns_}; }
  Peers column_peers(std::int64_t rank) const { return {.first = column(rank), .count = rows_, .stride = columns_}; }

  Tokens owned(std::int64_t rank) const;
  // Of the keys and values that a rank brings into its column.
  Tokens keys(std::int64_t rank) const;
  // Whether keys and values move before that, in some rank of the mesh.
  bool moves_keys() const { return causal_ && common_ > 1; }
  // From which rank they come, and to which this rank's go: itself where they stay.
  std::int64_t keys_from(std::int64_t rank) const;
  std::int64_t keys_to(std::int64_t rank) const;

  // The queries of the rank's row, and the keys of its column. Under a causal mask each is one run.
  Tokens row_queries(std::int64_t rank) const;
  Tokens column_keys(std::int64_t rank) const;

 private:
  std::int64_t diagonal(std::int64_t rank) const;  // k
  // [row, column]. With row + s r = column (mod c), s = (column - row) / g * (r / g)^-1 (mod c / g).
  std::int64_t residue(std::int64_t row, std::int64_t column) const;
  Tokens with_residue(std::int64_t residue, std::int64_t modulus) const;

  std::int64_t tokens_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t common_;    // g
  std::int64_t multiple_;  // lcm(r, c)
  Layout layout_;
  bool causal_;
  std::int64_t inverse_ = 1;  // of r / g modulo c / g
};

// Calls that both variants of ATTENTION2D make. Each adds nothing where there is nobody to speak to.

// Keys and values to where they are used, or the parts of their gradients back to their owners.
void add_move_of_keys(RankList& list, const Share& share, const Mesh& mesh, std::int32_t stage);
void add_return_of_key_gradients(RankList& list, const Share& share, const Mesh& mesh, std::int32_t stage);

std::optional<std::string> refuses_causal_blocks(const Problem& problem, const Grid& grid);
Tokens owned_in_mesh(const Problem& problem, const Grid& grid, std::int64_t rank);

}  // namespace cairn::sequence
