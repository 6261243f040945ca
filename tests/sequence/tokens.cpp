// Sets of tokens against the positions that they stand for, one by one.
#include "cairn/sequence/tokens.h"

#include <algorithm>
#include <set>

#include "cairn/core/random.h"
#include "catch.h"
#include "sequence/by_hand.h"

using namespace cairn;
using namespace cairn::sequence;
using test::chunk;
using test::striped;

namespace {

constexpr std::int64_t k_tokens = 48;

std::int64_t below(core::Random& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
}

// Up to three runs in any order, no position twice: kernels have queries and keys in the order of their memory.
Tokens random_tokens(core::Random& random) {
  Tokens tokens;
  std::set<std::int64_t> taken;
  for (std::int64_t left = 1 + below(random, 3); left > 0; --left) {
    const std::int64_t stride = 1 + below(random, 9), first = below(random, k_tokens);
    const TokenRun run{
        .first = first, .count = 1 + below(random, (k_tokens - 1 - first) / stride + 1), .stride = stride};
    std::set<std::int64_t> with = taken;
    for (const std::int64_t each : positions({run})) with.insert(each);
    if (with.size() != taken.size() + static_cast<std::size_t>(run.count)) continue;
    taken = with;
    tokens.push_back(run);
  }
  return tokens;
}

Problem random_problem(core::Random& random) {
  Problem problem{.tokens = k_tokens, .mask = random.below(2) == 0 ? Mask::full : Mask::causal};
  if (random.below(2) == 0) return problem;
  for (std::int64_t left = k_tokens; left > 0; left -= problem.documents.back())
    problem.documents.push_back(1 + below(random, left));
  return problem;
}

std::int64_t counted_pairs(const Problem& problem, const Tokens& queries, const Tokens& keys) {
  std::int64_t sum = 0;
  for (const std::int64_t q : positions(queries))
    for (const std::int64_t k : positions(keys)) sum += problem.sees(q, k) ? 1 : 0;
  return sum;
}

bool gives_mask(const Problem& problem, const Tokens& queries, const Tokens& keys, std::int64_t offset) {
  for (std::int64_t i = 0; i < count(queries); ++i)
    for (std::int64_t j = 0; j < count(keys); ++j)
      if (problem.sees(position(queries, i), position(keys, j)) != (i + offset >= j)) return false;
  return true;
}

// The least from -count(queries), which masks all, to count(keys) - 1, which masks nothing.
std::optional<std::int64_t> least_offset(const Problem& problem, const Tokens& queries, const Tokens& keys) {
  for (std::int64_t offset = -count(queries); offset < count(keys); ++offset)
    if (gives_mask(problem, queries, keys, offset)) return offset;
  return std::nullopt;
}

std::string shown(const Tokens& tokens) {
  std::string text;
  for (const std::int64_t each : positions(tokens)) text += std::to_string(each) + " ";
  return text;
}

// Rank j of p with n tokens.
Tokens zigzag(std::int64_t j, std::int64_t p, std::int64_t n) {
  return joined(chunk(j * n / (2 * p), n / (2 * p)), chunk((2 * p - 1 - j) * n / (2 * p), n / (2 * p)));
}

}  // namespace

TEST_CASE("a query sees the keys before it, of its document") {
  const Problem causal{.tokens = 4};
  CHECK(causal.sees(2, 2));
  CHECK(causal.sees(2, 0));
  CHECK(!causal.sees(2, 3));
  const Problem full{.tokens = 4, .mask = Mask::full};
  CHECK(full.sees(0, 3));
  const Problem packed{.tokens = 4, .mask = Mask::full, .documents = {1, 2, 1}};
  CHECK(packed.sees(1, 2));
  CHECK(packed.sees(2, 1));
  CHECK(!packed.sees(0, 1));
  CHECK(!packed.sees(3, 2));
}

