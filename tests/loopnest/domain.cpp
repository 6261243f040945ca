#include "cairn/loopnest/domain.h"

#include <string>

#include "cairn/core/assert.h"
#include "cairn/core/out_of_range.h"
#include "catch.h"

using namespace cairn::loopnest;

namespace {

Affine difference(DimId plus, DimId minus, std::int64_t offset = 0) {
  return {{Term{plus, 1}, Term{minus, -1}}, offset};
}

// Attention scores (q, k): causal, and with a window only the last `window` keys.
Domain attention(std::int64_t sequence, std::int64_t window = 0) {
  Domain domain;
  const DimId q = domain.add("q", Extent::of(sequence));
  const DimId k = domain.add("k", Extent::of(sequence));
  domain.add_guard(difference(q, k));
  if (window > 0) domain.add_guard(difference(k, q, window - 1));
  return domain;
}

}  // namespace

TEST_CASE("worked example of the header: causal attention with 4 queries and 4 keys") {
  const Domain domain = attention(4);
  const Box whole = domain.box({});
  REQUIRE(domain.find("k") == 1);
  REQUIRE(domain.find("v") == -1);
  REQUIRE(domain.points(whole) == 4 + 3 + 2 + 1);
  REQUIRE(domain.points_unguarded(whole) == 16);
  REQUIRE(domain.footprint({Affine::of(0)}, whole) == 4);

  const Box first_half{{0, 2}, {0, 4}};
  REQUIRE(domain.points(first_half) == 1 + 2);
  REQUIRE(domain.footprint({Affine::of(1)}, first_half) == 2);
  REQUIRE(domain.footprint({Affine::of(0), Affine::of(1)}, whole) == 10);
}

TEST_CASE("extents follow the symbols of the model") {
  Domain domain;
  domain.add("b", Extent::of(Symbol::batch));
  domain.add("s", Extent::of(Symbol::sequence));
  domain.add("h", Extent::of(12));
  REQUIRE(domain.points(domain.box({.batch = 3, .sequence = 5})) == 3 * 5 * 12);
}

TEST_CASE("nine dimensions: a convolution over volumes, and a guard over the last") {
  // b c d h w q r s n; the input is read at (b, c, d + q, h + r, w + s).
  Domain domain;
  for (const int extent : {2, 3, 4, 5, 6, 3, 3, 3, 7})
    domain.add("i" + std::to_string(domain.dims().size()), Extent::of(extent));
  const auto sum = [](DimId position, DimId tap) { return Affine{{Term{position, 1}, Term{tap, 1}}, 0}; };
  const Projection input{Affine::of(0), Affine::of(1), sum(2, 5), sum(3, 6), sum(4, 7)};
  const Box whole = domain.box({});
  REQUIRE(domain.points(whole) == 2 * 3 * (4 * 5 * 6) * 27 * 7);
  REQUIRE(domain.footprint(input, whole) == 2 * 3 * 6 * 7 * 8);
  // n <= c leaves 1 + 2 + 3 of 3 x 7 pairs, all channels, and n up to 2.
  domain.add_guard(difference(1, 8));
  REQUIRE(domain.points(whole) == 2 * (1 + 2 + 3) * (4 * 5 * 6) * 27);
  REQUIRE(domain.footprint(input, whole) == 2 * 3 * 6 * 7 * 8);
  REQUIRE(domain.footprint({Affine::of(8), Affine::of(5)}, whole) == 3 * 3);

  // A selective ninth dimension, chosen by the first.
  Domain table;
  for (int i = 0; i < 8; ++i) table.add("i" + std::to_string(i), Extent::of(2));
  const DimId row = table.add("v", Extent::of(100), 1);
  table.choose(row, {0});
  REQUIRE(table.footprint({Affine::of(row), Affine::of(1)}, table.box({})) == 2 * 2);
}

TEST_CASE("long causal and sliding-window attention") {
  const std::int64_t n = std::int64_t{1} << 20;
  const Domain causal = attention(n);
  // 1 + 2 + ... + n
  REQUIRE(causal.points(causal.box({})) == n * (n + 1) / 2);

  // Queries 0..w-1 see 1..w keys, which is w short of full rows by 0 + 1 + ... + (w - 1).
  const std::int64_t w = 4096;
  const Domain sliding = attention(n, w);
  REQUIRE(sliding.points(sliding.box({})) == w * n - w * (w - 1) / 2);
  // A block of queries deep inside: every row full, and w - 1 keys before the block are read too.
  const Box block{{n / 2, n / 2 + 1000}, {0, n}};
  REQUIRE(sliding.points(block) == 1000 * w);
  REQUIRE(sliding.footprint({Affine::of(1)}, block) == 1000 + w - 1);
  REQUIRE(sliding.footprint({Affine::of(0)}, block) == 1000);
}

