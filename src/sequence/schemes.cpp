#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/sequence/other_scheme.h"
#include "cairn/sequence/scheme.h"
#include "families.h"
#include "head_split.h"
#include "layouts.h"

namespace cairn::sequence {
namespace {

constexpr std::array k_layouts{Layout::contiguous, Layout::striped, Layout::zigzag};

using LayoutSet = std::uint8_t;
template <class... Layouts>
constexpr LayoutSet any_of(Layouts... layouts) {
  return static_cast<LayoutSet>(((1U << static_cast<unsigned>(layouts)) | ...));
}
constexpr bool contains(LayoutSet set, Layout layout) { return (set & any_of(layout)) != 0; }

// Which ranks split heads: none of them, all, consecutive ones, or also those that are token_ranks apart.
enum class HeadSplit : std::uint8_t { none, alone, inner, either };

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> all;
  for (std::int64_t divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0) all.push_back(divisor);
  return all;
}

// Ways to stand for the ranks that share tokens.
std::vector<Grid> token_grids(Shape shape, std::int64_t ranks) {
  std::vector<Grid> grids;
  if (shape == Shape::line) return {{.columns = ranks}};
  for (const std::int64_t part : divisors(ranks))
    grids.push_back(shape == Shape::windows ? Grid{.columns = ranks, .window = part}
                                            : Grid{.rows = part, .columns = ranks / part});
  return grids;
}

bool allowed(HeadSplit split, std::int64_t head_ranks, std::int64_t ranks) {
  return split == HeadSplit::none ? head_ranks == 1 : split != HeadSplit::alone || head_ranks == ranks;
}

std::vector<Grid> grids_of(Shape shape, LayoutSet layouts, HeadSplit split, std::int64_t ranks) {
  std::vector<Grid> grids;
  for (const std::int64_t head_ranks : divisors(ranks)) {
    if (!allowed(split, head_ranks, ranks)) continue;
    const bool both = split == HeadSplit::either && head_ranks > 1 && head_ranks < ranks;
    for (Grid grid : token_grids(shape, ranks / head_ranks))
      for (const Layout layout : k_layouts) {
        if (!contains(layouts, layout)) continue;
        grid.head_ranks = head_ranks;
        grid.layout = layout;
        for (const bool inner : both ? std::vector{true, false} : std::vector{true}) {
          grid.heads_inner = inner;
          grids.push_back(grid);
        }
      }
  }
  return grids;
}

std::optional<std::string> refuses_grid(const Grid& grid, Shape shape, LayoutSet layouts, HeadSplit split) {
  if (std::min({grid.head_ranks, grid.rows, grid.columns, grid.window}) < 1)
    return "a grid has no ranks: head_ranks, rows, columns and window are 1 or more";
  if (split == HeadSplit::none && grid.head_ranks > 1)
    return fmt::format("the scheme splits no heads: head_ranks must be 1, not {}", grid.head_ranks);
  if (split == HeadSplit::alone && grid.token_ranks() > 1)
    return fmt::format("the scheme splits heads alone: {} ranks cannot share tokens", grid.token_ranks());
  if (split != HeadSplit::either && !grid.heads_inner) return "the ranks that split heads must be consecutive";
  if (shape != Shape::rectangle && grid.rows > 1)
    return fmt::format("the scheme has no rows of ranks: rows must be 1, not {}", grid.rows);
  if (shape != Shape::windows && grid.window > 1)
    return fmt::format("the scheme has no inner ring: window must be 1, not {}", grid.window);
  if (grid.columns % grid.window != 0)
    return fmt::format("windows of {} cannot cut a ring of {} ranks: the window must divide it", grid.window,
                       grid.columns);
  if (!contains(layouts, grid.layout))
    return fmt::format("the scheme does not take tokens in the {} layout", name(grid.layout));
  return std::nullopt;
}

std::optional<std::string> refuses_tokens(const Problem& problem, const Grid& grid) {
  const std::int64_t pieces = std::lcm(chunks_of_rank(grid.layout), grid.head_ranks) * grid.token_ranks();
  if (problem.tokens % pieces == 0 && problem.tokens > 0) return std::nullopt;
  const std::int64_t padded = std::max<std::int64_t>((problem.tokens + pieces - 1) / pieces, 1) * pieces;
  return fmt::format("{} tokens cannot be cut into the {} equal pieces of the {} layout over {} ranks: pad to {}",
                     problem.tokens, pieces, name(grid.layout), grid.ranks(), padded);
}

template <const Family& family, LayoutSet layouts, HeadSplit split>
struct Offered {
  static std::vector<Grid> grids(std::int64_t ranks) { return grids_of(family.shape, layouts, split, ranks); }
  static std::optional<std::string> refusal(const Problem& problem, const Grid& grid) {
    if (auto why = refuses_grid(grid, family.shape, layouts, split)) return why;
    if (auto why = refuses_heads(problem, grid)) return why;
    if (auto why = refuses_tokens(problem, grid)) return why;
    return family.refusal(problem, grid);
  }
};

// The same for all schemes of a family: in one grid they have the same lists, whose function tells.
template <const Family& family>
struct Shared {
  static Tokens owned(const Problem& problem, const Grid& grid, std::int64_t rank) {
    return owned_of_split(family, problem, grid, rank);
  }
  static RankList list(const Problem& problem, const Grid& grid, Pass pass, std::int64_t rank) {
    return list_of_split(family, problem, grid, pass, rank);
  }
  static Parcel kept(const Problem& problem, const Grid& grid, std::int64_t rank) {
    return kept_of_split(family, problem, grid, rank);
  }
};

template <const Family& family, LayoutSet layouts, HeadSplit split>
constexpr Scheme registered(std::string_view name, std::string_view summary, std::string_view source) {
  using Grids = Offered<family, layouts, split>;
  using Lists = Shared<family>;
  return {.name = name,
          .summary = summary,
          .source = source,
          .splits_heads = split != HeadSplit::none,
          .grids = Grids::grids,
          .refusal = Grids::refusal,
          .owned = Lists::owned,
          .list = Lists::list,
          .kept = Lists::kept};
}

constexpr std::array k_schemes{
#define CAIRN_SEQUENCE_SCHEME(name, family, layouts, heads, summary, source) \
  registered<k_##family, layouts, HeadSplit::heads>(name, summary, source),
#include "schemes.def"
#undef CAIRN_SEQUENCE_SCHEME
};

}  // namespace