// 8 query heads read 2 key heads: 0 to 3 the first, 4 to 7 the second.
TEST_CASE("query heads name the key heads that they read") {
  const Problem problem{.heads = 8, .kv_heads = 2};
  CHECK(kv_heads(problem, {.first = 0, .count = 8}) == Heads{.first = 0, .count = 2});
  CHECK(kv_heads(problem, {.first = 2, .count = 2}) == Heads{.first = 0, .count = 1});
  CHECK(kv_heads(problem, {.first = 3, .count = 2}) == Heads{.first = 0, .count = 2});
  CHECK(kv_heads(problem, {.first = 4, .count = 1}) == Heads{.first = 1, .count = 1});
  CHECK(kv_heads(problem, {.first = 4, .count = 0}).count == 0);
  CHECK(heads_of(problem, Tensor::value_gradient, {.first = 4, .count = 4}) == Heads{.first = 1, .count = 1});
  CHECK(heads_of(problem, Tensor::output, {.first = 4, .count = 4}) == Heads{.first = 4, .count = 4});
}

TEST_CASE("slices and joined sets have the positions of their parts, in order") {
  core::Random random(1);
  for (int trial = 0; trial < 400; ++trial) {
    const Tokens first = random_tokens(random), second = random_tokens(random);
    INFO(shown(first) << "and " << shown(second));
    std::vector<std::int64_t> both = positions(first);
    const std::vector<std::int64_t> others = positions(second);
    both.insert(both.end(), others.begin(), others.end());
    const Tokens all = joined(first, second);
    CHECK(positions(all) == both);
    CHECK(count(all) == static_cast<std::int64_t>(both.size()));
    const std::int64_t begin = below(random, count(all) + 1), end = begin + below(random, count(all) - begin + 1);
    CHECK(positions(slice(all, begin, end)) == std::vector<std::int64_t>(both.begin() + begin, both.begin() + end));
    for (std::int64_t i = 0; i < count(all); ++i) CHECK(position(all, i) == both[static_cast<std::size_t>(i)]);
    CHECK(common(first, second) == std::count_if(others.begin(), others.end(), [&](std::int64_t each) {
            return std::find(both.begin(), both.begin() + count(first), each) != both.begin() + count(first);
          }));
  }
}

TEST_CASE("runs that continue each other are one") {
  CHECK(joined(chunk(0, 4), chunk(4, 2)) == chunk(0, 6));
  CHECK(joined(chunk(4, 1), chunk(5, 1)) == chunk(4, 2));
  CHECK(joined({{1, 2, 4}}, chunk(9, 1)) == Tokens{{1, 3, 4}});
  CHECK(joined(chunk(1, 1), {{5, 2, 4}}) == Tokens{{1, 3, 4}});
  CHECK(joined({{1, 2, 4}}, {{9, 2, 3}}).size() == 2);
  CHECK(joined(chunk(4, 2), chunk(0, 4)).size() == 2);
  CHECK(joined({}, chunk(4, 2)) == chunk(4, 2));
  CHECK(slice(joined(chunk(0, 4), chunk(8, 4)), 3, 5) == Tokens{{3, 1, 1}, {8, 1, 1}});
}

TEST_CASE("pairs are those that are counted one by one") {
  core::Random random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const Problem problem = random_problem(random);
    const Tokens queries = random_tokens(random), keys = random_tokens(random);
    INFO(shown(queries) << "see " << shown(keys) << " documents " << problem.documents.size());
    CHECK(pairs(problem, queries, keys) == counted_pairs(problem, queries, keys));
  }
}