TEST_CASE("a guard with stride 2 sums rounded halves") {
  // 2q - k >= 0 for q, k < n: row q holds min(2q + 1, n) keys. n even: 1 + 3 + ... + (n - 1) = (n/2)^2 for q < n/2,
  // then n/2 full.
  const std::int64_t n = 1 << 20;
  Domain domain;
  domain.add("q", Extent::of(n));
  domain.add("k", Extent::of(n));
  domain.add_guard({{Term{0, 2}, Term{1, -1}}, 0});
  REQUIRE(domain.points(domain.box({})) == (n / 2) * (n / 2) + (n / 2) * n);
}

TEST_CASE("strides in both dimensions of a guard") {
  // 3q - 2k >= 0, q < 4, k < 4: k <= 0, 1, 3, 3 (floor 1.5q): 1 + 2 + 4 + 4.
  Domain domain;
  domain.add("q", Extent::of(4));
  domain.add("k", Extent::of(4));
  domain.add_guard({{Term{0, 3}, Term{1, -2}}, 0});
  REQUIRE(domain.points(domain.box({})) == 11);
  // Period 2: a step of 2 in q adds 3 to k's bound. n = 2m rows without the upper limit on k: rows 3j + 1 and 3j + 2
  // for j < m, sum 6 * m(m - 1)/2 + 3m = 3m^2.
  const std::int64_t m = 1 << 20;
  REQUIRE(domain.points({{0, 2 * m}, {0, 3 * m}}) == 3 * m * m);
}

TEST_CASE("halo of a convolution is the footprint of a box") {
  // out[co, y, x] += in[ci, 2y + r, 2x + t] * w[co, ci, r, t]: 8 x 8 outputs, 3 x 3, stride 2: 17 x 17 inputs.
  Domain domain;
  const DimId co = domain.add("co", Extent::of(16));
  const DimId ci = domain.add("ci", Extent::of(3));
  const DimId y = domain.add("y", Extent::of(8));
  const DimId x = domain.add("x", Extent::of(8));
  const DimId r = domain.add("r", Extent::of(3));
  const DimId t = domain.add("t", Extent::of(3));
  const Projection in{Affine::of(ci), {{Term{y, 2}, Term{r, 1}}, 0}, {{Term{x, 2}, Term{t, 1}}, 0}};
  const Projection weight{Affine::of(co), Affine::of(ci), Affine::of(r), Affine::of(t)};

  Box box = domain.box({});
  REQUIRE(domain.points(box) == 16 * 3 * 64 * 9);
  REQUIRE(domain.footprint(in, box) == 3 * 17 * 17);
  REQUIRE(domain.footprint(weight, box) == 16 * 3 * 9);
  // Left half: columns 0..8, right half: columns 8..16; column 8 is the halo.
  box[x] = {0, 4};
  REQUIRE(domain.footprint(in, box) == 3 * 17 * 9);
  box[x] = {4, 8};
  REQUIRE(domain.footprint(in, box) == 3 * 17 * 9);
}

TEST_CASE("padding guards cut a convolution's input along its value") {
  // in[2x + t - 1], 0 <= index < 15, x < 8, t < 3: raw values 0..16, index -1 and 15 are padding, one access each.
  Domain domain;
  const DimId x = domain.add("x", Extent::of(8));
  const DimId t = domain.add("t", Extent::of(3));
  domain.add_guard({{Term{x, 2}, Term{t, 1}}, -1});
  domain.add_guard({{Term{x, -2}, Term{t, -1}}, 15});
  const Box box = domain.box({});
  REQUIRE(domain.points(box) == 24 - 2);
  REQUIRE(domain.footprint({{{Term{x, 2}, Term{t, 1}}, -1}}, box) == 15);
}