std::string text(const Grid& grid) {
  std::vector<std::string> notes;
  if (grid.head_ranks > 1)
    notes.push_back(fmt::format("heads {}{}", grid.head_ranks, grid.heads_inner ? "" : " outside"));
  if (grid.window > 1) notes.push_back(fmt::format("window {}", grid.window));
  if (grid.layout != Layout::contiguous) notes.emplace_back(name(grid.layout));
  const std::string ranks =
      grid.rows > 1 ? fmt::format("{} x {}", grid.rows, grid.columns) : std::to_string(grid.columns);
  return notes.empty() ? ranks : fmt::format("{} ({})", ranks, fmt::join(notes, ", "));
}

std::span<const Scheme> schemes() { return k_schemes; }

std::vector<std::string> scheme_names() {
  std::vector<std::string> names;
  for (const Scheme& each : k_schemes) names.emplace_back(each.name);
  return names;
}

const Scheme& scheme(std::string_view name) {
  const auto found =
      std::find_if(k_schemes.begin(), k_schemes.end(), [&](const Scheme& each) { return each.name == name; });
  if (found != k_schemes.end()) return *found;
  const std::string use = other_use(name);
  throw core::ConfigurationError("scheme", use.empty() ? fmt::format("unknown sharing of attention '{}'", name) : use,
                                 fmt::format("known: {}", fmt::join(scheme_names(), ", ")));
}

}  // namespace cairn::sequence