// n = 2^21 tokens, p = 16 ranks of c = 2^17. A chunk with itself has c (c + 1) / 2 pairs. Striped: token a of rank i
// sees token b of rank j where a >= b, or a > b where i < j. Zigzag, h = c / 2: both chunks of a rank see themselves,
// the later one also the earlier.
TEST_CASE("pairs of millions of tokens") {
  constexpr std::int64_t n = std::int64_t{1} << 21, p = 16, c = n / p, h = c / 2;
  const Problem problem{.tokens = n};
  CHECK(pairs(problem, chunk(0, n), chunk(0, n)) == n * (n + 1) / 2);
  CHECK(pairs(problem, chunk(3 * c, c), chunk(0, 4 * c)) == 3 * c * c + c * (c + 1) / 2);
  CHECK(pairs(problem, striped(5, p, n), striped(5, p, n)) == c * (c + 1) / 2);
  CHECK(pairs(problem, striped(5, p, n), striped(9, p, n)) == c * (c - 1) / 2);
  CHECK(pairs(problem, striped(9, p, n), striped(5, p, n)) == c * (c + 1) / 2);
  CHECK(pairs(problem, zigzag(3, p, n), zigzag(3, p, n)) == h * (h + 1) + h * h);
  CHECK(pairs(problem, zigzag(3, p, n), zigzag(2, p, n)) == 2 * h * h);
  CHECK(pairs(problem, zigzag(2, p, n), zigzag(3, p, n)) == 2 * h * h);
  // Every third token from 1 sees every second from 1: token a of m sees floor(3 a / 2) + 1, which is 3 t + 1 for
  // a = 2 t and 3 t + 2 for a = 2 t + 1.
  constexpr std::int64_t m = 699050;
  CHECK(pairs(problem, {{1, m, 3}}, {{1, n / 2, 2}}) == 6 * (m / 2) * (m / 2 - 1) / 2 + m / 2 + m);
}

TEST_CASE("a local offset is the least that gives the mask, and there is none where no other gives it") {
  core::Random random(3);
  int found = 0, none = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Problem problem = random_problem(random);
    Tokens queries = random_tokens(random), keys = random_tokens(random);
    // Short ones, of like strides, have offsets more often.
    if (trial % 2 == 0) {
      queries = slice(queries, 0, std::min<std::int64_t>(count(queries), 4));
      keys = slice(keys, 0, std::min<std::int64_t>(count(keys), 4));
    }
    INFO(shown(queries) << "see " << shown(keys) << " documents " << problem.documents.size());
    const auto expected = least_offset(problem, queries, keys);
    CHECK(local_offset(problem, queries, keys) == expected);
    ++(expected ? found : none);
  }
  CHECK(found > 300);
  CHECK(none > 300);
}

TEST_CASE("local offsets of the layouts, by hand") {
  constexpr std::int64_t n = std::int64_t{1} << 21, p = 8, c = n / p, h = c / 2;
  const Problem problem{.tokens = n};
  CHECK(local_offset(problem, chunk(2 * c, c), chunk(2 * c, c)) == 0);
  CHECK(local_offset(problem, chunk(2 * c, c), chunk(c, c)) == c - 1);      // all is seen
  CHECK(local_offset(problem, chunk(c, c), chunk(2 * c, c)) == -c);         // nothing is
  CHECK(local_offset(problem, chunk(2 * c, c), chunk(0, 3 * c)) == 2 * c);  // aligned with the last key
  CHECK(local_offset(problem, zigzag(3, p, n), zigzag(3, p, n)) == 0);
  CHECK(local_offset(problem, zigzag(3, p, n), slice(zigzag(2, p, n), 0, h)) == h - 1);
  CHECK(local_offset(problem, slice(zigzag(2, p, n), h, c), zigzag(3, p, n)) == c - 1);
  CHECK(local_offset(problem, zigzag(3, p, n), zigzag(2, p, n)) == std::nullopt);
  CHECK(local_offset(problem, striped(5, p, n), striped(5, p, n)) == 0);
  CHECK(local_offset(problem, striped(5, p, n), striped(2, p, n)) == 0);
  CHECK(local_offset(problem, striped(2, p, n), striped(5, p, n)) == -1);
  CHECK(local_offset(problem, {{0, c, 2}}, {{0, c, 1}}) == std::nullopt);
  CHECK(local_offset({.tokens = n, .mask = Mask::full}, striped(2, p, n), striped(5, p, n)) == c - 1);
  CHECK(local_offset({.tokens = n, .documents = {c, n - c}}, chunk(c, c), chunk(0, c)) == -c);
  CHECK(local_offset({.tokens = n, .documents = {c, n - c}}, chunk(2 * c, c), chunk(0, 2 * c)) == std::nullopt);
}
