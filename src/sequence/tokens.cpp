#include "cairn/sequence/tokens.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/loopnest/domain.h"

namespace cairn::sequence {
namespace {

std::int64_t last(const TokenRun& run) { return run.first + (run.count - 1) * run.stride; }

void append(Tokens& tokens, const TokenRun& run) {
  if (run.count == 0) return;
  CAIRN_ASSERT(run.count > 0 && run.stride > 0);
  if (!tokens.empty()) {
    TokenRun& before = tokens.back();
    // A run of one token takes the stride of its neighbour.
    const std::int64_t stride = before.count > 1 ? before.stride : run.count > 1 ? run.stride : 1;
    const bool alike = (before.count == 1 || before.stride == stride) && (run.count == 1 || run.stride == stride);
    if (alike && run.first == before.first + before.count * stride) {
      before = {.first = before.first, .count = before.count + run.count, .stride = stride};
      return;
    }
  }
  tokens.push_back(run);
}

// The tokens of a run that are of one document, and the place of the first of them in the set.
struct Piece {
  std::int64_t place = 0;
  std::size_t document = 0;
  TokenRun run = {};
};

using Pieces = boost::container::small_vector<Piece, 2>;

Pieces pieces(const Problem& problem, const Tokens& tokens) {
  Pieces all;
  std::int64_t place = 0;
  if (problem.documents.empty()) {
    for (const TokenRun& run : tokens) {
      CAIRN_ASSERT(run.stride > 0);
      if (run.count > 0) all.push_back({.place = place, .run = run});
      place += run.count;
    }
    return all;
  }
  std::vector<std::int64_t> ends;
  for (const std::int64_t length : problem.documents) ends.push_back(length + (ends.empty() ? 0 : ends.back()));
  for (const TokenRun& run : tokens) {
    CAIRN_ASSERT(run.stride > 0);
    for (std::int64_t begin = 0; begin < run.count;) {
      const std::int64_t first = run.first + begin * run.stride;
      const auto document = std::upper_bound(ends.begin(), ends.end(), first);
      CAIRN_ASSERT(document != ends.end());
      const std::int64_t count = std::min(run.count - begin, (*document - 1 - first) / run.stride + 1);
      all.push_back({.place = place + begin,
                     .document = static_cast<std::size_t>(document - ends.begin()),
                     .run = {.first = first, .count = count, .stride = run.stride}});
      begin += count;
    }
    place += run.count;
  }
  return all;
}

// Pairs (i, j) of tokens of two runs with later_i >= earlier_j + lag.
std::int64_t ordered_pairs(const TokenRun& later, const TokenRun& earlier, std::int64_t lag) {
  if (later.first >= last(earlier) + lag) return later.count * earlier.count;
  if (last(later) < earlier.first + lag) return 0;
  if (later.stride == earlier.stride) {
    // j <= i + ahead: from row `some` on there are i + ahead + 1, from row `all` on as many as there are.
    const std::int64_t first = later.first - earlier.first - lag;
    const std::int64_t ahead = (first - (first < 0 ? later.stride - 1 : 0)) / later.stride;
    const std::int64_t some = std::max<std::int64_t>(-ahead, 0), all = std::min(later.count, earlier.count - ahead);
    return (all - some) * (some + all + 2 * ahead + 1) / 2 + (later.count - all) * earlier.count;
  }
  CAIRN_ASSERT(later.stride <= std::numeric_limits<std::int32_t>::max());
  CAIRN_ASSERT(earlier.stride <= std::numeric_limits<std::int32_t>::max());
  loopnest::Domain domain;
  const loopnest::DimId i = domain.add("i", loopnest::Extent::of(later.count));
  const loopnest::DimId j = domain.add("j", loopnest::Extent::of(earlier.count));
  domain.add_guard({.terms = {{.dim = i, .stride = static_cast<std::int32_t>(later.stride)},
                              {.dim = j, .stride = -static_cast<std::int32_t>(earlier.stride)}},
                    .offset = later.first - earlier.first - lag});
  return domain.points(domain.box({}));
}

// Of the differences j - i of places: the visible pairs have at most `visible`, the masked ones at least `masked`.
struct Differences {
  static constexpr std::int64_t k_none = std::numeric_limits<std::int64_t>::max();
  std::int64_t visible = -k_none;
  std::int64_t masked = k_none;
};

// Largest j - i, i < rows, j < columns, with a i + d >= b j; nothing where no pair fulfils that. Row i reaches up to
// column min(columns - 1, floor((a i + d) / b)). The difference falls with i where a <= b; elsewhere it rises until the
// last column is reached, and falls behind that.
std::optional<std::int64_t> largest_difference(const TokenRun& row, const TokenRun& column, std::int64_t d) {
  const std::int64_t a = row.stride, b = column.stride;
  const auto rows_until = [&](std::int64_t reached) { return reached <= 0 ? 0 : (reached + a - 1) / a; };
  const std::int64_t first = rows_until(-d);
  const std::int64_t full = rows_until(b * (column.count - 1) - d);
  std::optional<std::int64_t> largest;
  for (const std::int64_t i : {first, full - 1, full, row.count - 1}) {
    if (i < first || i >= row.count) continue;
    const std::int64_t difference = std::min(column.count - 1, (a * i + d) / b) - i;
    largest = std::max(largest.value_or(difference), difference);
  }
  return largest;
}

void add_differences(Differences& all, Mask mask, const Piece& query, const Piece& key) {
  const std::int64_t from = key.place - query.place;
  if (query.document != key.document) {
    all.masked = std::min(all.masked, from - (query.run.count - 1));
    return;
  }
  if (mask == Mask::full) {
    all.visible = std::max(all.visible, from + key.run.count - 1);
    return;
  }
  const std::int64_t ahead = query.run.first - key.run.first;
  if (const auto visible = largest_difference(query.run, key.run, ahead))
    all.visible = std::max(all.visible, from + *visible);
  // Masked is k > q: the same with queries and keys exchanged.
  if (const auto masked = largest_difference(key.run, query.run, -ahead - 1))
    all.masked = std::min(all.masked, from - *masked);
}

}  // namespace

std::int64_t count(const Tokens& tokens) {
  std::int64_t sum = 0;
  for (const TokenRun& run : tokens) sum += run.count;
  return sum;
}

std::int64_t position(const Tokens& tokens, std::int64_t index) {
  CAIRN_ASSERT(index >= 0);
  for (const TokenRun& run : tokens) {
    if (index < run.count) return run.first + index * run.stride;
    index -= run.count;
  }
  core::fail_assertion("index < count(tokens)", __FILE__, __LINE__);
}

std::vector<std::int64_t> positions(const Tokens& tokens) {
  std::vector<std::int64_t> all;
  all.reserve(static_cast<std::size_t>(count(tokens)));
  for (const TokenRun& run : tokens)
    for (std::int64_t i = 0; i < run.count; ++i) all.push_back(run.first + i * run.stride);
  return all;
}

Tokens slice(const Tokens& tokens, std::int64_t begin, std::int64_t end) {
  CAIRN_ASSERT(0 <= begin && begin <= end && end <= count(tokens));
  Tokens sliced;
  std::int64_t place = 0;
  for (const TokenRun& run : tokens) {
    const std::int64_t from = std::clamp<std::int64_t>(begin - place, 0, run.count);
    const std::int64_t to = std::clamp<std::int64_t>(end - place, 0, run.count);
    append(sliced, {.first = run.first + from * run.stride, .count = to - from, .stride = run.stride});
    place += run.count;
  }
  return sliced;
}

Tokens joined(const Tokens& first, const Tokens& second) {
  Tokens all;
  for (const TokenRun& run : first) append(all, run);
  for (const TokenRun& run : second) append(all, run);
  return all;
}

std::int64_t common(const Tokens& first, const Tokens& second) {
  std::int64_t sum = 0;
  for (const TokenRun& a : first)
    for (const TokenRun& b : second)
      if (last(a) >= b.first && last(b) >= a.first && (a.first - b.first) % std::gcd(a.stride, b.stride) == 0)
        sum += ordered_pairs(a, b, 0) - ordered_pairs(a, b, 1);
  return sum;
}

std::int64_t pairs(const Problem& problem, const Tokens& queries, const Tokens& keys) {
  const auto by_document = [](const Piece& a, const Piece& b) { return a.document < b.document; };
  Pieces key_pieces = pieces(problem, keys);
  std::sort(key_pieces.begin(), key_pieces.end(), by_document);
  std::int64_t sum = 0;
  for (const Piece& query : pieces(problem, queries)) {
    const auto [begin, end] = std::equal_range(key_pieces.begin(), key_pieces.end(), query, by_document);
    for (auto key = begin; key != end; ++key)
      sum += problem.mask == Mask::full ? query.run.count * key->run.count : ordered_pairs(query.run, key->run, 0);
  }
  return sum;
}

std::optional<std::int64_t> local_offset(const Problem& problem, const Tokens& queries, const Tokens& keys) {
  const Pieces key_pieces = pieces(problem, keys);
  Differences differences;
  for (const Piece& query : pieces(problem, queries))
    for (const Piece& key : key_pieces) {
      add_differences(differences, problem.mask, query, key);
      if (differences.visible >= differences.masked) return std::nullopt;
    }
  if (differences.masked == Differences::k_none) return count(keys) - 1;
  return differences.visible == -Differences::k_none ? differences.masked - 1 : differences.visible;
}

}  // namespace cairn::sequence
