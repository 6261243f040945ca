// The ways of sharing tokens behind schemes.def. Each lives in a file of its own and knows nothing of splits of heads
// (head_split.h), which give it some of the heads and number its ranks 0 ... token_ranks - 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cairn/sequence/scheme.h"

namespace cairn::sequence {

// What one of the ranks that share tokens has to do.
struct Share {
  const Problem& problem;
  const Grid& grid;
  Heads heads;
  Pass pass;
  std::int64_t rank;

  std::int64_t ranks() const { return grid.token_ranks(); }
};

// How the ranks of a family stand: in one line, in a line of windows, or in rows and columns.
enum class Shape : std::uint8_t { line, windows, rectangle };

struct Family {
  Shape shape;
  // Beyond what every scheme asks for.
  std::optional<std::string> (*refusal)(const Problem& problem, const Grid& grid);
  Tokens (*owned)(const Problem& problem, const Grid& grid, std::int64_t rank);
  RankList (*list)(const Share& share);
};

#define CAIRN_SEQUENCE_SCHEME(name, family, layouts, heads, summary, source) extern const Family k_##family;
#include "schemes.def"
#undef CAIRN_SEQUENCE_SCHEME

// Of a family that can share whatever can be cut.
std::optional<std::string> refuses_nothing(const Problem& problem, const Grid& grid);
// Of ranks in a line: as Grid::layout says.
Tokens owned_in_line(const Problem& problem, const Grid& grid, std::int64_t rank);

// What the messages of a family carry to the ranks that compute tiles, and the results that come back.
constexpr TensorSet k_keys = set_of(Tensor::key, Tensor::value);
constexpr TensorSet k_key_gradients = set_of(Tensor::key_gradient, Tensor::value_gradient);
constexpr TensorSet query_operands(Pass pass) {
  return pass == Pass::forward ? set_of(Tensor::query)
                               : set_of(Tensor::query, Tensor::output_gradient, Tensor::logsumexp, Tensor::delta);
}
constexpr TensorSet query_results(Pass pass) {
  return pass == Pass::forward ? set_of(Tensor::output, Tensor::logsumexp) : set_of(Tensor::query_gradient);
}

}  // namespace cairn::sequence
