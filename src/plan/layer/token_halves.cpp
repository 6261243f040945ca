#include "cairn/plan/token_halves.h"
#include "vocabulary.h"

#include <algorithm>
#include <array>

namespace cairn::plan {

bool counts_tokens(std::string_view dimension) {
  constexpr std::array<std::string_view, 3> k_tokens{"sequence", "query", "key"};
  return std::find(k_tokens.begin(), k_tokens.end(), dimension) != k_tokens.end();
}

bool has_tokens(const ir::Operator& op) {
  return std::any_of(op.domain.dims().begin(), op.domain.dims().end(),
                     [](const loopnest::Dim& dim) { return counts_tokens(dim.name); });
}

const ir::Operator* without_tokens(const ir::Graph& layer) {
  const auto first = layer.operators().begin();
  const auto end = first + static_cast<std::ptrdiff_t>(layer.forward_count());
  const auto found = std::find_if_not(first, end, has_tokens);
  return found == end ? nullptr : &*found;
}

}  // namespace cairn::plan