TEST_CASE("sums of progressions with gaps") {
  Domain domain;
  domain.add("x", Extent::of(4));
  domain.add("r", Extent::of(3));
  domain.add("z", Extent::of(2));
  const Box box = domain.box({});
  // 5x + 3r: 0 5 10 15 | 3 8 13 18 | 6 11 16 21: all different. 2x + 4r = 2(x + 2r): x + 2r takes 0..7.
  REQUIRE(domain.footprint({{{Term{0, 5}, Term{1, 3}}, 7}}, box) == 12);
  REQUIRE(domain.footprint({{{Term{0, 2}, Term{1, -4}}, 0}}, box) == 8);
  // 5x + 3r + 2z: the twelve above and each plus 2; 3+2=5, 8+2=10, 13+2=15, 6+2=8, 11+2=13, 16+2=18 repeat: 18.
  REQUIRE(domain.footprint({{{Term{0, 5}, Term{1, 3}, Term{2, 2}}, 0}}, box) == 18);
}

TEST_CASE("selective dimensions: embedding and experts") {
  Domain embedding;
  const DimId b = embedding.add("b", Extent::of(Symbol::batch));
  const DimId s = embedding.add("s", Extent::of(Symbol::sequence));
  const DimId h = embedding.add("h", Extent::of(64));
  const DimId v = embedding.add("v", Extent::of(1000), 1);
  embedding.choose(v, {b, s});
  const Projection table{Affine::of(v), Affine::of(h)};
  const Box few = embedding.box({.batch = 2, .sequence = 16});
  REQUIRE(embedding.points(few) == 2 * 16 * 64);
  REQUIRE(embedding.footprint(table, few) == 32 * 64);
  const Box many = embedding.box({.batch = 2, .sequence = 4096});
  REQUIRE(embedding.footprint(table, many) == 1000 * 64);

  Domain experts;
  const DimId t = experts.add("t", Extent::of(100));
  const DimId e = experts.add("e", Extent::of(8), 2);
  const DimId f = experts.add("f", Extent::of(16));
  const DimId d = experts.add("d", Extent::of(32));
  experts.choose(e, {t});
  const Box box = experts.box({});
  REQUIRE(experts.points(box) == 100 * 2 * 16 * 32);
  REQUIRE(experts.footprint({Affine::of(e), Affine::of(f), Affine::of(d)}, box) == 8 * 16 * 32);
  REQUIRE(experts.footprint({Affine::of(t), Affine::of(e), Affine::of(f)}, box) == 100 * 2 * 16);
  // Three tokens reach at most six experts; a shard of one expert holds one.
  REQUIRE(experts.footprint({Affine::of(e)}, Box{{0, 3}, {0, 8}, {0, 16}, {0, 32}}) == 6);
  REQUIRE(experts.points(Box{{0, 100}, {0, 1}, {0, 16}, {0, 32}}) == 100 * 16 * 32);
  REQUIRE(experts.footprint({Affine::of(e)}, Box{{0, 100}, {3, 3}, {0, 16}, {0, 32}}) == 0);
}

TEST_CASE("what cannot be counted is refused, and broken invariants are reported") {
  using cairn::core::InternalError;
  using cairn::core::OutOfRange;
  Domain domain;
  const DimId x = domain.add("x", Extent::of(std::int64_t{1} << 40));
  const DimId y = domain.add("y", Extent::of(std::int64_t{1} << 40));
  const DimId v = domain.add("v", Extent::of(10), 1);
  REQUIRE_THROWS_AS(domain.points(domain.box({})), OutOfRange);  // 2^80
  REQUIRE_THROWS_AS(domain.points_unguarded(domain.box({})), OutOfRange);
  REQUIRE_THROWS_AS(domain.add_guard(difference(x, v)), InternalError);
  REQUIRE_THROWS_AS(domain.footprint({Affine::of(x), difference(x, y)}, domain.box({})), InternalError);
  REQUIRE_THROWS_AS(domain.footprint({difference(x, v)}, domain.box({})), InternalError);
  REQUIRE_THROWS_AS(domain.points({{0, 1}}), InternalError);
  // Half of 2^80 points, summed in closed form.
  domain.add_guard(difference(x, y));
  REQUIRE_THROWS_AS(domain.points(domain.box({})), OutOfRange);
}

TEST_CASE("a form that occurs twice is counted once") {
  const Domain domain = attention(5);
  REQUIRE(domain.footprint({Affine::of(0), Affine::of(0, 1, 3)}, domain.box({})) == 5);
  REQUIRE(domain.footprint({}, domain.box({})) == 1);
  REQUIRE(domain.footprint({}, Box{{2, 2}, {0, 5}}) == 0);
}
