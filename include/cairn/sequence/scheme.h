// Schemes of sharing attention, by name. A new one is one file in src/sequence and one line in
// src/sequence/schemes.def; the laws in tests/sequence go over all of them.
//
// Every scheme that cuts tokens can stand inside a split of heads (Grid::head_ranks): u ranks exchange tokens for heads
// before and after it (all-to-all), and each of them runs the scheme over p / u ranks for heads / u.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/sequence/list.h"

namespace cairn::sequence {

// Which tokens the ranks own, j of p ranks that share tokens:
//   contiguous  n/p in a row
//   striped     every p-th, from j; in a 2-d grid from a number that is j in another order, such that the rows own the
//               tokens of one remainder by their number
//   zigzag      chunks j and 2p - 1 - j of 2p
// Ranks that split heads own equal pieces of these, one behind the other.
enum class Layout : std::uint8_t { contiguous, striped, zigzag };
std::string_view name(Layout layout);

// How p = head_ranks x rows x columns ranks stand. Rank j of those that share tokens is j = row x columns + column, and
// in window j / window; with head rank h it is rank j x head_ranks + h where heads are inner, else
// h x token_ranks + j.
struct Grid {
  std::int64_t head_ranks = 1;  // u: ranks that split the heads
  bool heads_inner = true;      // consecutive ranks split heads; else they share tokens
  std::int64_t rows = 1;        // of a 2-d scheme; others: 1
  std::int64_t columns = 1;     // ranks of a row; of others: ranks that share tokens
  std::int64_t window = 1;      // ranks of an inner ring, of a double ring; others: 1
  Layout layout = Layout::contiguous;

  std::int64_t token_ranks() const { return rows * columns; }
  std::int64_t ranks() const { return head_ranks * token_ranks(); }
  friend bool operator==(const Grid&, const Grid&) = default;
};
// "8", "4 x 2 (heads 2)", "4 (heads 2 outside, window 2, zigzag)", ...
std::string text(const Grid& grid);

struct Scheme {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  bool splits_heads = false;  // its grids may have head_ranks > 1
  // All grids of that many ranks that the scheme can stand in, whatever the problem.
  std::vector<Grid> (*grids)(std::int64_t ranks);
  // Why the scheme cannot share this problem so, in words for the user; nothing where it can. The other functions are
  // for what is not refused.
  std::optional<std::string> (*refusal)(const Problem& problem, const Grid& grid);
  // The tokens that a rank owns before and after.
  Tokens (*owned)(const Problem& problem, const Grid& grid, std::int64_t rank);
  RankList (*list)(const Problem& problem, const Grid& grid, Pass pass, std::int64_t rank);
  // What a rank keeps from its forward pass for its backward pass: Q, K, V, O and log-sum-exp of these tokens and
  // heads.
  Parcel (*kept)(const Problem& problem, const Grid& grid, std::int64_t rank);
};

std::span<const Scheme> schemes();
std::vector<std::string> scheme_names();
// Throws core::ConfigurationError for an unknown name.
const Scheme& scheme(std::string_view name);

}  // namespace cairn::sequence
